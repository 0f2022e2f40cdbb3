"""What a conditional model is conditioned on: a row for each example of the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.errors import ShapeError
from vaescope.types import Integers

__all__ = ["Condition"]


@dataclass(frozen=True, eq=False)
class Condition:
    """Labels, one-hot, or any other numbers."""

    values: NDArray[np.float32]  # (n, width)

    @classmethod
    def of(cls, given: Any, n: int) -> "Condition":
        """Of an array with a row for each of the n examples; labels become one-hot."""
        array = np.asarray(given)
        if array.ndim not in (1, 2) or len(array) != n or array.dtype.kind not in "biuf":
            raise ShapeError(
                f"condition is {array.dtype} of shape {array.shape}; the data have {n} rows.",
                "Give labels of shape (n,), or numbers of shape (n, width).",
            )
        if array.ndim == 1 and array.dtype.kind in "biu":
            array = np.eye(int(array.max()) + 1)[array.astype(np.int64)]
        return cls(array.reshape(n, -1).astype(np.float32))

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def __call__(self, index: Integers) -> NDArray[np.float32]:
        return self.values[index]
