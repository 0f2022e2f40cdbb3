"""Ground-truth factors: names, values, and the classes of any row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vaescope.errors import ShapeError, UsageError
from vaescope.types import Array, Integers, Long

__all__ = ["Factors", "tabulated"]


@dataclass(frozen=True, eq=False)
class Factors:
    """Discrete factors of variation.

    Without a table the rows are the full grid in C-order, last factor fastest; with one, row i has
    the classes `table[i]`.
    """

    names: tuple[str, ...]
    values: tuple[Array, ...]  # what class c of factor k stands for: values[k][c]
    table: Long | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(value) for value in self.values)

    @property
    def n(self) -> int:
        return math.prod(self.sizes) if self.table is None else len(self.table)

    @property
    def complete(self) -> bool:
        """Whether the rows are the full grid, so that every combination can be looked up."""
        return self.table is None

    def classes(self, index: Integers) -> Long:
        """Classes of rows: shape (rows, factors)."""
        if self.table is not None:
            return self.table[index]
        return np.asarray(np.stack(np.unravel_index(index, self.sizes), axis=-1), dtype=np.int64)

    def index(self, classes: Integers) -> Long:
        """Rows of factor classes, shape (..., factors). Full grids only."""
        if self.table is not None:
            raise UsageError(
                "These data are not a full grid, so a row cannot be found by its factors.",
                "Use a dataset on its full grid, or a sub-grid of one.",
            )
        if classes.shape[-1] != len(self.names) or np.any((classes < 0) | (classes >= self.sizes)):
            raise ShapeError(
                f"Classes must be below {self.sizes} for {', '.join(self.names)}; got shape "
                f"{classes.shape} with largest {classes.max(axis=tuple(range(classes.ndim - 1)))}.",
                "Give one class per factor, counted from 0.",
            )
        rows = np.ravel_multi_index(tuple(np.moveaxis(classes, -1, 0)), self.sizes)
        return np.asarray(rows, dtype=np.int64)

    def pick(self, index: Integers) -> "Factors":
        """The factors of some rows, as a table."""
        return Factors(self.names, self.values, self.classes(index))

    def restrict(self, keep: Sequence[Integers]) -> "Factors":
        """The sub-grid with the classes `keep[k]` of each factor; constant factors are dropped."""
        kept = [
            (name, value[chosen])
            for name, value, chosen in zip(self.names, self.values, keep, strict=True)
            if len(chosen) > 1
        ]
        return Factors(tuple(name for name, _ in kept), tuple(value for _, value in kept))


def tabulated(names: Sequence[str], labels: Sequence[Array]) -> Factors:
    """Factors from columns of labels, one for each factor: values are those that occur.

    Rows that are the full grid in C-order need no table.
    """
    columns = [np.unique(column, return_inverse=True) for column in labels]
    grid = Factors(tuple(names), tuple(values for values, _ in columns))
    table = np.stack([classes for _, classes in columns], axis=1).astype(np.int64)
    full = grid.n == len(table) and np.array_equal(grid.classes(np.arange(grid.n)), table)
    return grid if full else replace(grid, table=table)
