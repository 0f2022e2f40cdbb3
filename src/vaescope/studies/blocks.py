"""Effects of several units, in disjoint blocks of four: no block changes when units are added."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from vaescope.studies.effects import (
    Effect,
    Trend,
    Where,
    levels,
    named,
    numbers,
    rows_of,
    two_of,
    units,
)
from vaescope.tables import Table, Value
from vaescope.types import Floats

__all__ = ["BLOCK", "Blocked", "Pooled", "Share", "Spread"]

#: Units of a block.
BLOCK = 4


@final
@dataclass(frozen=True)
class Blocked:
    """The mean of an effect over blocks of units, for sentences about means in which single units
    are near a coin's toss. Blocks are disjoint and in order, so that none changes when units are
    added; the last counts when it is full."""

    effect: Effect
    size: int = BLOCK

    @property
    def unit(self) -> str:
        return self.effect.unit

    def of(self, table: Table) -> Floats:
        return np.array([values.mean() for values in _blocks(self.effect.of(table), self.size)])

    def words(self) -> str:
        return f"{self.effect.words()}, mean over blocks of {self.size}"

    def table(self, values: Floats) -> Table:
        return self.effect.table(np.repeat(values, self.size))


def _blocks(values: Floats, size: int) -> list[Floats]:
    """Disjoint runs of so many values; what is left over is not a block yet."""
    return [values[i : i + size] for i in range(0, len(values) - size + 1, size)]


@final
@dataclass(frozen=True)
class Spread:
    """How much farther a measure is from its median within a block of four seeds in some rows than
    in others.

    Distances from the median are what Brown and Forsythe 1974 compare where variances may differ.
    """

    measure: str
    high: Where
    low: Where
    unit: str = "seed"
    size: int = BLOCK

    def of(self, table: Table) -> Floats:
        high, low = levels(table, self.measure, self.unit, self.high, self.low)
        return np.array(
            [
                _from_median(one) - _from_median(other)
                for one, other in zip(
                    _blocks(high, self.size), _blocks(low, self.size), strict=True
                )
            ]
        )

    def words(self) -> str:
        return (
            f"distance of {self.measure} from its median over blocks of {self.size} seeds in "
            f"{named(self.high)} minus that in {named(self.low)}"
        )

    def table(self, values: Floats) -> Table:
        """Each value on both sides of medians of 0."""
        both = np.repeat(values, self.size) * np.resize([1.0, -1.0], len(values) * self.size)
        wide = np.repeat(values > 0, self.size)
        return two_of(
            self.high, self.low, self.unit, self.measure,
            np.where(wide, both, 0.0), np.where(wide, 0.0, both),
        )  # fmt: skip


def _from_median(values: Floats) -> float:
    return float(np.abs(values - np.median(values)).mean())


@final
@dataclass(frozen=True)
class Pooled:
    """A rank correlation over all rows of a block of four units, for sentences about a cloud of
    runs: of a few rows it is extreme by chance. Blocks are disjoint and in order; the last counts
    when it is full, and one with a missing number votes for nothing."""

    trend: Trend
    size: int = BLOCK

    @property
    def unit(self) -> str:
        return self.trend.unit

    def of(self, table: Table) -> Floats:
        every = units(table, self.unit, self.trend.where)
        starts = range(0, len(every) - self.size + 1, self.size)
        return np.array([self.trend.over(table, every[i : i + self.size]) for i in starts])

    def words(self) -> str:
        return f"{self.trend.words()}, over blocks of {self.size}"

    def table(self, values: Floats) -> Table:
        return self.trend.table(np.repeat(values, self.size))


@final
@dataclass(frozen=True)
class Share:
    """How much of a measure's variance seeds make, rather than the settings `by`, within blocks of
    four seeds: the sum of squares about the means of settings over that about the overall mean. 0
    if settings decide all, 1 if they decide nothing."""

    measure: str
    by: tuple[str, ...]
    unit: str = "seed"
    size: int = BLOCK

    def of(self, table: Table) -> Floats:
        every = units(table, self.unit, {})
        starts = range(0, len(every) - self.size + 1, self.size)
        return np.array([self._one(table, every[i : i + self.size]) for i in starts])

    def _one(self, table: Table, block: Sequence[Value]) -> float:
        values, columns = numbers(table, self.measure), table.columns
        settings: dict[tuple[Value, ...], list[int]] = {}
        for i in range(len(table)):
            if columns[self.unit][i] in block:
                settings.setdefault(tuple(columns[name][i] for name in self.by), []).append(i)
        inside = sum(float(np.sum((values[p] - values[p].mean()) ** 2)) for p in settings.values())
        every = values[[i for places in settings.values() for i in places]]
        total = float(np.sum((every - every.mean()) ** 2))
        return inside / total if total > 0.0 else float("nan")

    def words(self) -> str:
        return f"share of the variance of {self.measure} that {', '.join(self.by)} leave to seeds"

    def table(self, values: Floats) -> Table:
        """Four seeds for each value, on either side of the means of two settings; values outside 0
        to 1 are taken for the nearer end."""
        shares = np.repeat(np.clip(values, 0.0, 1.0), self.size)
        return rows_of(
            (
                {**dict.fromkeys(self.by, side), self.unit: i},
                {self.measure: float(side * np.sqrt(1.0 - v) + (-1.0) ** i * np.sqrt(v))},
            )
            for i, v in enumerate(shares)
            for side in (-1.0, 1.0)
        )
