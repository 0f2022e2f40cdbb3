"""Codes: what any encoder gives, as NumPy arrays. Everything that judges a representation takes
these and names no torch."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from vaescope.errors import DataError, RangeError, ShapeError
from vaescope.paths import disk_errors
from vaescope.seeds import rng
from vaescope.types import Array, Floats, Integers

__all__ = ["Codes", "cholesky", "draw"]

_LOG = logging.getLogger("vaescope")
_FORMAT = 1
#: Sums of fourth powers of it are still finite in float64; float32 never gets there.
_LARGEST = 1e70
#: More classes than any table of counts could have.
_CLASSES = 2**31


@dataclass(frozen=True, eq=False)
class Codes:
    """Posterior of each row, one sample of it, and the ground truth where it is known."""

    mean: Floats  # (n, d)
    variance: Floats  # (n, d): always the variance, whatever letter a paper uses
    sample: Floats  # (n, d)
    factors: Integers | None = None  # (n, k) classes
    factor_names: tuple[str, ...] = ()
    factor_sizes: tuple[int, ...] = ()
    factor_values: Floats | None = None  # (n, k) continuous sources
    covariance: Floats | None = None  # (n, d, d): full-covariance posteriors
    prior_mean: Floats | None = None
    prior_variance: Floats | None = None
    u: Floats | None = None
    index: Integers | None = None  # (n,) row in a full grid
    supervised: bool = False  # the encoder saw the factors
    spatial: tuple[int, ...] = ()  # of latents that were maps; rows hold their spatial mean

    @property
    def n(self) -> int:
        return len(self.mean)

    @property
    def d(self) -> int:
        return int(self.mean.shape[1])

    @property
    def stochastic(self) -> bool:
        """Whether all posteriors have a density: of narrower ones float64 cannot hold the peak."""
        return bool(self.variance.min() > 1.0 / _LARGEST)

    def require_factors(self, what: str) -> Integers:
        if self.factors is None:
            raise ShapeError(
                f"{what} needs integer factors of shape (n, k); these codes have none.",
                "Add `factors` to the file, or encode a dataset that has them, e.g. dsprites.",
            )
        return self.factors

    def __post_init__(self) -> None:
        _check(self)

    @staticmethod
    def load(path: str | Path, *, seed: int = 0) -> "Codes":
        """Reads an npz file; what is inferred is logged, a missing sample is drawn with `seed`."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except (OSError, ValueError, BadZipFile) as error:
            raise DataError(
                f"{path} cannot be read as an npz of plain arrays: {error}.",
                "Save it with np.savez(path, mean=..., variance=..., factors=...).",
            ) from error
        return _from_arrays(arrays, str(path), seed)

    def save(self, path: str | Path) -> None:
        """Writes an npz file that `load` reads back as the same codes."""
        arrays: dict[str, Any] = {"format": _FORMAT}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value is not None and not (isinstance(value, tuple) and not value):
                arrays[entry.name] = value
        target = Path(path)
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                np.savez(file, **arrays)


def draw(mean: Floats, variance: Floats, covariance: Floats | None, *, seed: int) -> Floats:
    """A sample of each posterior, the same for the same seed: in the mean's type."""
    noise = rng(seed, "codes-sample").standard_normal(mean.shape)
    if covariance is None:
        return np.asarray(mean + np.sqrt(variance) * noise, dtype=mean.dtype)
    sample = mean + np.einsum("nij,nj->ni", cholesky(covariance), noise)
    return np.asarray(sample, dtype=mean.dtype)


def cholesky(covariance: Floats) -> NDArray[np.float64]:
    """Lower factors L of matrices L L', shape (n, d, d), in float64.

    Nothing is added to the diagonals of nearly singular ones: it would be another posterior.
    """
    matrices = covariance.astype(np.float64)
    try:
        factors = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError as error:
        values = np.linalg.eigvalsh(matrices)
        worst = int(np.argmin(values[:, 0] / np.maximum(np.abs(values[:, -1]), 1e-300)))
        low, high = values[worst, 0], values[worst, -1]
        raise RangeError(
            f"covariance has matrices that are not positive definite; eigenvalues of row {worst} "
            f"are from {low:.3g} to {high:.3g}.",
            "Save symmetric matrices, in float64 where they are nearly singular. If the encoder "
            "itself is that narrow, train with posterior.name=diagonal or a larger beta.",
        ) from error
    return np.asarray(factors, dtype=np.float64)


#: Accepted spellings of each array.
_ALSO = {"mu": "mean", "log_var": "logvar"}


def _from_arrays(arrays: Mapping[str, Array], where: str, seed: int) -> Codes:
    named = {_ALSO.get(name, name): value for name, value in arrays.items()}
    version = _scalar("format", named.pop("format", np.array(_FORMAT)))
    if version > _FORMAT:
        raise DataError(
            f"{where} has format {version}; this vaescope reads up to {_FORMAT}.",
            "Install a newer vaescope.",
        )
    if "mean" not in named:
        raise ShapeError(
            f"{where} has no array `mean` (or `mu`); it has {', '.join(sorted(named)) or 'none'}.",
            "Save the posterior means as `mean`, shape (n, d).",
        )
    mean = _numbers("mean", named.pop("mean"))
    variance = _variance(named, where)
    if variance.shape != mean.shape:
        raise ShapeError(
            f"variance has shape {variance.shape}; wanted {mean.shape}, the shape of mean.",
            "Save one variance per mean.",
        )
    if np.any(variance < 0):
        raise ShapeError(
            f"variance has negative values, least {variance.min():g}.",
            "Save variances as `variance`, or logarithms as `logvar`.",
        )
    sample = named.pop("sample", None)
    factors = named.get("factors")
    names = tuple(str(name) for name in np.ravel(named.pop("factor_names", np.array([]))))
    sizes = _integers("factor_sizes", named.pop("factor_sizes", np.array([], dtype=int)))
    if factors is not None and factors.ndim == 2 and np.issubdtype(factors.dtype, np.integer):
        names = names or tuple(f"factor {k}" for k in range(factors.shape[1]))
        sizes = sizes or tuple(int(size) for size in factors.max(axis=0, initial=-1) + 1)
    known = {entry.name for entry in fields(Codes)}
    unknown = sorted(set(named) - known)
    if unknown:
        _LOG.info("%s: not used: %s", where, ", ".join(unknown))
    rest: dict[str, Any] = {name: value for name, value in named.items() if name in known}
    for name in ("factor_values", "covariance", "prior_mean", "prior_variance", "u"):
        if name in rest:
            rest[name] = _numbers(name, rest[name])
    if "supervised" in rest:
        rest["supervised"] = bool(_scalar("supervised", rest["supervised"]))
    if "spatial" in rest:
        rest["spatial"] = _integers("spatial", rest["spatial"])
    rest |= {"factor_names": names, "factor_sizes": sizes}
    if sample is not None:
        return Codes(mean, variance, _numbers("sample", sample), **rest)
    _LOG.info("%s has no samples: one is drawn per row with seed %d", where, seed)
    checked = Codes(mean, variance, mean, **rest)
    return replace(checked, sample=draw(mean, variance, checked.covariance, seed=seed))


def _variance(named: dict[str, Array], where: str) -> Floats:
    given = [name for name in ("variance", "std", "logvar") if name in named]
    if len(given) != 1:
        raise ShapeError(
            f"{where} has {' and '.join(given) or 'no variance'}; wanted exactly one of "
            "variance, std, logvar.",
            "Save one of them.",
        )
    values = _numbers(given[0], named.pop(given[0]))
    if given[0] == "std":
        if np.any(values < 0):
            raise ShapeError(
                f"std has negative values, least {values.min():g}.",
                "If these are logarithms of variances, save them as `logvar`.",
            )
        return np.square(values)
    return np.exp(values) if given[0] == "logvar" else values


def _integers(name: str, values: Array) -> tuple[int, ...]:
    if values.size and values.dtype.kind not in "iub":
        raise ShapeError(f"{name} has type {values.dtype}; wanted integers.", "Convert it.")
    return tuple(int(value) for value in np.ravel(values))


def _scalar(name: str, value: Array) -> int:
    values = _integers(name, value)
    if len(values) != 1:
        raise ShapeError(f"{name} has {len(values)} values; wanted one.", "Save a single number.")
    return values[0]


def _numbers(name: str, values: Array) -> Floats:
    if not np.issubdtype(values.dtype, np.number) or np.iscomplexobj(values):
        raise ShapeError(f"{name} has type {values.dtype}; wanted real numbers.", "Convert it.")
    if np.issubdtype(values.dtype, np.integer):
        return values.astype(np.float64)
    return values


def _check(codes: Codes) -> None:
    mean = codes.mean
    if mean.ndim != 2 or mean.size == 0:
        raise ShapeError(
            f"mean has shape {mean.shape}; wanted (n, d) with rows and latents.",
            "Give one row per example and one column per latent.",
        )
    n, d = mean.shape
    wanted: dict[str, tuple[int | str, ...]] = {
        "mean": (n, d), "variance": (n, d), "sample": (n, d), "factors": (n, "k"),
        "factor_values": (n, "k"), "covariance": (n, d, d), "prior_mean": (n, d),
        "prior_variance": (n, d), "u": (n, "any"), "index": (n,),
    }  # fmt: skip
    for name, shape in wanted.items():
        array: NDArray[Any] | None = getattr(codes, name)
        if array is None:
            continue
        fits = len(array.shape) == len(shape) and all(
            isinstance(size, str) or size == got
            for size, got in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"{name} has shape {array.shape}; wanted ({', '.join(map(str, shape))}).",
                "All arrays have one row per example.",
            )
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            bad = int(np.count_nonzero(~np.isfinite(array)))
            raise ShapeError(
                f"{name} has {bad} values that are NaN or infinite.",
                "Remove those rows, or look for the cause in the encoder.",
            )
        if array.dtype == np.float64 and np.abs(array).max(initial=0.0) > _LARGEST:
            raise ShapeError(
                f"{name} has values up to {np.abs(array).max():.3g}; wanted below {_LARGEST:g}.",
                "Squares of such numbers are infinite: look for the cause in the encoder.",
            )
    if np.any(codes.variance < 0):
        raise ShapeError(
            f"variance has negative values, least {codes.variance.min():g}.",
            "Give variances, not logarithms of them.",
        )
    if codes.index is not None and not np.issubdtype(codes.index.dtype, np.integer):
        raise ShapeError(
            f"index has type {codes.index.dtype}; wanted integers, rows in a grid.", "Convert it."
        )
    if codes.factors is not None:
        _check_factors(codes, codes.factors)


def _check_factors(codes: Codes, factors: Integers) -> None:
    if not np.issubdtype(factors.dtype, np.integer):
        raise ShapeError(
            f"factors has type {factors.dtype}; wanted integer classes counted from 0.",
            "Save continuous sources as `factor_values`.",
        )
    if factors.min() < 0:
        raise ShapeError(f"factors has the class {factors.min()}.", "Count classes from 0.")
    if factors.max() >= _CLASSES:
        raise ShapeError(
            f"factors has the class {factors.max()}; wanted classes below {_CLASSES}.",
            "Count classes from 0, e.g. by np.unique(column, return_inverse=True).",
        )
    k = factors.shape[1]
    if len(codes.factor_names) not in (0, k) or len(codes.factor_sizes) not in (0, k):
        raise ShapeError(
            f"factor_names has {len(codes.factor_names)} and factor_sizes "
            f"{len(codes.factor_sizes)} entries; wanted {k}, one per column of factors.",
            "Give one per factor, or leave them out.",
        )
    if codes.factor_sizes and np.any(factors.max(axis=0) >= codes.factor_sizes):
        raise ShapeError(
            f"factors has classes up to {factors.max(axis=0).tolist()}; factor_sizes says "
            f"{list(codes.factor_sizes)}.",
            "A factor of size s has the classes 0 to s - 1.",
        )
