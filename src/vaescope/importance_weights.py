"""What importance weights add up to, and how far the sum can be believed.

Effective sample size: Kong 1992. Shape of the tail: Vehtari et al. 2024, Pareto smoothed importance
sampling, https://arxiv.org/abs/1507.02646, by the fit of Zhang and Stephens 2009,
https://doi.org/10.1198/tech.2009.08017.
"""

import numpy as np
from scipy.special import logsumexp

from vaescope.errors import ShapeError
from vaescope.types import Vector

__all__ = ["effective_size", "log_mean", "tail_limit", "tail_shape", "tempered"]


#: Fewer weights than this have no tail to fit.
LEAST = 25
#: Above it no number of draws that one can afford helps (Vehtari et al. 2024, section 3.2.4).
HEAVIEST = 0.7


def log_mean(log_weights: Vector) -> float:
    """log of the mean of weights that are given by their logarithms."""
    return float(logsumexp(log_weights) - np.log(len(log_weights)))


def effective_size(log_weights: Vector) -> float:
    """(sum w)^2 / sum w^2: as many equal weights would have the same variance of their mean.

    >>> round(effective_size(np.zeros(8)), 6)
    8.0
    """
    return float(np.exp(2.0 * logsumexp(log_weights) - logsumexp(2.0 * log_weights)))


def tail_limit(draws: int) -> float:
    """The shape up to which so many weights have a mean that can be believed.

    >>> [round(tail_limit(draws), 2) for draws in (100, 1000, 100_000)]
    [0.5, 0.67, 0.7]
    """
    return float(min(1.0 - 1.0 / np.log10(draws), HEAVIEST))


def tail_shape(log_weights: Vector) -> float:
    """k of the generalised Pareto distribution that the largest weights follow: they have moments
    of order below 1 / k. Infinite where one weight is all there is.

    Of n weights the largest min(n / 5, 3 sqrt(n)) are fitted, as excess over the next.

    Args:
        log_weights: (n,) logarithms, up to a constant.

    Returns:
        The shape; below 0 where weights are bounded.

    Raises:
        ShapeError: fewer than 25 weights.

    Example:
        >>> import numpy as np
        >>> uniform = (np.arange(4000) + 0.5) / 4000
        >>> round(tail_shape(-0.5 * np.log(uniform)), 1)  # P(w > t) = t^-2
        0.5
    """
    n = len(log_weights)
    if n < LEAST:
        raise ShapeError(f"There are {n} weights; wanted {LEAST} or more.", "Take more draws.")
    largest = int(np.ceil(min(0.2 * n, 3.0 * np.sqrt(n))))
    ascending = np.exp(np.sort(log_weights)[-largest - 1 :] - np.max(log_weights))
    excess = ascending[1:] - ascending[0]
    # Weights that float64 cannot tell apart are bounded; those that vanish beside one are not.
    if excess[-1] <= np.finfo(np.float64).tiny:
        return -np.inf
    if excess[largest // 2] <= 1e-30 * excess[-1]:
        return np.inf
    return _shape(excess)


def _shape(excess: Vector) -> float:
    """Zhang and Stephens' posterior mean, with the weak prior of ten observations of k = 1/2."""
    n = len(excess)
    grid = 30 + int(np.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    theta = 1.0 / excess[-1] + (1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))) / (
        3.0 * max(quartile, np.finfo(np.float64).tiny)
    )
    shapes = np.log1p(-theta[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-theta / shapes) - shapes - 1.0)
    weights = np.exp(profile - logsumexp(profile))
    k = float(np.log1p(-(weights @ theta) * excess).mean())
    return (n * k + 10 * 0.5) / (n + 10)


def tempered(log_weights: Vector, least: float) -> Vector:
    """Normalised weights w^t with the largest t in (0, 1] whose effective size is at least this."""
    low, high = 0.0, 1.0
    if effective_size(log_weights) < least:
        for _ in range(40):
            middle = 0.5 * (low + high)
            if effective_size(middle * log_weights) < least:
                high = middle
            else:
                low = middle
        high = low
    powered = high * log_weights
    return np.asarray(np.exp(powered - logsumexp(powered)))
