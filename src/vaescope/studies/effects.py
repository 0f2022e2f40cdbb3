"""Effects: one number for each seed, made from a table of runs. Claims are about their mean.

Each effect can also make the smallest table that has given effects, so that every claim can be
shown tables whose verdicts are known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np
from scipy import stats

from vaescope.errors import UsageError
from vaescope.tables import Row, Table, Value, table_of
from vaescope.types import Floats

__all__ = [
    "AtEqual",
    "Effect",
    "Gap",
    "Level",
    "Position",
    "Ratio",
    "Share",
    "Spread",
    "Trend",
    "Where",
]

#: Columns and the values that chosen rows have in them.
Where = Mapping[str, Value]

_EVERYWHERE: Where = {}


class Effect(Protocol):
    """One number for each value of the column `unit`; what an effect is, in words; and a table."""

    @property
    def unit(self) -> str: ...
    def of(self, table: Table) -> Floats: ...
    def words(self) -> str: ...
    def table(self, values: Floats) -> Table: ...


def _units(table: Table, unit: str) -> list[Value]:
    if unit not in table.columns:
        raise UsageError(f"The table has no column {unit}.", f"It has {', '.join(table.columns)}.")
    return list(dict.fromkeys(table.columns[unit]))


def _places(table: Table, where: Where) -> list[int]:
    columns = table.columns
    missing = [name for name in where if name not in columns]
    if missing:
        raise UsageError(f"The table has no column {missing[0]}.", f"It has {', '.join(columns)}.")
    return [i for i in range(len(table)) if all(columns[k][i] == v for k, v in where.items())]


def _numbers(table: Table, measure: str, where: Where) -> Floats:
    """The finite values of a measure in the rows that are so."""
    values = table.numbers(measure)[_places(table, where)]
    return values[np.isfinite(values)]


def _mean(table: Table, measure: str, where: Where) -> float:
    values = _numbers(table, measure, where)
    return float(values.mean()) if values.size else float("nan")


def _rows(rows: Iterable[tuple[Where, Mapping[str, Value]]]) -> Table:
    return table_of(Row(f"row-{i}", True, s, r) for i, (s, r) in enumerate(rows))


def _named(where: Where) -> str:
    return ", ".join(
        str(value) if isinstance(value, str) else f"{name} {value}" for name, value in where.items()
    )


@final
@dataclass(frozen=True)
class Level:
    """The mean of a measure in some rows of each seed."""

    measure: str
    where: Where = field(default_factory=dict)
    unit: str = "seed"

    def of(self, table: Table) -> Floats:
        units = _units(table, self.unit)
        return np.array([_mean(table, self.measure, {**self.where, self.unit: u}) for u in units])

    def words(self) -> str:
        return f"{self.measure} of {_named(self.where)}" if self.where else self.measure

    def table(self, values: Floats) -> Table:
        return _rows(
            ({**self.where, self.unit: i}, {self.measure: float(v)}) for i, v in enumerate(values)
        )


@final
@dataclass(frozen=True)
class Gap:
    """How much higher a measure is in some rows than in others, seed by seed."""

    measure: str
    high: Where
    low: Where
    unit: str = "seed"

    def of(self, table: Table) -> Floats:
        high, low = (Level(self.measure, w, self.unit).of(table) for w in (self.high, self.low))
        return high - low

    def words(self) -> str:
        return f"{self.measure} of {_named(self.high)} minus that of {_named(self.low)}"

    def table(self, values: Floats) -> Table:
        return _two(
            self.high, self.low, self.unit, self.measure, values + 1.0, np.ones(len(values))
        )


@final
@dataclass(frozen=True)
class Ratio:
    """A positive measure in some rows over that in others, seed by seed."""

    measure: str
    top: Where
    bottom: Where
    unit: str = "seed"

    def of(self, table: Table) -> Floats:
        top, bottom = (Level(self.measure, w, self.unit).of(table) for w in (self.top, self.bottom))
        return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)

    def words(self) -> str:
        return f"{self.measure} of {_named(self.top)} over that of {_named(self.bottom)}"

    def table(self, values: Floats) -> Table:
        return _two(self.top, self.bottom, self.unit, self.measure, values, np.ones(len(values)))


@final
@dataclass(frozen=True)
class Position:
    """Where a measure lies between two others, seed by seed: 0 at `low`, 1 at `high`."""

    measure: str
    at: Where
    low: Where
    high: Where
    unit: str = "seed"

    def of(self, table: Table) -> Floats:
        levels = (
            Level(self.measure, w, self.unit).of(table) for w in (self.at, self.low, self.high)
        )
        at, low, high = levels
        return np.divide(at - low, high - low, out=np.full_like(at, np.nan), where=high != low)

    def words(self) -> str:
        ends = f"that of {_named(self.low)} (0) and of {_named(self.high)} (1)"
        return f"{self.measure} of {_named(self.at)} between {ends}"

    def table(self, values: Floats) -> Table:
        return _rows(
            ({**where, self.unit: i}, {self.measure: float(height)})
            for i, value in enumerate(values)
            for where, height in ((self.at, value), (self.low, 0.0), (self.high, 1.0))
        )


def _two(
    first: Where, second: Where, unit: str, measure: str, firsts: Floats, seconds: Floats
) -> Table:
    return _rows(
        ({**where, unit: i}, {measure: float(value)})
        for i, pair in enumerate(zip(firsts, seconds, strict=True))
        for where, value in zip((first, second), pair, strict=True)
    )


@final
@dataclass(frozen=True)
class Spread:
    """How much farther a measure is from its median over seeds in some rows than in others.

    Distances from the median are what Brown and Forsythe 1974 compare where variances may differ.
    NaN for fewer than four seeds: two are as far from their median as each other.
    """

    measure: str
    high: Where
    low: Where
    unit: str = "seed"

    def of(self, table: Table) -> Floats:
        high, low = (Level(self.measure, w, self.unit).of(table) for w in (self.high, self.low))
        return _from_median(high) - _from_median(low)

    def words(self) -> str:
        return (
            f"distance of {self.measure} from its median over seeds in {_named(self.high)} minus "
            f"that in {_named(self.low)}"
        )

    def table(self, values: Floats) -> Table:
        """Each value twice, on both sides of medians of 0."""
        both = np.concatenate([values, -values])
        wide = np.tile(values > 0, 2)
        return _two(
            self.high, self.low, self.unit, self.measure,
            np.where(wide, both, 0.0), np.where(wide, 0.0, both),
        )  # fmt: skip


def _from_median(values: Floats) -> Floats:
    known = values[np.isfinite(values)]
    return np.asarray(np.abs(values - (np.median(known) if known.size >= 4 else np.nan)))


@final
@dataclass(frozen=True)
class Trend:
    """Spearman's rank correlation of a measure with another column, in the rows of each seed.

    NaN for a seed in which one of the two does not vary: it shows no trend either way and is left
    out, so a measure that never moves leaves the claim undecided.
    """

    measure: str
    along: str
    where: Where = field(default_factory=dict)
    unit: str = "seed"

    def of(self, table: Table) -> Floats:
        return np.array([self._one(table, unit) for unit in _units(table, self.unit)])

    def _one(self, table: Table, unit: Value) -> float:
        places = _places(table, {**self.where, self.unit: unit})
        x, y = table.numbers(self.along)[places], table.numbers(self.measure)[places]
        both = np.isfinite(x) & np.isfinite(y)
        x, y = x[both], y[both]
        if x.size < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return float("nan")
        return float(stats.spearmanr(x, y).statistic)

    def words(self) -> str:
        of = f" in {_named(self.where)}" if self.where else ""
        return f"rank correlation of {self.measure} with {self.along}{of}"

    def table(self, values: Floats) -> Table:
        """Correlations are 1 where a value is positive and -1 where not."""
        return _rows(
            ({**self.where, self.unit: i}, {self.along: x, self.measure: float(np.sign(v) * x)})
            for i, v in enumerate(np.where(values > 0, 1.0, -1.0))
            for x in (1.0, 2.0, 3.0, 4.0)
        )


@final
@dataclass(frozen=True)
class AtEqual:
    """How much higher a measure is in some rows than in others where a third column is equal.

    Both are curves over strengths, interpolated linearly along `at` (e.g. distortion) and compared
    over the range that they share. NaN for a seed whose curves share none.
    """

    measure: str
    at: str
    high: Where
    low: Where
    unit: str = "seed"
    points: int = 21

    def of(self, table: Table) -> Floats:
        return np.array([self._one(table, unit) for unit in _units(table, self.unit)])

    def _one(self, table: Table, unit: Value) -> float:
        curves = [self._curve(table, {**w, self.unit: unit}) for w in (self.high, self.low)]
        if any(x.size < 2 for x, _ in curves):
            return float("nan")
        begin, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
        if begin >= end:
            return float("nan")
        shared = np.linspace(begin, end, self.points)
        high, low = (np.interp(shared, x, y) for x, y in curves)
        return float(np.mean(high - low))

    def _curve(self, table: Table, where: Where) -> tuple[Floats, Floats]:
        places = _places(table, where)
        x, y = table.numbers(self.at)[places], table.numbers(self.measure)[places]
        both = np.isfinite(x) & np.isfinite(y)
        order = np.argsort(x[both], kind="stable")
        return x[both][order], y[both][order]

    def words(self) -> str:
        return (
            f"{self.measure} of {_named(self.high)} minus that of {_named(self.low)} "
            f"at equal {self.at}"
        )

    def table(self, values: Floats) -> Table:
        def rows() -> Iterable[tuple[Where, Mapping[str, Value]]]:
            for i, value in enumerate(values):
                for where, height in ((self.high, float(value)), (self.low, 0.0)):
                    for x in (0.0, 1.0, 2.0):
                        yield {**where, self.unit: i}, {self.at: x, self.measure: x + height}

        return _rows(rows())


@final
@dataclass(frozen=True)
class Share:
    """How much of a measure's variance seeds make, rather than the settings `by`.

    Of each seed its part of the sum of squares about the mean of its settings, times the number of
    seeds, over the sum of squares about the overall mean: the mean over seeds is the share, 0 if
    settings decide all and 1 if they decide nothing.
    """

    measure: str
    by: tuple[str, ...]
    unit: str = "seed"

    def of(self, table: Table) -> Floats:
        units = _units(table, self.unit)
        values, columns = table.numbers(self.measure), table.columns
        known = [i for i in range(len(table)) if np.isfinite(values[i])]
        settings: dict[tuple[Value, ...], list[int]] = {}
        for i in known:
            settings.setdefault(tuple(columns[name][i] for name in self.by), []).append(i)
        parts = dict.fromkeys(units, 0.0)
        for places in settings.values():
            for i in places:
                parts[columns[self.unit][i]] += (values[i] - values[places].mean()) ** 2
        total = float(np.sum((values[known] - values[known].mean()) ** 2)) if known else 0.0
        if total == 0.0:
            return np.full(len(units), np.nan)
        return np.array([parts[unit] * len(units) / total for unit in units])

    def words(self) -> str:
        return f"share of the variance of {self.measure} that {', '.join(self.by)} leave to seeds"

    def table(self, values: Floats) -> Table:
        """Two rows for each setting and seed, on either side of the setting's mean; values below 0
        are taken for 0, and if their mean is over 1 they are scaled down to it."""
        parts = np.maximum(values, 0.0)
        parts = parts / max(1.0, float(parts.mean()))
        height = np.sqrt(max(0.0, 1.0 - float(parts.mean())))
        return _rows(
            ({**dict.fromkeys(self.by, side), self.unit: i}, {self.measure: side * height + apart})
            for i, part in enumerate(parts)
            for side in (-1.0, 1.0)
            for apart in (-float(np.sqrt(part)), float(np.sqrt(part)))
        )
