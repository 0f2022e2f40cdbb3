"""Effects: one number for each unit (a seed, a generator, a block of four), made from a table.

Each effect can also make the smallest table that has given effects, so that every claim can be
shown tables whose verdicts are known.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    "Trend",
    "Where",
    "distinct",
    "levels",
    "named",
    "numbers",
    "rows_of",
    "two_of",
    "unit_words",
    "units",
]

#: Columns and the values that chosen rows have in them.
Where = Mapping[str, Value]

#: Columns that are units, in words.
_UNITS = {"seed": "seeds", "data.generator_seed": "generators", "restart": "restarts"}


class Effect(Protocol):
    """One number for each value of the column `unit`; what an effect is, in words; and a table."""

    @property
    def unit(self) -> str: ...
    def of(self, table: Table) -> Floats: ...
    def words(self) -> str: ...
    def table(self, values: Floats) -> Table: ...


def units(table: Table, unit: str, *wheres: Where) -> list[Value]:
    """The units of the rows that are so, in order."""
    column = _column(table, unit)
    known = {column[i] for where in wheres for i in _places(table, where)} - {None}
    return sorted(known, key=lambda value: (isinstance(value, str), value))


def _column(table: Table, name: str) -> Sequence[Value]:
    if name not in table.columns:
        raise UsageError(f"The table has no column {name}.", f"It has {', '.join(table.columns)}.")
    return table.columns[name]


def numbers(table: Table, measure: str) -> Floats:
    """A column of numbers; an error that names it where there is none."""
    _column(table, measure)
    return table.numbers(measure)


def _places(table: Table, where: Where) -> list[int]:
    columns = {name: _column(table, name) for name in where}
    return [i for i in range(len(table)) if all(columns[k][i] == v for k, v in where.items())]


def levels(table: Table, measure: str, unit: str, *wheres: Where) -> list[Floats]:
    """The mean of a measure in some rows of each unit, for each of `wheres` over the same units.

    NaN where a row has no number: a mean over the others would be of another thing.
    """
    values = numbers(table, measure)
    every = units(table, unit, *wheres)
    found: list[Floats] = []
    for where in wheres:
        parts = [values[_places(table, {**where, unit: one})] for one in every]
        found.append(np.array([p.mean() if p.size else np.nan for p in parts], dtype=np.float64))
    return found


def distinct(table: Table, unit: str) -> Table:
    """The table without units that repeat another one in every number: they are one unit.

    Only where some number is not whole: counts may be the same in different runs.
    """
    seen: dict[tuple[tuple[Value, ...], ...], Value] = {}
    rows: dict[Value, list[int]] = {}
    for i, value in enumerate(table.columns[unit]):
        rows.setdefault(value, []).append(i)
    kept: list[int] = []
    for value, places in rows.items():
        found = tuple(tuple(column[i] for i in places) for column in table.results.values())
        broken = any(isinstance(v, float) and not v.is_integer() for part in found for v in part)
        if not broken or seen.setdefault(found, value) == value:
            kept += places
    return table.select(sorted(kept))


def unit_words(effect: Effect) -> str:
    """What an effect has one number for, in the plural."""
    words = _UNITS.get(effect.unit, "units")
    size = getattr(effect, "size", 1)
    return words if size == 1 else f"blocks of {size} {words}"


def rows_of(rows: Iterable[tuple[Where, Mapping[str, Value]]]) -> Table:
    return table_of(Row(f"row-{i}", True, s, r) for i, (s, r) in enumerate(rows))


def named(where: Where) -> str:
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
        return levels(table, self.measure, self.unit, self.where)[0]

    def words(self) -> str:
        return f"{self.measure} of {named(self.where)}" if self.where else self.measure

    def table(self, values: Floats) -> Table:
        return rows_of(
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
        high, low = levels(table, self.measure, self.unit, self.high, self.low)
        return high - low

    def words(self) -> str:
        return f"{self.measure} of {named(self.high)} minus that of {named(self.low)}"

    def table(self, values: Floats) -> Table:
        return two_of(
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
        top, bottom = levels(table, self.measure, self.unit, self.top, self.bottom)
        return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)

    def words(self) -> str:
        return f"{self.measure} of {named(self.top)} over that of {named(self.bottom)}"

    def table(self, values: Floats) -> Table:
        return two_of(self.top, self.bottom, self.unit, self.measure, values, np.ones(len(values)))


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
        at, low, high = levels(table, self.measure, self.unit, self.at, self.low, self.high)
        return np.divide(at - low, high - low, out=np.full_like(at, np.nan), where=high != low)

    def words(self) -> str:
        ends = f"that of {named(self.low)} (0) and of {named(self.high)} (1)"
        return f"{self.measure} of {named(self.at)} between {ends}"

    def table(self, values: Floats) -> Table:
        return rows_of(
            ({**where, self.unit: i}, {self.measure: float(height)})
            for i, value in enumerate(values)
            for where, height in ((self.at, value), (self.low, 0.0), (self.high, 1.0))
        )


def two_of(
    first: Where, second: Where, unit: str, measure: str, firsts: Floats, seconds: Floats
) -> Table:
    return rows_of(
        ({**where, unit: i}, {measure: float(value)})
        for i, pair in enumerate(zip(firsts, seconds, strict=True))
        for where, value in zip((first, second), pair, strict=True)
    )


def _pair(table: Table, first: str, second: str, where: Where) -> tuple[Floats, Floats]:
    """Two columns in the rows that are so."""
    places = _places(table, where)
    return numbers(table, first)[places], numbers(table, second)[places]


@final
@dataclass(frozen=True)
class Trend:
    """Spearman's rank correlation of a measure with another column, in the rows of each seed.

    0 for a seed in which the measure never moves: no trend, a tie where the threshold is 0. NaN
    where a number is missing or the other column does not vary: such a seed votes for nothing.
    """

    measure: str
    along: str
    where: Where = field(default_factory=dict)
    unit: str = "seed"

    def of(self, table: Table) -> Floats:
        every = units(table, self.unit, self.where)
        return np.array([self.over(table, [unit]) for unit in every])

    def over(self, table: Table, some_units: Sequence[Value]) -> float:
        """The correlation over all rows of these units."""
        pairs = [
            _pair(table, self.along, self.measure, {**self.where, self.unit: unit})
            for unit in some_units
        ]
        x, y = (np.concatenate(column) for column in zip(*pairs, strict=True))
        whole = np.isfinite(x).all() and np.isfinite(y).all()
        if not whole or x.size < 3 or np.ptp(x) == 0:
            return float("nan")
        return 0.0 if np.ptp(y) == 0 else float(stats.spearmanr(x, y).statistic)

    def words(self) -> str:
        of = f" in {named(self.where)}" if self.where else ""
        return f"rank correlation of {self.measure} with {self.along}{of}"

    def table(self, values: Floats) -> Table:
        """Correlations are 1 where a value is positive, -1 where not, missing where it is."""
        signs = np.where(np.isnan(values), np.nan, np.where(values > 0, 1.0, -1.0))
        return rows_of(
            ({**self.where, self.unit: i}, {self.along: x, self.measure: float(sign * x)})
            for i, sign in enumerate(signs)
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
        every = units(table, self.unit, self.high, self.low)
        return np.array([self._one(table, unit) for unit in every])

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
        x, y = _pair(table, self.at, self.measure, where)
        both = np.isfinite(x) & np.isfinite(y)
        order = np.argsort(x[both], kind="stable")
        return x[both][order], y[both][order]

    def words(self) -> str:
        return (
            f"{self.measure} of {named(self.high)} minus that of {named(self.low)} "
            f"at equal {self.at}"
        )

    def table(self, values: Floats) -> Table:
        def rows() -> Iterable[tuple[Where, Mapping[str, Value]]]:
            for i, value in enumerate(values):
                for where, height in ((self.high, float(value)), (self.low, 0.0)):
                    for x in (0.0, 1.0, 2.0):
                        yield {**where, self.unit: i}, {self.at: x, self.measure: x + height}

        return rows_of(rows())
