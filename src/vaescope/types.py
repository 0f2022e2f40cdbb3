"""Names of array types that recur."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Booleans",
    "Double",
    "Floats",
    "Integers",
    "Long",
    "Matrix",
    "Single",
    "Vector",
]

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]
Long = NDArray[np.int64]
Single = NDArray[np.float32]
Double = NDArray[np.float64]
#: The same, told apart for the reader alone: the shape is no part of the type.
Matrix = Double
Vector = Double
