"""Interventional robustness score. Suter et al. 2019, https://arxiv.org/abs/1811.00007."""

import numpy as np

from vaescope.codes import Codes
from vaescope.estimates import bootstrap_interval
from vaescope.information.binning import equal_width
from vaescope.metrics.rows import Representation, labelled
from vaescope.metrics.score import Protocol, Score
from vaescope.seeds import rng
from vaescope.types import Double, Floats, Integers

__all__ = ["irs"]

#: Rows in all resamples together; each costs as much as the score, so large sets have no interval.
_AFFORDABLE = 2_000_000


def irs(
    codes: Codes,
    *,
    quantile: float = 0.99,
    factor_bins: int | None = None,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = 40,
    seed: int = 0,
) -> Score:
    """How little each latent moves while its best factor is held fixed and the others change.

    Per latent j and factor k: 1 - (mean over the values of v_k of the 99th percentile of
    |z_j - E[z_j | v_k]|) / max |z_j - E z_j|; the best factor of each latent, averaged with the
    largest deviations as weights. disentanglement_lib also bins the factors in 20, which joins
    neighbouring values (`factor_bins=20`); the paper takes the maximum (`quantile=1`). It depends
    on extremes: one outlier raises it, and many small deviations do not lower it.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        quantile: quantile of the largest changes.
        factor_bins: bins of factors with many values.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.irs(codes).value, 2)
        0.95
    """
    seen = labelled(codes, "irs", on=on, limit=limit, seed=seed)
    factors = seen.factors
    if factor_bins is not None:
        factors = equal_width(factors.astype(np.float64), factor_bins)
    varies = np.ptp(seen.z, axis=0) > 0
    settings = {
        "estimator": f"quantile {quantile:g}", "factor_bins": factor_bins, "seed": seed,
        "factors": list(seen.names),
    }  # fmt: skip
    protocol = Protocol("default", seen.n, settings, on, codes.supervised)
    robustness = np.zeros((codes.d, factors.shape[1]))
    if not varies.any():
        return Score(0.0, protocol, {"robustness": robustness})
    matrix, weights = _robustness(seen.z[:, varies], factors, quantile)
    robustness[varies] = matrix
    value = _average(matrix, weights)
    spread = None
    if 0 < resamples * seen.n <= _AFFORDABLE:
        stream = rng(seed, "irs-bootstrap")
        draws = []
        for _ in range(resamples):
            rows = stream.integers(seen.n, size=seen.n)
            z = seen.z[rows][:, varies]
            draws.append(_average(*_robustness(z, factors[rows], quantile)))
        spread = bootstrap_interval(value, np.array(draws), most=1.0)  # chance is below 0
    return Score(value, protocol, {"robustness": robustness}, spread)


def _average(matrix: Floats, weights: Floats) -> float:
    total = float(weights.sum())
    best = matrix.max(axis=1)
    return float((best * weights).sum() / total) if total > 0 else 0.0


def _robustness(z: Double, factors: Integers, quantile: float) -> tuple[Double, Double]:
    """(latent, factor) scores, and the largest deviation of each latent."""
    largest = np.abs(z - z.mean(axis=0)).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    columns = []
    for values in factors.T:
        narrow = values.min() >= 0 and values.max() < 2**16  # those are sorted in linear time
        order = np.argsort(values.astype(np.uint16) if narrow else values, kind="stable")
        starts = np.flatnonzero(np.diff(values[order], prepend=-1))
        sizes = np.diff(starts, append=len(values))
        within = z[order]
        within -= np.repeat(np.add.reduceat(within, starts, axis=0) / sizes[:, None], sizes, axis=0)
        by_latent = np.abs(within.T, order="C")  # what is partitioned lies together
        held = [
            _quantile(by_latent[:, start : start + size], quantile)
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        ]
        columns.append(1.0 - np.mean(held, axis=0) / scale)
    return np.stack(columns, axis=1), largest


def _quantile(values: Double, quantile: float) -> Double:
    """np.quantile along the last axis, to the last bit: its own checks take longer than this. The
    order of the values is lost."""
    size = values.shape[1]
    place = quantile * (size - 1)
    low = int(place)
    share = place - low
    values.partition(low, axis=1)
    below = values[:, low]
    above = values[:, low + 1 :].min(axis=1) if low + 1 < size else below
    if share >= 0.5:
        return np.asarray(above - (above - below) * (1.0 - share))
    return np.asarray(below + (above - below) * share)
