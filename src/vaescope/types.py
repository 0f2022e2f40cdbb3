"""Names of array types that recur."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Floats", "Integers", "Long", "Matrix", "Single", "Vector"]

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]
Long = NDArray[np.int64]
Single = NDArray[np.float32]
#: Numbers of double precision, told apart for the reader alone: their shape is no part of a type.
Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
