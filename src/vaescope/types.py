"""Names of array types that recur."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Floats", "Integers"]

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]
