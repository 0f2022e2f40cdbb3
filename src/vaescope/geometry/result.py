"""What a measure of geometry returns, and how sure it is: a mean over points and its interval."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from vaescope.estimates import Estimate, Interval, bootstrap, interval_of_mean, percentiles
from vaescope.notebook_card import card_of
from vaescope.seeds import rng
from vaescope.types import Double

__all__ = ["GeometryMeasure", "GeometryResult", "interval_of_ratio", "measure_of"]


class GeometryResult(ABC):
    """Declares what a result can say of itself; notebooks show it."""

    @abstractmethod
    def summary(self) -> str:
        """One line for people."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data."""

    _repr_html_ = card_of


@dataclass(frozen=True, eq=False)
class GeometryMeasure(Estimate, GeometryResult):
    """An estimate, and the space in which it was measured. Subclasses add further numbers.

    n counts points unless the class says otherwise.
    """

    space: str

    def summary(self) -> str:
        between = "" if self.interval is None else " ({:.4g} to {:.4g})".format(*self.interval)
        return f"{self.value:.4g}{between}, n = {self.n:,}, {self.space} space"

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data; what is not finite is None."""
        return {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}


def interval_of_ratio(numerators: Double, denominators: Double) -> Interval | None:
    """95% interval of mean(numerators) / mean(denominators) by resampling their pairs."""
    n = len(numerators)
    if n < 2:
        return None
    both = np.stack([numerators, denominators])
    stream = rng(0, "geometry-bootstrap", n)
    means = bootstrap(lambda rows: both[:, rows].mean(axis=1), n, resamples=1000, rng=stream)
    if np.any(means[:, 1] == 0):
        return None
    low, high = percentiles(means[:, 0] / means[:, 1])
    value = float(numerators.mean() / denominators.mean())
    return min(low, value), max(high, value)


def measure_of(values: Double, space: str) -> GeometryMeasure:
    """Mean and interval of one number per point; NaN of none."""
    value = float(values.mean()) if len(values) else math.nan
    return GeometryMeasure(value, interval_of_mean(values), len(values), space)


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
            return float(value) if math.isfinite(value) else None
        case _:
            return value
