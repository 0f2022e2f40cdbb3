"""The arrays of a codes file as the fields of `Codes`: spellings, types and what is inferred."""

import logging
from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np

from vaescope.errors import DataError, RangeError, ShapeError
from vaescope.prior_density import GaussianDensity, PriorDensity, from_json
from vaescope.types import Array, Floats, Integers
from vaescope.wording import listed

__all__ = ["ARRAYS", "FORMAT", "check_finite", "check_rows", "fields_of", "numbers"]

_LOG = logging.getLogger("vaescope")
FORMAT = 1
#: Accepted spellings of each array.
_ALSO = {"mu": "mean", "log_var": "logvar"}
#: How a spread may be given -> its variance.
_SPREADS: Mapping[str, Callable[[Floats], Floats]] = {
    "variance": lambda values: values,
    "std": np.square,
    "logvar": np.exp,
}


#: Root mean square of (sample - mean) / std above which samples are no draws, of so many values:
#: any posterior has 1, and a heavy tail does not make it 3.
FAR = 3.0
FEW = 100
#: Mean variance under N(0, 1) from which on it is said: an untrained encoder has about 1.
WIDE = 1.5
#: Half precision differs from single precision by so much.
_SAME = 1e-2
#: Rows that are compared, and the share of them below which it is said that they repeat.
MOST = 100_000
REPEATED = 0.9
#: Arrays of a file that are read besides the fields of `Codes`.
ARRAYS = {*_ALSO, *_SPREADS, "format", "prior_mean", "prior_variance", "prior_nearest"}


def fields_of(arrays: Mapping[str, Array], known: Set[str], where: str) -> dict[str, Any]:
    """Values by the names of fields, those in `known`; without `sample` where there is none."""
    for other, name in _ALSO.items():
        if other in arrays and name in arrays:
            raise ShapeError(f"{where} has {name} and {other}; wanted one.", "Leave one out.")
    named = {_ALSO.get(name, name): value for name, value in arrays.items()}
    version = _scalar("format", named.pop("format", np.array(FORMAT)))
    if version > FORMAT:
        raise DataError(
            f"{where} has format {version}; this vaescope reads up to {FORMAT}.",
            "Install a newer vaescope.",
        )
    if "mean" not in named:
        raise ShapeError(
            f"{where} has no array `mean` (or `mu`); it has {', '.join(sorted(named)) or 'none'}.",
            "Save the posterior means as `mean`, shape (n, d).",
        )
    mean = numbers("mean", named.pop("mean"))
    spread = next((name for name in _SPREADS if name in named), "covariance")
    variance = _variance(named, where)
    if variance.shape != mean.shape:
        raise ShapeError(
            f"variance has shape {variance.shape}; wanted {mean.shape}, the shape of mean.",
            "Save one variance per mean.",
        )
    for name in ("factors", "index"):  # of unsigned ones, differences would be wrong
        if name in named and named[name].dtype.kind in "iub":
            named[name] = _signed(name, named[name])
    factors = named.get("factors")
    names = tuple(str(name) for name in np.ravel(named.pop("factor_names", np.array([]))))
    sizes = _integers("factor_sizes", named.pop("factor_sizes", np.array([], dtype=int)))
    if factors is not None and factors.ndim == 2 and np.issubdtype(factors.dtype, np.integer):
        names = names or tuple(f"factor {k}" for k in range(factors.shape[1]))
        _say_of_factors(names, factors, where)
        sizes = sizes or tuple(int(size) + 1 for size in factors.max(axis=0, initial=-1))
    beside = {
        name.removeprefix("prior_"): numbers(name, named.pop(name))
        for name in ("prior_mean", "prior_variance")
        if name in named
    }
    if named.pop("prior_nearest", np.array(False)).any():
        _LOG.info("%s: the prior is not known; the Gaussian nearest to it is used", where)
    unknown = sorted(set(named) - known)
    if unknown:
        _LOG.info("%s: not used: %s", where, ", ".join(unknown))
    rest: dict[str, Any] = {name: value for name, value in named.items() if name in known}
    rest["prior"] = _prior(beside, rest.get("prior"), mean, where)
    if rest["prior"] is None and "unused" not in rest:
        _say_of_spread(spread, variance, where)
    for name in ("sample", "factor_values", "covariance", "unused", "u"):
        if name in rest:
            rest[name] = numbers(name, rest[name])
    if "supervised" in rest:
        rest["supervised"] = bool(_scalar("supervised", rest["supervised"]))
    if "unused_why" in rest:
        rest["unused_why"] = str(rest["unused_why"])
    if "spatial" in rest:
        rest["spatial"] = _integers("spatial", rest["spatial"])
    return rest | {
        "mean": mean, "variance": variance, "factor_names": names, "factor_sizes": sizes
    }  # fmt: skip


def _say_of_spread(name: str, variance: Floats, where: str) -> None:
    """What no VAE under N(0, I) has: posteriors that are wider than the prior. The spread may have
    the wrong name, or the prior may be another."""
    if variance.ndim != 2 or variance.size < FEW:
        return
    n, d = variance.shape
    if n < d:
        _LOG.warning("%s: %d rows of %d latents; rows are examples: transpose the arrays if they "
                     "are not", where, n, d)  # fmt: skip
    means = variance.mean(axis=0, dtype=np.float64)
    wide = np.flatnonzero(means > WIDE)
    all_wide = name == "logvar" and bool(variance.min() > 1.0)
    if all_wide or wide.size:
        which = "all latents" if all_wide else f"latents {listed(wide)}"
        if len(wide) == 1 and not all_wide:
            which = f"latent {wide[0]}"
        _LOG.warning(
            "%s: the posteriors of %s are wider than N(0, 1), with a mean variance of up to %.3g, "
            "which costs rate and gains nothing: check that %s holds what its name says, and that "
            "the prior is N(0, I)", where, which, means.max(), name,
        )  # fmt: skip


def _say_of_factors(names: tuple[str, ...], factors: Integers, where: str) -> None:
    """What metrics leave out, and names that stand for several factors."""
    if len(factors) > 1 and len(names) == factors.shape[1]:
        still = [
            name for name, size in zip(names, np.ptp(factors, axis=0), strict=True) if not size
        ]
        if still:
            _LOG.info("%s: these factors do not vary and are left out: %s", where, listed(still))
    if len(set(names)) < len(names):
        _LOG.warning("%s: factor_names are not all different: %s", where, ", ".join(names))


def _prior(
    beside: Mapping[str, Floats], text: Array | None, mean: Floats, where: str
) -> PriorDensity | None:
    """The prior in a file: as `prior` says, else the Gaussian of the arrays, else None."""
    if text is not None:
        if text.dtype.kind != "U" or text.ndim:
            raise DataError(
                f"`prior` in {where} has type {text.dtype} and shape {text.shape}; wanted a text.",
                "Save PriorDensity.to_json() as `prior`, or leave it out.",
            )
        return from_json(str(text), beside)
    if not beside:
        _LOG.info("%s names no prior: N(0, I) is assumed", where)
        return None
    full = {"mean": np.zeros_like(mean), "variance": np.ones_like(mean)} | dict(beside)
    for name, array in full.items():
        if array.shape != mean.shape:
            raise ShapeError(
                f"prior_{name} has shape {array.shape}; wanted {mean.shape}, the shape of mean.",
                "Save one value per mean, or the prior as JSON text.",
            )
    return GaussianDensity(full["mean"], full["variance"])


def _variance(named: dict[str, Array], where: str) -> Floats:
    given = [name for name in _SPREADS if name in named]
    if not given and "covariance" in named and named["covariance"].ndim == 3:
        _LOG.info("%s has no variances: they are the diagonals of covariance", where)
        return np.diagonal(numbers("covariance", named["covariance"]), axis1=1, axis2=2)
    if len(given) != 1:
        raise ShapeError(
            f"{where} has {' and '.join(given) or 'no variance'}; wanted exactly one of "
            f"variance, std, logvar. Besides mean it has {', '.join(sorted(named)) or 'no array'}.",
            "Save one of them. If there is no noise, save zeros.",
        )
    name = given[0]
    values = numbers(name, named.pop(name))
    check_finite(name, values)
    if name != "logvar" and np.any(values < 0):
        raise ShapeError(
            f"{name} has negative values; the smallest is {values.min():g}.",
            "If these are logarithms of variances, save them as `logvar`.",
        )
    with np.errstate(over="ignore"):
        variance = _SPREADS[name](values)
        tiny = np.finfo(variance.dtype).tiny
        if not np.all(((variance >= tiny) | (values == 0)) & np.isfinite(variance)):
            variance = _SPREADS[name](values.astype(np.float64))  # float32 has lost it
    if not np.isfinite(variance).all():
        raise ShapeError(
            f"{name} has values up to {values.max():g}, whose variance is infinite.",
            "Look for the cause in the encoder, or save these numbers under the right name: "
            "variance, std or logvar.",
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


def numbers(name: str, values: Array) -> Floats:
    """In float32 or float64: half precision has no squares below 1e-7."""
    if values.dtype.kind not in "fiu":
        raise ShapeError(f"{name} has type {values.dtype}; wanted real numbers.", "Convert it.")
    if values.dtype in (np.float32, np.float64):
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float32 if values.dtype == np.float16 else np.float64)


def check_rows(mean: Floats, variance: Floats, sample: Floats | None, where: str) -> None:
    """Raises RangeError where samples are too far from their means to be draws; says where rows
    repeat, or where samples are the means."""
    if sample is not None and sample.shape == mean.shape:
        off = np.square(sample.astype(np.float64) - mean)[variance > 0] / variance[variance > 0]
        root = float(np.sqrt(off.mean())) if off.size else 0.0
        if root > FAR and off.size >= FEW:
            raise RangeError(
                f"sample is {root:.3g} posterior standard deviations from mean (root mean "
                "square); draws from the posterior would be 1 from it.",
                "Leave out sample, and one is drawn; or check that mean, variance and sample "
                "belong to the same rows.",
            )
        if off.size and not off.any():
            _LOG.warning("%s: sample equals mean; leave out sample, and one is drawn", where)
        elif root < 1.0 / FAR and off.size >= FEW:
            _LOG.warning(
                "%s: sample is %.2g posterior standard deviations from mean (root mean square); "
                "draws from the posterior would be 1 from it. Measures of samples are then "
                "wrong: leave it out, and one "
                "is drawn", where, root,
            )  # fmt: skip
        points = variance == 0
        if not np.allclose(sample[points], mean[points], rtol=_SAME, atol=_SAME):
            raise RangeError(
                "sample differs from mean where variance is 0, but a posterior with zero "
                "variance has no other draw.",
                "Save the variance that sample was drawn with, or leave sample out.",
            )
    rows = mean[:MOST]
    different = len(np.unique(rows, axis=0))
    if 1 < different < REPEATED * len(rows):
        _LOG.warning(
            "%s: only %d of %d rows have different means; intervals and tests assume that rows are "
            "independent, and are too narrow if examples repeat", where, different, len(rows),
        )  # fmt: skip


def check_finite(name: str, array: Array) -> None:
    if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
        bad = int(np.count_nonzero(~np.isfinite(array)))
        raise ShapeError(
            f"{name} has {bad} values that are NaN or infinite.",
            "Remove those rows, or look for the cause in the encoder.",
        )
