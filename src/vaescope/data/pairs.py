"""Pairs of images that differ in a few factors. Laplace transitions: Klindt et al. 2021 (SlowVAE),
https://arxiv.org/abs/2007.10930, as released in scripts/dataset.py."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.errors import UsageError
from vaescope.types import Integers

__all__ = ["LaplacePairs", "Pairs", "laplace_pairs"]


class Pairs(Protocol):
    """Finds the partner of each row; the rows are the first images of the pairs."""

    def __call__(self, index: Integers, generator: np.random.Generator) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class LaplacePairs:
    """Every free factor moves a little; at least one moves."""

    factors: Factors
    free: tuple[int, ...]
    steps: tuple[NDArray[np.float64], ...]  # of each free factor: P(new class <= column | row)
    moves: tuple[NDArray[np.float64], ...]  # the same without staying

    def __call__(self, index: Integers, generator: np.random.Generator) -> NDArray[np.int64]:
        first = self.factors.classes(index)
        second = first.copy()
        for k, table in zip(self.free, self.steps, strict=True):
            second[:, k] = _drawn(table, first[:, k], generator)
        stayed = (first == second).all(axis=1)
        forced = np.where(stayed, generator.integers(len(self.free), size=len(first)), -1)
        for place, (k, table) in enumerate(zip(self.free, self.moves, strict=True)):
            here = forced == place
            second[here, k] = _drawn(table, first[here, k], generator)
        return self.factors.index(second)


def laplace_pairs(
    dataset: Dataset, *, rate: float = 1.0, categorical: Collection[str] | None = None
) -> LaplacePairs:
    """SlowVAE's transitions on a full grid: p(new) ~ exp(-|new - old| rate / log(classes)).

    Classes stay in range and do not wrap around. Categorical factors are frozen: by default those
    whose values are words, such as shape. Where nothing moved, one free factor, chosen at random,
    is drawn again with its old class excluded.
    """
    factors = dataset.require_factors("laplace_pairs")
    if not factors.complete:
        raise UsageError(
            f"laplace_pairs needs a full grid; these rows of {dataset.name} are not one.",
            "Make pairs on the whole dataset or on a sub-grid (data.grid).",
        )
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
    weights = [_laplace(factors.sizes[k], rate) for k in free]
    return LaplacePairs(
        factors,
        free,
        tuple(_cumulative(weight) for weight in weights),
        tuple(_cumulative(weight * (1.0 - np.eye(len(weight)))) for weight in weights),
    )


def _is_text(values: NDArray[np.generic]) -> bool:
    return values.dtype.kind in "US"


def _laplace(size: int, rate: float) -> NDArray[np.float64]:
    classes = np.arange(size)
    distance = np.abs(classes[:, None] - classes)
    return np.asarray(np.exp(-distance * rate / np.log(size)))


def _cumulative(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.cumsum(weights, axis=1)
    # The last is exactly one, so that no draw from [0, 1) lies above it.
    return np.asarray(sums / sums[:, -1:])


def _drawn(
    table: NDArray[np.float64], old: Integers, generator: np.random.Generator
) -> NDArray[np.int64]:
    """New classes by inverting the cumulative distribution."""
    below = table[old] <= generator.uniform(size=(len(old), 1))
    return np.asarray(np.count_nonzero(below, axis=1), dtype=np.int64)
