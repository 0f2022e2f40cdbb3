"""Auxiliary variables u of identifiable VAEs, from factors. Khemakhem et al. 2020,
https://arxiv.org/abs/1907.04809.

Scaled by the number of classes a factor has in the whole dataset. The code of paper 000 scaled by
the least and greatest class in the batch, so that u depended on an image's neighbours and was 0/0
where they agreed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.errors import UsageError
from vaescope.types import Integers

__all__ = ["Auxiliary", "OneHot", "Scaled", "one_hot", "scaled"]


class Auxiliary(Protocol):
    """u of any rows: float32, shape (rows, width)."""

    @property
    def width(self) -> int: ...

    def __call__(self, index: Integers) -> NDArray[np.float32]: ...


@dataclass(frozen=True, eq=False)
class Scaled:
    """u_k = class_k / (classes of k - 1), in [0, 1]; 0 for a factor of one class."""

    factors: Factors
    columns: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.columns)

    def __call__(self, index: Integers) -> NDArray[np.float32]:
        steps = np.maximum(np.array(self.factors.sizes) - 1, 1)
        u = self.factors.classes(index) / steps
        return np.asarray(u[:, list(self.columns)], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class OneHot:
    """A one at the row's class of one factor."""

    factors: Factors
    column: int

    @property
    def width(self) -> int:
        return self.factors.sizes[self.column]

    def __call__(self, index: Integers) -> NDArray[np.float32]:
        classes = self.factors.classes(index)[:, self.column]
        ones: NDArray[np.float32] = np.eye(self.width, dtype=np.float32)
        return ones[classes]


def scaled(dataset: Dataset, *, names: Sequence[str] | None = None) -> Scaled:
    """Factors as ordinals between 0 and 1; all of them unless `names` says which."""
    factors = dataset.require_factors("An auxiliary variable")
    chosen = factors.names if names is None else names
    return Scaled(factors, tuple(_column(factors, name) for name in chosen))


def one_hot(dataset: Dataset, name: str) -> OneHot:
    """One factor as indicators, e.g. the segment of ica-segments."""
    factors = dataset.require_factors("An auxiliary variable")
    return OneHot(factors, _column(factors, name))


def _column(factors: Factors, name: str) -> int:
    if name not in factors.names:
        raise UsageError(
            f"There is no factor {name}.", f"The factors are {', '.join(factors.names)}."
        )
    return factors.names.index(name)
