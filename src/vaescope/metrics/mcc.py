"""Mean correlation coefficient. Hyvärinen and Morioka 2016, https://arxiv.org/abs/1605.06336."""

from collections.abc import Callable

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap_interval
from vaescope.information.resampling import moment_replicates
from vaescope.metrics.rows import Representation, mean_or_sample, numbers, points
from vaescope.metrics.sap_continuous import correlations
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.table import RESAMPLES
from vaescope.seeds import rng
from vaescope.types import Double, Floats, Long

__all__ = ["mcc", "mcc_spearman", "ranks"]


def mcc(
    codes: Codes,
    *,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """Mean |Pearson correlation| of the factors with the latents that are assigned to them.

    Each factor gets a latent of its own, so that the sum is largest. A factor without a latent,
    because there are too few, counts 0. Real values of factors are used if the codes have them,
    otherwise class numbers. It detects linear relations only: see `mcc_spearman` for monotonic
    ones. Spare latents do not lower it.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.mcc(codes).value, 2)
        1.0
    """
    return _mcc(codes, "pearson", lambda values: values, on, limit, resamples, seed)


def mcc_spearman(
    codes: Codes,
    *,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """`mcc` with rank correlations: sources are often known only up to monotonic functions.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.mcc_spearman(codes).value, 2)
        0.96
    """
    return _mcc(codes, "spearman", ranks, on, limit, resamples, seed)


def ranks(values: Floats) -> Double:
    """Of each column; equal values share the mean of their ranks."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=0), dtype=np.float64)


def _mcc(
    codes: Codes,
    name: str,
    transform: Callable[[Floats], Floats],
    on: Representation,
    limit: int | None,
    resamples: int,
    seed: int,
) -> Score:
    y, source = numbers(codes, "mcc")
    rows = points(codes, limit, seed)
    z, y = mean_or_sample(codes, on)[rows], y[rows].astype(np.float64)
    varies = np.ptp(y, axis=0) > 0
    if not varies.any():
        raise ShapeError("All factors are constant.", "Give factors that vary.")
    left, right = transform(z), transform(y[:, varies])
    matrix = np.abs(correlations(left, right))
    latent, factor, value = _assigned(matrix)
    assigned = np.full(matrix.shape[1], -1, dtype=np.int64)
    assigned[factor] = latent
    spread = None
    if resamples:
        stream = rng(seed, "mcc-bootstrap")
        drawn = moment_replicates(np.hstack([left, right]), resamples=resamples, rng=stream)
        replicates = np.abs(drawn[:, : codes.d, codes.d :])
        draws = np.array([_assigned(own)[2] for own in replicates])
        spread = bootstrap_interval(value, draws, least=0.0, most=1.0)
    settings = {"estimator": name, "factors_as": source, "seed": seed}
    protocol = Protocol("default", len(rows), settings, on, codes.supervised)
    return Score(value, protocol, {"correlation": matrix, "latent_of_factor": assigned}, spread)


def _assigned(matrix: Floats) -> tuple[Long, Long, float]:
    from scipy.optimize import linear_sum_assignment

    latent, factor = linear_sum_assignment(matrix, maximize=True)
    return latent, factor, float(matrix[latent, factor].sum() / matrix.shape[1])
