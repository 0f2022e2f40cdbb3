"""Pairs of rows that differ, or agree, in a few factors.

Laplace transitions: Klindt et al. 2021 (SlowVAE), https://arxiv.org/abs/2007.10930, as released in
scripts/dataset.py. Shared factors: Shu et al. 2020, Weakly Supervised Disentanglement with
Guarantees, https://arxiv.org/abs/1910.09772, section 3 (share labelling).
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.errors import UsageError
from vaescope.types import Double, Integers, Long

__all__ = [
    "PAIRS",
    "LaplacePairs",
    "Pairs",
    "Partners",
    "SharedPairs",
    "laplace_pairs",
    "shared_pairs",
]

#: Rounds of proposals after which what is left is drawn from a list of all rows.
ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Partners:
    """The second rows of pairs."""

    index: Long
    shared: Long | None = None  # the factor that each pair shares, where one is chosen


class Pairs(Protocol):
    """Finds the partner of each row; the rows are the first of the pairs."""

    def __call__(self, index: Integers, generator: np.random.Generator) -> Partners: ...


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that show some factor classes, also where they are only a part of a grid."""

    factors: Factors
    cells: Long  # that have rows, ascending
    starts: Long  # where the rows of a cell begin in `order`
    counts: Long
    order: Long

    def find(self, classes: Long, generator: np.random.Generator) -> Long:
        """A row for each vector of classes, any of several with equal chances; -1 for none."""
        cell = _cell(classes, self.factors.sizes)
        place = np.minimum(np.searchsorted(self.cells, cell), len(self.cells) - 1)
        offset = (generator.uniform(size=len(cell)) * self.counts[place]).astype(np.int64)
        rows = self.order[self.starts[place] + offset]
        return np.where(self.cells[place] == cell, rows, -1)


def _cell(classes: Long, sizes: Sequence[int]) -> Long:
    """The number of a cell of the full grid, in C-order."""
    if math.prod(sizes) >= 2**63:
        raise UsageError(
            f"The factors have {math.prod(sizes):.1e} combinations, too many for pairs.",
            "Leave factors out, e.g. with data.grid.",
        )
    return np.asarray(np.ravel_multi_index(tuple(classes.T), tuple(sizes)), dtype=np.int64)


def _rows(factors: Factors) -> _Rows:
    cell = _cell(factors.classes(np.arange(factors.n)), factors.sizes)
    order = np.argsort(cell, kind="stable")
    cells, starts, counts = np.unique(cell[order], return_index=True, return_counts=True)
    return _Rows(factors, cells, starts, counts, order)


@dataclass(frozen=True, eq=False)
class LaplacePairs:
    """Every free factor moves a little; at least one moves. Where only a part of the grid is there,
    the same given that the partner is."""

    factors: Factors
    free: tuple[int, ...]
    log_steps: tuple[Double, ...]  # of each free factor: log P(column | old class)
    log_moves: tuple[Double, ...]  # the same without staying
    rows: _Rows | None = None  # of a part of a grid

    def __call__(self, index: Integers, generator: np.random.Generator) -> Partners:
        first = self.factors.classes(index)
        if self.rows is None:
            return Partners(self.factors.index(self._proposed(first, generator)))
        found = np.full(len(first), -1, dtype=np.int64)
        for _ in range(ROUNDS):
            left = np.flatnonzero(found < 0)
            if not left.size:
                break
            found[left] = self.rows.find(self._proposed(first[left], generator), generator)
        # Few proposals are there: the same chances from a list of all rows.
        for place in np.flatnonzero(found < 0):
            found[place] = self._listed(first[place], generator)
        return Partners(found)

    def _proposed(self, first: Long, generator: np.random.Generator) -> Long:
        second = first.copy()
        for k, table in zip(self.free, self.log_steps, strict=True):
            second[:, k] = _drawn(table, first[:, k], generator)
        stayed = (first == second).all(axis=1)
        forced = np.where(stayed, generator.integers(len(self.free), size=len(first)), -1)
        for place, (k, table) in enumerate(zip(self.free, self.log_moves, strict=True)):
            here = forced == place
            second[here, k] = _drawn(table, first[here, k], generator)
        return second

    def _listed(self, first: Long, generator: np.random.Generator) -> int:
        """A row by its chance among all that differ from `first` in free factors only."""
        assert self.rows is not None
        classes = self.factors.classes(self.rows.order[self.rows.starts])  # of the cells
        log_chances = np.zeros(len(classes))
        stays, alone = 0.0, np.full(len(classes), -np.inf)
        changed = classes != first
        single = changed.sum(axis=1) == 1
        for k, step, move in zip(self.free, self.log_steps, self.log_moves, strict=True):
            old = first[k]
            log_chances += step[old, classes[:, k]]
            stays += step[old, old]
            here = single & changed[:, k]
            alone[here] = move[old, classes[here, k]] - np.log(len(self.free))
        # A cell is reached by its steps, or, one factor away, by the forced move after a stay.
        log_chances = np.logaddexp(log_chances, stays + alone)
        fixed = [k for k in range(len(first)) if k not in self.free]
        log_chances[changed[:, fixed].any(axis=1) | ~changed.any(axis=1)] = -np.inf
        chances = np.exp(log_chances - log_chances.max())
        cell = generator.choice(len(classes), p=chances / chances.sum())
        start, count = self.rows.starts[cell], self.rows.counts[cell]
        return int(self.rows.order[start + generator.integers(count)])


def laplace_pairs(
    dataset: Dataset, *, rate: float = 1.0, categorical: Collection[str] | None = None
) -> LaplacePairs:
    """SlowVAE's transitions: p(new) ~ exp(-|new - old| rate / log(classes)) for each factor.

    Classes stay in range and do not wrap around. Categorical factors are frozen: by default those
    whose values are words, such as shape. Where nothing moved, one free factor, chosen at random,
    is drawn again with its old class excluded. Of a part of a grid, such as a training split, only
    rows of that part are partners, with the chances that they have given that.
    """
    factors = dataset.require_factors("laplace_pairs")
    words = [name for name, v in zip(factors.names, factors.values, strict=True) if _is_text(v)]
    frozen = set(words if categorical is None else categorical)
    unknown = frozen - set(factors.names)
    free = tuple(
        k
        for k, (name, size) in enumerate(zip(factors.names, factors.sizes, strict=True))
        if name not in frozen and size > 1
    )
    if unknown or not free or rate <= 0:
        raise UsageError(
            f"laplace_pairs needs a positive rate and a factor that may move; got rate {rate} and "
            f"categorical {sorted(frozen)}.",
            f"The factors are {', '.join(factors.names)}.",
        )
    rows = None if factors.complete else _rows(factors)
    if rows is not None:
        _require_partners(dataset, rows, free)
    distances = [_distance(factors.sizes[k]) for k in free]
    return LaplacePairs(
        factors,
        free,
        tuple(_log_chances(gap, rate) for gap in distances),
        tuple(_log_chances(np.where(gap > 0, gap, np.inf), rate) for gap in distances),
        rows,
    )


def _require_partners(dataset: Dataset, rows: _Rows, free: tuple[int, ...]) -> None:
    """Refuses rows that nothing can be paired with: alone with their frozen factors."""
    classes = rows.factors.classes(rows.order[rows.starts])
    frozen = [k for k in range(classes.shape[1]) if k not in free]
    kinds, counts = np.unique(classes[:, frozen], axis=0, return_counts=True)
    if counts.min() < 2:
        names = [rows.factors.names[k] for k in frozen]
        alone = dict(zip(names, kinds[counts.argmin()].tolist(), strict=True))
        raise UsageError(
            f"In {dataset.name} the rows with {alone or 'these factors'} are all alike, so none "
            "of their factors can move.",
            "Train on more rows, or let these factors move: pairs.categorical=[].",
        )


@dataclass(frozen=True, eq=False)
class SharedPairs:
    """One factor, drawn for each pair, is the same in both rows; the rest of the second row is
    drawn as it comes in the data. The second row may be the first."""

    factors: Factors
    chosen: tuple[int, ...]
    members: tuple[_Rows, ...]  # the rows by the class of each chosen factor

    def __call__(self, index: Integers, generator: np.random.Generator) -> Partners:
        first = self.factors.classes(index)
        shared = generator.integers(len(self.chosen), size=len(first))
        found = np.empty(len(first), dtype=np.int64)
        for place, (k, rows) in enumerate(zip(self.chosen, self.members, strict=True)):
            here = shared == place
            found[here] = rows.find(first[here, k : k + 1], generator)
        return Partners(found, np.asarray(self.chosen, dtype=np.int64)[shared])


def shared_pairs(dataset: Dataset, *, names: Sequence[str] = ()) -> SharedPairs:
    """Pairs that share one factor, with its number beside them: share labelling on `names`, by
    default on every factor with more than one class ("full sharing")."""
    factors = dataset.require_factors("shared_pairs")
    unknown = set(names) - set(factors.names)
    chosen = tuple(
        k
        for k, (name, size) in enumerate(zip(factors.names, factors.sizes, strict=True))
        if (name in names if names else size > 1)
    )
    if unknown or not chosen:
        raise UsageError(
            f"shared_pairs needs factors of {dataset.name}; got {sorted(names)}.",
            f"The factors are {', '.join(factors.names)}.",
        )
    every = factors.classes(np.arange(factors.n))
    members = tuple(
        _rows(Factors((factors.names[k],), (factors.values[k],), every[:, k : k + 1]))
        for k in chosen
    )
    return SharedPairs(factors, chosen, members)


#: (data, settings) -> who is whose partner.
PAIRS: Mapping[str, Callable[[Dataset, Any], Pairs]] = {
    "laplace": lambda data, spec: laplace_pairs(data, rate=spec.rate, categorical=spec.categorical),
    "shared": lambda data, spec: shared_pairs(data, names=spec.factors),
}


def _is_text(values: NDArray[np.generic]) -> bool:
    return values.dtype.kind in "US"


def _distance(size: int) -> Double:
    classes = np.arange(float(size))
    return np.abs(classes[:, None] - classes)


def _log_chances(distance: Double, rate: float) -> Double:
    """log of chances that fall off exponentially with the distance, each row's adding up to 1."""
    logs = -distance * rate / np.log(len(distance))
    logs -= logs.max(axis=1, keepdims=True)  # else a high rate would leave none
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def _drawn(log_chances: Double, old: Integers, generator: np.random.Generator) -> Long:
    """New classes by inverting the cumulative distribution."""
    sums = np.cumsum(np.exp(log_chances), axis=1)
    sums /= sums[:, -1:]  # the last is exactly one, so that no draw from [0, 1) lies above it
    below = sums[old] <= generator.uniform(size=(len(old), 1))
    return np.asarray(np.count_nonzero(below, axis=1), dtype=np.int64)
