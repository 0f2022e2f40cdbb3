"""Codes: what any encoder gives, as NumPy arrays. Everything that judges a representation takes
these and names no torch."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.codes_file import ARRAYS, FORMAT, check_finite, check_rows, fields_of, numbers
from vaescope.errors import RangeError, ShapeError
from vaescope.paths import disk_errors, reading, replacing
from vaescope.prior_density import GaussianDensity, PriorDensity, standard_normal
from vaescope.reading import npz_names, read_arrays
from vaescope.seeds import rng
from vaescope.types import Double, Floats, Integers

__all__ = ["Codes", "central", "cholesky", "draw", "matrix_chunks", "own_widths", "sample_noise"]

_LOG = logging.getLogger("vaescope")
_SAVE = "Save plain arrays with np.savez(path, mean=..., variance=..., factors=...)."
#: Sums of fourth powers of it are still finite in float64; float32 never gets there.
_LARGEST = 1e70
#: By so much two arrays of the same quantity may differ, which are often of float32.
_ROUNDING = 1e-2
#: More classes than any table of counts could have.
_CLASSES = 2**31


@dataclass(frozen=True, eq=False)
class Codes:
    """The posterior of each row, one sample from it, and the ground truth if known.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> mean = np.zeros((4, 2))
        >>> vs.Codes(mean, variance=np.ones((4, 2)), sample=mean)
        Codes(4 examples of 2 latents, prior N(0, I), no factors)
    """

    mean: Floats  # (n, d)
    variance: Floats  # (n, d): always the variance, whatever letter a paper uses
    sample: Floats  # (n, d)
    factors: Integers | None = None  # (n, k) classes
    factor_names: tuple[str, ...] = ()
    factor_sizes: tuple[int, ...] = ()
    factor_values: Floats | None = None  # (n, k) continuous sources
    covariance: Floats | None = None  # (n, d, d): full-covariance posteriors
    prior: PriorDensity = None  # type: ignore[assignment]  # None: N(0, I), assumed
    prior_assumed: bool = False  # whether the prior is an assumption, not stated by the model
    unused: Floats | None = None  # (d,) or (n, d) variance of a latent that ignores x; NaN: none
    unused_why: str = ""  # why `unused` is not known
    u: Floats | None = None
    index: Integers | None = None  # (n,) number of each row in a full grid of factors
    supervised: bool = False  # whether the encoder saw the factors
    spatial: tuple[int, ...] = ()  # size of latents that are maps; rows have their spatial mean

    @property
    def n(self) -> int:
        return len(self.mean)

    @property
    def d(self) -> int:
        return int(self.mean.shape[1])

    def __repr__(self) -> str:
        known = "no factors" if self.factors is None else f"{self.factors.shape[1]} factors"
        return f"Codes({self.n:,} examples of {self.d} latents, prior {self.prior.says}, {known})"

    @property
    def stochastic(self) -> bool:
        """Whether all posteriors have a density: of narrower ones float64 cannot hold the peak."""
        return bool(self.variance.min() > 1.0 / _LARGEST)

    @property
    def unused_variance(self) -> Floats:
        """Posterior variance of a latent that ignores x, (d,) or (n, d), NaN where there is none:
        what the objective says, else what the prior gives under the ELBO."""
        return self.prior.unused_variance() if self.unused is None else self.unused

    @property
    def prior_mean(self) -> Floats | None:
        """(n, d) of a Gaussian prior; None of N(0, I) and of other families."""
        gaussian = self._gaussian
        return None if gaussian is None else np.broadcast_to(gaussian.mean, self.mean.shape)

    @property
    def prior_variance(self) -> Floats | None:
        """(n, d) of a Gaussian prior; None of N(0, I) and of other families."""
        gaussian = self._gaussian
        return None if gaussian is None else np.broadcast_to(gaussian.variance, self.mean.shape)

    @property
    def _gaussian(self) -> GaussianDensity | None:
        prior = self.prior
        return prior if isinstance(prior, GaussianDensity) and not prior.standard else None

    def require_factors(self, what: str) -> Integers:
        if self.factors is None:
            raise ShapeError(
                f"{what} needs integer factors of shape (n, k); these codes have none.",
                "Add `factors` to the file, or encode a dataset that has them, e.g. dsprites.",
            )
        return self.factors

    def __post_init__(self) -> None:
        _check_array("mean", self.mean, ("n", "d"))
        if self.prior is None:
            object.__setattr__(self, "prior", standard_normal(self.d))
            object.__setattr__(self, "prior_assumed", True)
        _check(self)

    @staticmethod
    def load(path: str | Path, *, seed: int = 0) -> "Codes":
        """Reads an npz file; what is inferred is logged, a missing sample is drawn with `seed`."""
        known = {entry.name for entry in fields(Codes)} - {"prior_assumed"}
        with reading(Path(path), _SAVE):
            arrays = {name: np.empty(0) for name in npz_names(Path(path))}  # said, not unpacked
            arrays |= read_arrays(Path(path), known | ARRAYS)
        content = fields_of(arrays, known, str(path))
        if "sample" in content:
            codes = Codes(**content)
            check_rows(
                codes.mean, codes.variance, None if codes.spatial else codes.sample, str(path)
            )
            return codes
        _LOG.info("%s has no samples: one is drawn per row with seed %d", path, seed)
        checked = Codes(**content, sample=content["mean"])
        check_rows(checked.mean, checked.variance, None, str(path))
        sample = draw(checked.mean, checked.variance, checked.covariance, seed=seed)
        return replace(checked, sample=sample)

    def save(self, path: str | Path) -> None:
        """Writes an npz file that `load` reads back as the same codes."""
        arrays: dict[str, Any] = {"format": FORMAT}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name not in ("prior", "prior_assumed") and not _absent(value):
                arrays[entry.name] = value
        if not self.prior_assumed:
            arrays["prior"] = self.prior.to_json()
            arrays |= {f"prior_{name}": own for name, own in self.prior.arrays().items()}
        target = Path(path)
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file:
            np.savez(file, **arrays)


def _absent(value: object) -> bool:
    return value is None or (isinstance(value, tuple | str) and not value)


def draw(mean: Floats, variance: Floats, covariance: Floats | None, *, seed: int) -> Floats:
    """A sample of each posterior, the same for the same seed: in the mean's type."""
    noise = sample_noise(mean.shape, seed=seed)
    if covariance is None:
        return np.asarray(mean + np.sqrt(variance) * noise, dtype=mean.dtype)
    sample = np.empty_like(mean)
    for rows in matrix_chunks(*mean.shape):
        factors = cholesky(covariance[rows], first=rows.start)
        sample[rows] = mean[rows] + np.einsum("nij,nj->ni", factors, noise[rows])
    return sample


def matrix_chunks(n: int, d: int) -> Iterator[slice]:
    """Slices of rows whose (d, d) matrices take at most 32 MB in float64: 10,000 of 100 latents
    would take 800 MB for each copy."""
    step = max(1, 2**22 // d**2)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def own_widths(codes: Codes) -> bool:
    """Whether each latent of an example has a variance of its own, as laws of single latents need:
    not with a full covariance, nor where all latents of each example share one."""
    shared = codes.d > 1 and bool(np.all(np.ptp(codes.variance, axis=1) == 0))
    return codes.covariance is None and not shared


def sample_noise(shape: tuple[int, ...], *, seed: int) -> Double:
    """The standard normal noise of which the samples of codes are made."""
    return rng(seed, "codes-sample").standard_normal(shape)


def central(mean: Floats) -> int:
    """The row whose code is nearest to the average code: a typical example."""
    return int(np.argmin(((mean - mean.mean(axis=0)) ** 2).sum(axis=1)))


def cholesky(covariance: Floats, *, first: int = 0) -> Double:
    """Lower factors L of matrices L L', shape (n, d, d), in float64; `first` is the row of the
    first.

    Nothing is added to the diagonals of nearly singular ones: it would be another posterior.
    """
    matrices = covariance.astype(np.float64)
    try:
        factors = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError as error:
        values = np.linalg.eigvalsh(matrices)
        worst = int(np.argmin(values[:, 0] / np.maximum(np.abs(values[:, -1]), 1e-300)))
        low, high, worst = values[worst, 0], values[worst, -1], worst + first
        raise RangeError(
            f"covariance has matrices that are not positive definite; eigenvalues of row {worst} "
            f"range from {low:.3g} to {high:.3g}.",
            "Save symmetric matrices, in float64 where they are nearly singular. If the encoder "
            "itself is that narrow, train with posterior.name=diagonal or a larger beta.",
        ) from error
    return np.asarray(factors, dtype=np.float64)


def _check(codes: Codes) -> None:
    n, d = codes.mean.shape
    wanted: dict[str, tuple[int | str, ...]] = {
        "variance": (n, d), "sample": (n, d), "factors": (n, "k"), "factor_values": (n, "k"),
        "covariance": (n, d, d), "u": (n, "any"), "index": (n,),
    }  # fmt: skip
    for name, shape in wanted.items():
        array = getattr(codes, name)
        if array is not None or name in ("variance", "sample"):
            _check_array(name, array, shape)
    if np.any(codes.variance < 0):
        raise ShapeError(
            f"variance has negative values; the smallest is {codes.variance.min():g}.",
            "Give variances, not logarithms of them.",
        )
    _say_rounding(codes.mean)
    _check_prior(codes)
    if codes.index is not None and codes.index.dtype.kind not in "iu":
        raise ShapeError(
            f"index has type {codes.index.dtype}; wanted integers, rows in a grid.", "Convert it."
        )
    if codes.covariance is not None:
        _check_covariance(codes.covariance, codes.variance)
    if codes.factors is not None:
        _check_factors(codes, codes.factors)


def _say_rounding(mean: Floats) -> None:
    """Measures take what varies by rounding alone as constant, which must not go unsaid."""
    wide = mean.astype(np.float64)
    spread, size = wide.std(axis=0), np.sqrt(np.square(wide).mean(axis=0))
    lost = np.flatnonzero((spread > 0) & (spread <= 16 * np.finfo(mean.dtype).eps * size))
    if lost.size:
        first = int(lost[0])
        _LOG.warning(
            "Latent %s varies by %.2g around %.2g, which is within the rounding of %s: it counts "
            "as constant. Subtract the mean before converting, or save float64.",
            ", ".join(map(str, lost[:8])), spread[first], size[first], mean.dtype,
        )  # fmt: skip


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
            "All arrays have one row per example; leave out empty arrays.",
        )
    if name != "factors":  # of which more can be said
        numbers(name, array)
    check_finite(name, array)
    if array.dtype == np.float64 and np.abs(array).max() > _LARGEST:
        raise ShapeError(
            f"{name} has values up to {np.abs(array).max():.3g}; wanted below {_LARGEST:g}.",
            "The squares of such numbers overflow: look for the cause in the encoder.",
        )


def _check_prior(codes: Codes) -> None:
    prior, unused = codes.prior, codes.unused
    if prior.d != codes.d or (prior.per_row and len(prior.mean) != codes.n):
        raise ShapeError(
            f"prior has parameters for {prior.mean.shape} (examples,) latents; wanted "
            f"({codes.n}, {codes.d}) or ({codes.d},).",
            "Give the prior of these latents and, where it depends on the example, of these rows.",
        )
    if unused is not None and (
        unused.shape not in ((codes.d,), codes.mean.shape)
        or np.any((unused <= 0) | np.isinf(unused))
    ):
        low, high = np.fmin.reduce(unused, axis=None), np.fmax.reduce(unused, axis=None)
        raise ShapeError(
            f"unused has shape {unused.shape} and values from {low:g} to {high:g}; wanted "
            f"positive variances of shape ({codes.d},) or ({codes.n}, {codes.d}).",
            "Give the variance of a latent that ignores x, or NaN if there is none.",
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
            "Save covariance alone: variances are taken from it.",
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
