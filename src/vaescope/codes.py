"""Codes: what any encoder gives, as NumPy arrays. Everything that judges a representation takes
these and names no torch."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
from numpy.typing import NDArray

from vaescope.errors import DataError, RangeError, ShapeError
from vaescope.paths import disk_errors, reading, replacing
from vaescope.seeds import rng
from vaescope.types import Array, Floats, Integers

__all__ = ["Codes", "central", "cholesky", "draw", "sample_noise"]

_LOG = logging.getLogger("vaescope")
_FORMAT = 1
#: Sums of fourth powers of it are still finite in float64; float32 never gets there.
_LARGEST = 1e70
#: By so much two arrays of the same quantity may differ, which are often of float32.
_ROUNDING = 1e-2
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
    prior_nearest: bool = False  # these two are of the Gaussian nearest to a prior that is none
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
        with reading(Path(path), _SAVE), Path(path).open("rb") as file:
            if not is_zipfile(file):  # numpy would look for pickles in it
                raise ValueError("it is no npz file, or the end of it is missing")
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: np.asarray(archive[name]) for name in archive.files}
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
        with replacing(target) as file:
            np.savez(file, **arrays)


def draw(mean: Floats, variance: Floats, covariance: Floats | None, *, seed: int) -> Floats:
    """A sample of each posterior, the same for the same seed: in the mean's type."""
    noise = sample_noise(mean.shape, seed=seed)
    if covariance is None:
        return np.asarray(mean + np.sqrt(variance) * noise, dtype=mean.dtype)
    sample = mean + np.einsum("nij,nj->ni", cholesky(covariance), noise)
    return np.asarray(sample, dtype=mean.dtype)


def sample_noise(shape: tuple[int, ...], *, seed: int) -> NDArray[np.float64]:
    """The standard normal noise of which the samples of codes are made."""
    return rng(seed, "codes-sample").standard_normal(shape)


def central(mean: Floats) -> int:
    """The row whose code is nearest to the average code: a typical example."""
    return int(np.argmin(((mean - mean.mean(axis=0)) ** 2).sum(axis=1)))


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


_SAVE = "Save plain arrays with np.savez(path, mean=..., variance=..., factors=...)."
#: Accepted spellings of each array.
_ALSO = {"mu": "mean", "log_var": "logvar"}
#: How a spread may be given -> its variance.
_SPREADS: Mapping[str, Callable[[Floats], Floats]] = {
    "variance": lambda values: values,
    "std": np.square,
    "logvar": np.exp,
}


def _from_arrays(arrays: Mapping[str, Array], where: str, seed: int) -> Codes:
    for other, name in _ALSO.items():
        if other in arrays and name in arrays:
            raise ShapeError(f"{where} has {name} and {other}; wanted one.", "Leave one out.")
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
    sample = named.pop("sample", None)
    for name in ("factors", "index"):  # of unsigned ones, differences would be wrong
        if name in named and named[name].dtype.kind in "iub":
            named[name] = _signed(name, named[name])
    factors = named.get("factors")
    names = tuple(str(name) for name in np.ravel(named.pop("factor_names", np.array([]))))
    sizes = _integers("factor_sizes", named.pop("factor_sizes", np.array([], dtype=int)))
    if factors is not None and factors.ndim == 2 and np.issubdtype(factors.dtype, np.integer):
        names = names or tuple(f"factor {k}" for k in range(factors.shape[1]))
        sizes = sizes or tuple(int(size) + 1 for size in factors.max(axis=0, initial=-1))
    known = {entry.name for entry in fields(Codes)}
    unknown = sorted(set(named) - known)
    if unknown:
        _LOG.info("%s: not used: %s", where, ", ".join(unknown))
    rest: dict[str, Any] = {name: value for name, value in named.items() if name in known}
    for name in ("factor_values", "covariance", "prior_mean", "prior_variance", "u"):
        if name in rest:
            rest[name] = _numbers(name, rest[name])
    for name in ("supervised", "prior_nearest"):
        if name in rest:
            rest[name] = bool(_scalar(name, rest[name]))
    if "spatial" in rest:
        rest["spatial"] = _integers("spatial", rest["spatial"])
    rest |= {"factor_names": names, "factor_sizes": sizes}
    if sample is not None:
        return Codes(mean, variance, _numbers("sample", sample), **rest)
    _LOG.info("%s has no samples: one is drawn per row with seed %d", where, seed)
    checked = Codes(mean, variance, mean, **rest)
    return replace(checked, sample=draw(mean, variance, checked.covariance, seed=seed))


def _variance(named: dict[str, Array], where: str) -> Floats:
    given = [name for name in _SPREADS if name in named]
    if not given and "covariance" in named and named["covariance"].ndim == 3:
        _LOG.info("%s has no variances: they are the diagonals of covariance", where)
        return np.diagonal(_numbers("covariance", named["covariance"]), axis1=1, axis2=2)
    if len(given) != 1:
        raise ShapeError(
            f"{where} has {' and '.join(given) or 'no variance'}; wanted exactly one of "
            f"variance, std, logvar. It has besides: {', '.join(sorted(set(named) - set(given)))}.",
            "Save one of them. Where there is no noise, save zeros.",
        )
    name = given[0]
    values = _numbers(name, named.pop(name))
    _check_finite(name, values)
    if name != "logvar" and np.any(values < 0):
        raise ShapeError(
            f"{name} has negative values, least {values.min():g}.",
            "If these are logarithms of variances, save them as `logvar`.",
        )
    with np.errstate(over="ignore"):
        variance = _SPREADS[name](values)
        tiny = np.finfo(variance.dtype).tiny
        if not np.all(((variance >= tiny) | (values == 0)) & np.isfinite(variance)):
            variance = _SPREADS[name](values.astype(np.float64))  # float32 has lost it
    if not np.isfinite(variance).all():
        raise ShapeError(
            f"{name} has values up to {values.max():g}, of which the variance is infinite.",
            "Look for the cause in the encoder, or save what they are under its name: variance, "
            "std or logvar.",
        )
    return variance


def _signed(name: str, values: Array) -> Integers:
    if values.size and int(values.max()) > np.iinfo(np.int64).max:
        raise ShapeError(f"{name} has the value {values.max()}.", "Count from 0.")
    return values.astype(np.int64)


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
    """In float32 or float64: half precision has no squares below 1e-7."""
    if values.dtype.kind not in "fiu":
        raise ShapeError(f"{name} has type {values.dtype}; wanted real numbers.", "Convert it.")
    if values.dtype in (np.float32, np.float64):
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float32 if values.dtype == np.float16 else np.float64)


def _check_finite(name: str, array: Array) -> None:
    if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
        bad = int(np.count_nonzero(~np.isfinite(array)))
        raise ShapeError(
            f"{name} has {bad} values that are NaN or infinite.",
            "Remove those rows, or look for the cause in the encoder.",
        )


def _check(codes: Codes) -> None:
    _check_array("mean", codes.mean, ("n", "d"))
    n, d = codes.mean.shape
    wanted: dict[str, tuple[int | str, ...]] = {
        "variance": (n, d), "sample": (n, d), "factors": (n, "k"), "factor_values": (n, "k"),
        "covariance": (n, d, d), "prior_mean": (n, d), "prior_variance": (n, d), "u": (n, "any"),
        "index": (n,),
    }  # fmt: skip
    for name, shape in wanted.items():
        array = getattr(codes, name)
        if array is not None or name in ("variance", "sample"):
            _check_array(name, array, shape)
    if np.any(codes.variance < 0):
        raise ShapeError(
            f"variance has negative values, least {codes.variance.min():g}.",
            "Give variances, not logarithms of them.",
        )
    if codes.index is not None and codes.index.dtype.kind not in "iu":
        raise ShapeError(
            f"index has type {codes.index.dtype}; wanted integers, rows in a grid.", "Convert it."
        )
    if codes.covariance is not None:
        _check_covariance(codes.covariance, codes.variance)
    if codes.factors is not None:
        _check_factors(codes, codes.factors)


def _check_array(name: str, array: object, shape: tuple[int | str, ...]) -> None:
    """Numbers, finite, of that shape; a letter stands for any size but 0."""
    if not isinstance(array, np.ndarray):
        raise ShapeError(
            f"{name} is {type(array).__name__}; wanted an array of NumPy.",
            "Convert it with np.asarray.",
        )
    fits = len(array.shape) == len(shape) and all(
        got > 0 if isinstance(size, str) else got == size
        for size, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"{name} has shape {array.shape}; wanted ({', '.join(map(str, shape))}).",
            "All arrays have one row per example; leave out what is empty.",
        )
    if name != "factors":  # of which more can be said
        _numbers(name, array)
    _check_finite(name, array)
    if array.dtype == np.float64 and np.abs(array).max() > _LARGEST:
        raise ShapeError(
            f"{name} has values up to {np.abs(array).max():.3g}; wanted below {_LARGEST:g}.",
            "Squares of such numbers are infinite: look for the cause in the encoder.",
        )


def _check_covariance(covariance: Floats, variance: Floats) -> None:
    """Symmetric, with the variances on the diagonal: both are read, each by some measures."""
    diagonal = np.diagonal(covariance, axis1=1, axis2=2)
    scale = np.sqrt(np.abs(diagonal[:, :, None] * diagonal[:, None, :]))
    if np.any(np.abs(covariance - covariance.swapaxes(1, 2)) > _ROUNDING * scale):
        raise ShapeError(
            "covariance has matrices that are not symmetric.",
            "Save covariances L L', not their factors L.",
        )
    if np.any(np.abs(diagonal - variance) > _ROUNDING * diagonal):
        raise ShapeError(
            "variance is not the diagonal of covariance.",
            "Save covariance alone: variances are read from it.",
        )


def _check_factors(codes: Codes, factors: Integers) -> None:
    if factors.dtype.kind not in "iu":
        raise ShapeError(
            f"factors has type {factors.dtype}; wanted integer classes counted from 0.",
            "Save continuous sources as `factor_values`; number names by np.unique(column, "
            "return_inverse=True).",
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
