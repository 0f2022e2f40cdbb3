"""Where boosted trees may cut: the training rows sorted by each feature, and a few quantiles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.metrics.boosting_loops import Loops, compiled_loops
from vaescope.types import Booleans, Double, Long, Single

__all__ = ["CutGrid", "cut_grid"]

Places = NDArray[np.intp]  # what NumPy indexes by without a copy


@dataclass(frozen=True, eq=False)
class CutGrid:
    """The training rows sorted by each feature, and where they may be cut."""

    ascending: Double  # (d, n) the values
    rank: NDArray[np.int32]  # (d, n) the place of each row
    cuts: Long  # (d, bins + 1) the places where bins begin
    indicator: Any  # (d * bins, n) sparse: which bin each row is in; None where loops are in C
    reach: int  # places to either side of a cut where it is refined
    near: Places  # (d, bins - 1, 2 reach) rows by value around each cut; n where there are none
    barred: Booleans  # the same: no cut after this row, as values are equal or end
    loops: Loops | None  # in C, where there is a compiler

    @property
    def d(self) -> int:
        return len(self.ascending)

    @property
    def n(self) -> int:
        return int(self.ascending.shape[1])

    @property
    def bins(self) -> int:
        return int(self.cuts.shape[1]) - 1

    def histogram(self, weights: Single) -> Single:
        """Sums of the weights (n, columns) in each bin: (d, bins, columns)."""
        if self.loops is not None:
            return self.loops.histogram(weights)
        return np.asarray((self.indicator @ weights).reshape(self.d, self.bins, -1))


def cut_grid(x: Double, bins: int) -> CutGrid:
    """Of rows (n, d) and so many quantiles."""
    n, d = x.shape
    order = np.ascontiguousarray(np.argsort(x, axis=0, kind="stable").T)
    ascending = np.take_along_axis(np.ascontiguousarray(x.T), order, axis=1)
    rank = np.empty((d, n), dtype=np.int32)
    barred = np.ones((d, n + 1), dtype=bool)
    barred[:, 1:n] = ascending[:, 1:] == ascending[:, :-1]
    cuts = np.full((d, bins + 1), n, dtype=np.int64)
    cuts[:, 0] = 0
    for j in range(d):
        rank[j, order[j]] = np.arange(n)
        free = np.flatnonzero(~barred[j])
        if len(free) >= bins:
            near = np.searchsorted(free, np.arange(1, bins) * (n / bins))
            free = free[np.unique(np.minimum(near, len(free) - 1))]
        cuts[j, 1 : 1 + len(free)] = free
    of_bin = [np.searchsorted(cuts[j, 1:-1], rank[j], side="right") for j in range(d)]
    cells = (np.stack(of_bin, axis=1) + np.arange(d) * bins).astype(np.int32)
    reach = -(-n // bins)
    place = cuts[:, 1:-1, None] + np.arange(-reach, reach)
    inside = (place >= 0) & (place < n)
    clipped = np.clip(place, 0, n - 1)
    feature = np.arange(d)[:, None, None]
    near = np.where(inside, order[feature, clipped], n)
    barred = ~inside | barred[feature, clipped + 1]
    loops = compiled_loops(cells, bins, near, barred)
    indicator = None if loops is not None else _indicator(cells, d * bins)
    return CutGrid(ascending, rank, cuts, indicator, reach, near, barred, loops)


def _indicator(cells: NDArray[np.int32], count: int) -> Any:
    from scipy.sparse import csr_array

    n, d = cells.shape
    ones = np.ones(n * d, dtype=np.float32)
    return csr_array((ones, (cells.ravel(), np.repeat(np.arange(n), d))), shape=(count, n))
