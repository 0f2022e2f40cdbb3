"""Continuous codes as classes."""

import numpy as np

from vaescope.errors import RangeError
from vaescope.types import Booleans, Double, Floats, Long

__all__ = ["equal_width", "has_room", "quantile"]

#: Rows at a time, so that they stay in a core's second cache.
_ROWS = 16_384


def equal_width(values: Floats, bins: int) -> Long:
    """Classes 0 to bins - 1 over each column's own range; one class if constant to rounding.

    The same as `np.digitize(column, np.histogram(column, bins)[1][:-1]) - 1`, which is how
    disentanglement_lib bins, but for the number of a constant column's class. An outlier
    widens all bins: with heavy tails use `quantile`.

    >>> equal_width(np.array([[0.0], [0.1], [1.0]]), 2).T
    array([[0, 0, 1]])

    Args:
        values: (n, k) numbers.
        bins: number of equal-width bins of each latent.

    Returns:
        (n, k) bins.

    Raises:
        RangeError: a value is out of range.
    """
    _require(bins)
    classes = np.empty((values.shape[1], len(values)), dtype=np.int64)
    for row, column in zip(classes, values.T, strict=True):
        row[:] = _affine(np.ascontiguousarray(column, dtype=np.float64), bins)
    return classes.T  # (n, d) whose columns are contiguous: counting reads them one by one


def _affine(column: Double, bins: int) -> Long:
    """The bin by arithmetic, moved by one where rounding put a value across an edge."""
    least, most = column.min(), column.max()
    if not has_room(least, most, bins):
        return np.zeros(len(column), dtype=np.int64)
    edges = np.linspace(least, most, bins + 1)  # np.histogram's
    upper = np.append(edges[1:-1], np.inf)  # the last bin holds its upper edge
    scale = bins / (edges[-1] - edges[0])
    classes = np.empty(len(column), dtype=np.int64)
    for start in range(0, len(column), _ROWS):
        part = column[start : start + _ROWS]
        place = np.clip(((part - edges[0]) * scale).astype(np.int64), 0, bins - 1)
        place -= part < edges[place]
        place += part >= upper[place]
        classes[start : start + _ROWS] = place
    return classes


def has_room(least: Floats, most: Floats, bins: int) -> Booleans:
    """Whether float64 can represent the edges of so many bins in this range; otherwise the column
    counts as constant.

    Args:
        least: (k,) smallest values.
        most: (k,) largest values.
        bins: number of equal-width bins of each latent.

    Returns:
        (k,) booleans.

    Example:
        >>> import numpy as np
        >>> from vaescope.information.binning import has_room
        >>> has_room(np.array([0.0]), np.array([1.0]), 20).tolist()
        [True]
    """
    float64 = np.finfo(np.float64)
    rounding = np.maximum(float64.eps * np.maximum(-least, most), float64.tiny)
    return np.asarray(most - least > 4 * bins * rounding)


def quantile(values: Floats, bins: int) -> Long:
    """Classes 0 to bins - 1 with equally many rows of each column, apart from ties.

    Equal values share a class, so a column with fewer than `bins` different values has fewer.

    >>> quantile(np.array([[0.0], [0.1], [5.0], [90.0]]), 2).T
    array([[0, 0, 1, 1]])

    Args:
        values: (n, k) numbers.
        bins: number of equal-width bins of each latent.

    Returns:
        (n, k) bins.

    Raises:
        RangeError: a value is out of range.
    """
    _require(bins)
    classes = np.empty((values.shape[1], len(values)), dtype=np.int64)
    shares = np.arange(1, bins) / bins
    for row, column in zip(classes, values.astype(np.float64).T, strict=True):
        edges = np.unique(np.quantile(column, shares))
        row[:] = np.searchsorted(edges, column, side="left")
    return classes.T


def _require(bins: int) -> None:
    if bins < 1:
        raise RangeError(f"Codes cannot be put in {bins} bins.", "Use at least one; 20 is usual.")
