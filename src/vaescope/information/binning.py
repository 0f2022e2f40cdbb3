"""Continuous codes as classes."""

import numpy as np
from numpy.typing import NDArray

from vaescope.types import Floats

__all__ = ["equal_width"]


def equal_width(values: Floats, bins: int) -> NDArray[np.int64]:
    """Classes 0 to bins - 1 over each column's own range; a constant column has one class.

    The same as `np.digitize(column, np.histogram(column, bins)[1][:-1]) - 1`, which is how
    disentanglement_lib bins.
    """
    classes = np.empty(values.shape, dtype=np.int64)
    for j, column in enumerate(values.astype(np.float64).T):
        edges = np.histogram_bin_edges(column, bins)
        classes[:, j] = np.searchsorted(edges[:-1], column, side="right") - 1
    return classes
