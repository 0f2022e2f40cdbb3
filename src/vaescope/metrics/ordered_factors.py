"""Smoothness and monotonicity: how a latent follows the order of a factor's values.

Watcharasupat and Lerch 2021, https://arxiv.org/abs/2110.05587, ask both of decoded traversals;
these are of codes alone, and so our own.
"""

from collections.abc import Callable

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap_interval
from vaescope.metrics.knn_score import NOMINAL
from vaescope.metrics.mcc import ranks
from vaescope.metrics.rows import Labelled, Representation, labelled
from vaescope.metrics.sap_continuous import correlations
from vaescope.metrics.score import Protocol, Score
from vaescope.seeds import rng
from vaescope.types import Double, Floats, Long

__all__ = ["monotonicity", "smoothness"]

_ROWS, _RESAMPLES, _PERMUTATIONS = 10_000, 100, 20
#: Values below which a factor has no course.
_LEAST_VALUES = 3

Course = Callable[[Double], float]


def monotonicity(
    codes: Codes,
    *,
    on: Representation = "mean",
    limit: int | None = _ROWS,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> Score:
    """How far a factor's latent only rises, or only falls, as the factor's value increases.

    Mean over ordered factors of |c_last - c_first| / sum_v |c_v+1 - c_v|, c_v the mean of the
    latent over the rows of value v, and the latent the one of largest |rank correlation| with the
    factor. It is 1 for a monotonic latent and low for a cyclic or folded factor. Factors whose
    names say they have no order (shape, class, ...) and ones of two values are left out. It says
    nothing about the other latents, nor about what else this one encodes. `chance` is the score
    for permuted rows.

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
        >>> round(vs.metrics.monotonicity(codes).value, 2)
        1.0
    """
    return _scored("monotonicity", codes, _one_way, on, limit, resamples, seed)


def smoothness(
    codes: Codes,
    *,
    on: Representation = "mean",
    limit: int | None = _ROWS,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> Score:
    """How straight a factor's latent runs as the factor's value goes up.

    Mean over ordered factors of 1 - sum_v |c_v+1 - 2 c_v + c_v-1| / (2 sum_v |c_v+1 - c_v|), with c
    and the latent as for `monotonicity`. It is 1 for a straight line and 0 for a course that turns
    at every value. A monotonic latent with a jump is monotonic but not smooth. `chance` is the
    score for permuted rows.

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
        >>> round(vs.metrics.smoothness(codes).value, 2)
        1.0
    """
    return _scored("smoothness", codes, _straight, on, limit, resamples, seed)


def _one_way(course: Double) -> float:
    steps = np.abs(np.diff(course)).sum()
    return float(abs(course[-1] - course[0]) / steps) if steps > 0 else 0.0


def _straight(course: Double) -> float:
    steps = np.abs(np.diff(course)).sum()
    bends = np.abs(np.diff(course, n=2)).sum()
    return float(max(0.0, 1.0 - bends / (2.0 * steps))) if steps > 0 else 0.0


def _ordered(rows: Labelled) -> Long:
    values = np.array([len(np.unique(column)) for column in rows.factors.T])
    nominal = np.array([name in NOMINAL for name in rows.names])
    return np.flatnonzero((values >= _LEAST_VALUES) & ~nominal)


def _scored(
    what: str,
    codes: Codes,
    law: Course,
    on: Representation,
    limit: int | None,
    resamples: int,
    seed: int,
) -> Score:
    rows = labelled(codes, what, on=on, limit=limit, seed=seed)
    which = _ordered(rows)
    if not len(which):
        raise ShapeError(
            f"{what} needs a factor of three or more values in order; got none.",
            "Use data with such a factor, and give factors without an order a name such as shape.",
        )
    classes = [np.unique(rows.factors[:, k], return_inverse=True)[1] for k in which]
    z = rows.z - rows.z.mean(axis=0)
    ranked = ranks(z)

    def latents(permuted: Long) -> Long:
        v = np.stack([own[permuted] for own in classes], axis=1)
        return np.asarray(np.abs(correlations(ranked, ranks(v.astype(np.float64)))).argmax(axis=0))

    def of(latent: Long, labels: Long, drawn: Floats) -> list[float]:
        """The law of each factor, on rows that count `drawn` times."""
        return [
            law(_course(z[:, j], own[labels], drawn))
            for j, own in zip(latent, classes, strict=True)
        ]

    plain, once = np.arange(rows.n), np.ones(rows.n)
    chosen = latents(plain)
    per_factor = np.array(of(chosen, plain, once))
    value = float(per_factor.mean())
    stream = rng(seed, f"{what}-bootstrap")
    chance = []
    for _ in range(_PERMUTATIONS):
        permuted = stream.permutation(rows.n)
        chance.append(np.mean(of(latents(permuted), permuted, once)))
    interval = None
    if resamples:
        weights = stream.multinomial(rows.n, np.full(rows.n, 1.0 / rows.n), size=resamples)
        draws = np.array([np.mean(of(chosen, plain, own)) for own in weights.astype(np.float64)])
        interval = bootstrap_interval(value, draws, least=0.0, most=1.0)
    settings = {
        "estimator": "means by value", "seed": seed, "factors": [rows.names[k] for k in which],
    }  # fmt: skip
    protocol = Protocol("default", rows.n, settings, on, codes.supervised)
    details = {"per_factor": per_factor, "latent_of_factor": chosen}
    return Score(value, protocol, details, interval, float(np.mean(chance)))


def _course(z: Floats, labels: Long, weights: Floats) -> Double:
    """Mean of the latent over the rows of each value, in the order of the values that occur."""
    count = np.bincount(labels, weights)
    total = np.bincount(labels, weights * z)
    return np.asarray(total[count > 0] / count[count > 0])
