"""Batches of codes that share one factor's value, drawn from rows that were encoded once.

disentanglement_lib draws factors, renders and encodes them anew for each batch: 2.9 million images
for two scores. Rows that share a value of factor k and are else random are the same batch, so they
are looked up instead: exactly so where the rows are a complete grid, and where they are a random
part of one as long as each value has enough of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics.rows import Labelled
from vaescope.types import Double, Long

__all__ = ["LEAST", "Groups", "groups"]

#: Rows that each value of each factor must have where the grid is not complete. With fewer, the
#: spread within a batch is that of a handful of points, and scores fall for want of data.
LEAST = 64


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows by the value of each factor."""

    order: Long  # (factor, n) rows sorted by value
    start: Long  # (factor, value) where a value begins
    size: Long  # (factor, value)
    factors: Long  # (n, factor)
    complete: bool
    least: int  # rows of the scarcest value

    @property
    def source(self) -> str:
        """Where batches come from, for the protocol."""
        return (
            "complete grid" if self.complete else f"available rows, at least {self.least} per value"
        )

    def batches(
        self, votes: int, batch: int, rng: np.random.Generator
    ) -> Iterator[tuple[Long, Long]]:
        """Chunks of (factor of each vote, its rows (votes, batch)): one value per vote."""
        n, k = self.factors.shape
        at_once = max(1, 2**21 // batch)
        for begin in range(0, votes, at_once):
            m = min(at_once, votes - begin)
            factor = rng.integers(k, size=m)
            value = self.factors[rng.integers(n, size=m), factor]
            yield factor, self._rows(factor[:, None], value[:, None], rng.random((m, batch)))

    def pairs(
        self, votes: int, batch: int, rng: np.random.Generator
    ) -> Iterator[tuple[Long, Long, Long]]:
        """Chunks of (factor of each vote, rows, rows that share its value one by one)."""
        n, k = self.factors.shape
        at_once = max(1, 2**20 // batch)
        for begin in range(0, votes, at_once):
            m = min(at_once, votes - begin)
            factor = rng.integers(k, size=m)[:, None]
            first = rng.integers(n, size=(m, batch))
            value = self.factors[first, factor]
            yield factor[:, 0], first, self._rows(factor, value, rng.random((m, batch)))

    def _rows(self, factor: Long, value: Long, place: Double) -> Long:
        within = (place * self.size[factor, value]).astype(np.int64)
        return np.asarray(self.order[factor, self.start[factor, value] + within])


def groups(seen: Labelled, what: str) -> Groups:
    """The rows of each value, or an error that says why batches are not available."""
    factors = seen.factors
    order = np.argsort(factors, axis=0, kind="stable").T
    values = int(factors.max()) + 1
    size = np.stack([np.bincount(column, minlength=values) for column in factors.T])
    start = np.cumsum(size, axis=1) - size
    least = int(size[size > 0].min())
    complete = _is_complete(seen.codes, seen.n)
    if not complete and least < LEAST:
        factor = int(np.argmin(np.where(size > 0, size, seen.n).min(axis=1)))
        raise ShapeError(
            f"{what} needs batches that share one factor's value, but the grid is not complete and "
            f"a value of {seen.names[factor]} has {least} rows; wanted {LEAST}.",
            f"Encode about {_wanted(seen.n, least):,} rows, or the whole grid.",
        )
    return Groups(order, start, size, factors, complete, least)


def _wanted(n: int, least: int) -> int:
    """Rows at which the scarcest value would have enough, with a margin for chance."""
    return -(-int(1.3 * LEAST * n / least) // 1000) * 1000


def _is_complete(codes: Codes, n: int) -> bool:
    if codes.factors is None or n < codes.n or not codes.factor_sizes:
        return False
    total = int(np.prod([int(size) for size in codes.factor_sizes], dtype=object))
    if total > codes.n:
        return False
    if codes.index is not None:
        return len(np.unique(codes.index)) == total
    rows = np.ravel_multi_index(tuple(codes.factors.T.astype(np.int64)), codes.factor_sizes)
    return len(np.unique(rows)) == total
