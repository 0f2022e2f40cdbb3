"""Auxiliary variables u of identifiable VAEs, from factors. Khemakhem et al. 2020,
https://arxiv.org/abs/1907.04809.

Scaled by the number of classes a factor has in the whole dataset. The code of grzes2023 scaled by
the least and greatest class in the batch, so that u depended on an image's neighbours and was 0/0
where they agreed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.errors import UsageError
from vaescope.types import Integers, Single

__all__ = ["Auxiliary", "OneHot", "ScaledFactors", "one_hot", "scaled"]


class Auxiliary(Protocol):
    """u of any rows: float32, shape (rows, width)."""

    @property
    def width(self) -> int: ...

    def __call__(self, index: Integers) -> Single: ...


@dataclass(frozen=True, eq=False)
class ScaledFactors:
    """u_k = class_k / (classes of k - 1), in [0, 1]; 0 for a factor of one class."""

    factors: Factors
    columns: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.columns)

    def __call__(self, index: Integers) -> Single:
        steps = np.maximum(np.array(self.factors.sizes) - 1, 1)
        u = self.factors.classes(index) / steps
        return np.asarray(u[:, list(self.columns)], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class OneHot:
    """For each factor as many values as it has classes, with a one at the row's class."""

    factors: Factors
    columns: tuple[int, ...]

    @property
    def width(self) -> int:
        return sum(self.factors.sizes[column] for column in self.columns)

    def __call__(self, index: Integers) -> Single:
        classes = self.factors.classes(index)
        u = np.zeros((len(classes), self.width), dtype=np.float32)
        first = 0
        for column in self.columns:
            u[np.arange(len(classes)), first + classes[:, column]] = 1.0
            first += self.factors.sizes[column]
        return u


def scaled(dataset: Dataset, *, names: Sequence[str] | None = None) -> ScaledFactors:
    """Factors as ordinals between 0 and 1; all of them unless `names` says which."""
    factors = dataset.require_factors("An auxiliary variable")
    return ScaledFactors(factors, _columns(factors, names))


def one_hot(dataset: Dataset, *, names: Sequence[str] | None = None) -> OneHot:
    """Factors as indicators, one after the other, e.g. the segment of ica-segments; all of them
    unless `names` says which."""
    factors = dataset.require_factors("An auxiliary variable")
    return OneHot(factors, _columns(factors, names))


def _columns(factors: Factors, names: Sequence[str] | None) -> tuple[int, ...]:
    chosen = factors.names if names is None else names
    for name in chosen:
        if name not in factors.names:
            raise UsageError(
                f"There is no factor {name}.", f"The factors are {', '.join(factors.names)}."
            )
    return tuple(factors.names.index(name) for name in chosen)
