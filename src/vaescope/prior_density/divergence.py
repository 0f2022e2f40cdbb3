"""KL(N(mean, variance) || p) in one dimension: in closed form, by quadrature, and its minimum."""

import math
from collections.abc import Callable

import numpy as np

from vaescope.types import Double, Floats, Vector

__all__ = ["gaussian_kl", "least_variance", "quadrature_kl"]


_LOG_2PI_E = math.log(2.0 * math.pi) + 1.0
#: Standard deviations that a quadrature reaches: 4e-8 of the mass lie beyond.
_REACH = 5.5
#: Its step over the grain or the standard deviation, whichever is smaller. The error of the
#: trapezium rule is of the order exp(-2 pi / step) (Trefethen and Weideman 2014, theorem 5.1).
_STEP = 0.5
_BLOCK = 2**15  # points at a time: they stay in cache


def gaussian_kl(
    mean: Floats,
    variance: Floats,
    prior_mean: Floats | None = None,
    prior_variance: Floats | None = None,
) -> Double:
    """KL(N(mean, variance) || N(prior_mean, prior_variance)) of each element; the prior is N(0, 1)
    where it is None. Infinite at variance 0.

    0.5 (m^2 + v - 1 - log v), with mean m and variance v in units of the prior.

    >>> float(gaussian_kl(np.array([1.0]), np.array([1.0]))[0])
    0.5
    """
    nats, v = mean.astype(np.float64), variance.astype(np.float64)  # fresh arrays
    if prior_mean is not None:
        nats = nats - prior_mean
    if prior_variance is not None:
        scale = np.asarray(prior_variance, dtype=np.float64)
        nats, v = nats / np.sqrt(scale), v / scale
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        nats *= nats
        nats += v
        nats -= 1.0
        nats -= np.log(v, out=v)
        nats *= 0.5
    return np.maximum(nats, 0.0, out=nats)  # rounding may leave -1e-17 where q is the prior


def quadrature_kl(
    log_density: Callable[[Vector], Vector], grain: float, mean: Floats, variance: Floats
) -> Vector:
    """KL(N(mean_i, variance_i) || p) of vectors of means and variances, p by its log-density.

    `grain` is how far the singularities of log p are from the real axis. Wide posteriors over a
    fine grain need more points, so that posteriors are taken by their number of points, in steps of
    sqrt(2).
    """
    m, deviation = mean.astype(np.float64), np.sqrt(variance.astype(np.float64))
    nats = np.full(len(m), np.inf)
    wide = np.flatnonzero(deviation > 0)
    steps = np.maximum(deviation[wide] / grain, 1.0) * (2.0 * _REACH / _STEP)
    counts = np.ceil(2.0 ** (0.5 * np.ceil(2.0 * np.log2(steps)))).astype(np.int64)
    for count in np.unique(counts):
        noise = np.linspace(-_REACH, _REACH, count + 1)
        weight = np.exp(-0.5 * noise**2)
        weight /= weight.sum()
        here = wide[counts == count]
        for start in range(0, len(here), max(1, _BLOCK // len(noise))):
            some = here[start : start + max(1, _BLOCK // len(noise))]
            z = m[some, None] + deviation[some, None] * noise
            entropy = 0.5 * _LOG_2PI_E + np.log(deviation[some])
            nats[some] = -entropy - log_density(z) @ weight
    return np.asarray(np.maximum(nats, 0.0))


def least_variance(kl: Callable[[Vector, Vector], Vector], low: float, high: float) -> float:
    """The v in [low, high] at which KL(N(0, v) || p) is least, of functions with several minima."""
    from scipy import optimize

    logs = np.linspace(math.log(low), math.log(high), 81)
    best = int(np.argmin(kl(np.zeros(len(logs)), np.exp(logs))))

    def at(log_variance: float) -> float:
        return float(kl(np.zeros(1), np.exp(np.array([log_variance])))[0])

    ends = (logs[max(best - 1, 0)], logs[min(best + 1, len(logs) - 1)])
    found = optimize.minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-6})
    return math.exp(found.x)
