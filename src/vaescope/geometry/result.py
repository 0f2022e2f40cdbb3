"""What a measure of geometry returns, and how sure it is: a mean over points and its interval."""

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from vaescope.seeds import rng

__all__ = [
    "GeometryMeasure",
    "GeometryResult",
    "Interval",
    "Spread",
    "interval_of_mean",
    "interval_of_ratio",
    "spread_of",
]

Interval = tuple[float, float]


class GeometryResult(ABC):
    """Declares what a result can say of itself; notebooks show it."""

    @abstractmethod
    def summary(self) -> str:
        """One line for people."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


@dataclass(frozen=True, eq=False)
class GeometryMeasure(GeometryResult):
    """Declares what all measures have; each one's own class adds the numbers behind it."""

    value: float
    interval: Interval | None  # 95%; None where one number is all there is
    n: int  # what the interval is over, points unless the class says otherwise
    space: str

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data; what is not finite is None."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}


@dataclass(frozen=True, eq=False)
class Spread(GeometryMeasure):
    """A mean with its 95% interval and nothing else."""

    def summary(self) -> str:
        between = "" if self.interval is None else " ({:.4g} to {:.4g})".format(*self.interval)
        return f"{self.value:.4g}{between}, n = {self.n:,}, {self.space} space"


def interval_of_mean(values: NDArray[np.float64]) -> Interval | None:
    """Student's 95% interval of the mean of independent values; None for fewer than two.

    It knows the spread over these values only: points of one model say nothing of other seeds.
    """
    if len(values) < 2:
        return None
    error = float(stats.sem(values))
    half = float(stats.t.ppf(0.975, len(values) - 1)) * error
    mean = float(values.mean())
    return (mean - half, mean + half)


def interval_of_ratio(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64]
) -> Interval | None:
    """95% interval of mean(numerators) / mean(denominators) by resampling their pairs."""
    n = len(numerators)
    if n < 2:
        return None
    rows = rng(0, "geometry-bootstrap", n).integers(n, size=(1000, n))
    below = denominators[rows].mean(axis=1)
    if np.any(below == 0):
        return None
    low, high = np.quantile(numerators[rows].mean(axis=1) / below, (0.025, 0.975))
    value = float(numerators.mean() / denominators.mean())
    return (min(float(low), value), max(float(high), value))


def spread_of(values: NDArray[np.float64], space: str) -> Spread:
    """Mean and interval of one number per point; NaN of none."""
    if not len(values):
        return Spread(math.nan, None, 0, space)
    return Spread(float(values.mean()), interval_of_mean(values), len(values), space)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    match value:
        case GeometryMeasure():
            return value.to_dict()
        case np.ndarray() if value.ndim == 0:
            return _plain(value.item())
        case np.ndarray() | tuple() | list():
            return [_plain(part) for part in value]
        case Mapping():
            return {str(key): _plain(part) for key, part in value.items()}
        case np.generic():
            return _plain(value.item())
        case float():
            return _number(value)
        case _:
            return value
