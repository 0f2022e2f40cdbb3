"""Intervals by resampling points. Efron and Tibshirani 1993, An introduction to the bootstrap."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vaescope.errors import ShapeError
from vaescope.types import Floats

__all__ = ["bootstrap", "interval"]


def bootstrap(
    statistic: Callable[[NDArray[np.int64]], float | Floats],
    n: int,
    *,
    resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The statistic of n row numbers drawn with replacement: shape (resamples, ...)."""
    drawn = [statistic(rng.integers(n, size=n)) for _ in range(resamples)]
    return np.array(drawn, dtype=np.float64)


def interval(
    value: float,
    replicates: Floats,
    *,
    level: float = 0.95,
    least: float = -np.inf,
    most: float = np.inf,
) -> tuple[float, float]:
    """Percentiles of the replicates, moved by the bootstrap's bias so that the value lies within.

    A resample repeats points, so plug-in quantities such as total correlation come out larger on
    it than on the data, and plain percentiles may leave the value out (0.0039 with 0.0043 to
    0.0080 on real codes). The replicates are therefore moved by value - mean(replicates).
    `least` and `most` are what the quantity can be. The bias of the value itself stays.

    >>> interval(1.0, np.array([2.0, 3.0, 4.0]), level=0.5)
    (0.5, 1.5)
    """
    finite = int(np.isfinite(replicates).sum())
    if replicates.ndim != 1 or replicates.size < 2 or finite < replicates.size:
        raise ShapeError(
            f"replicates has shape {replicates.shape} with {finite} finite values; wanted (r,) "
            "with at least two, all finite.",
            "Ask for more resamples, or look at what the statistic gives on a resample.",
        )
    moved = replicates.astype(np.float64) + (value - float(replicates.mean()))
    low, high = np.quantile(moved, [0.5 - level / 2, 0.5 + level / 2])
    return max(min(float(low), value), least), min(max(float(high), value), most)
