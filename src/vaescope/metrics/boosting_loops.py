"""The loops of `boosting` in C: the same sums in the same order, ten times faster."""

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaescope.native import library
from vaescope.types import Array, Booleans, Double, Long, Single

__all__ = ["Coarse", "Loops", "compiled_loops"]

Bytes = NDArray[np.int8]

_WIDE, _ROWS = 16, 256  # of boosting.c


@dataclass(frozen=True, eq=False)
class Coarse:
    """The best quantile to cut at, of each feature and column (feature, column)."""

    total: Single  # (column,)
    n: Single  # (column,)
    gain: Single
    bin: NDArray[np.intp]
    left: Single
    n_left: Single


class _Pointer(ctypes.c_void_p):
    """Keeps the array as long as itself."""

    array: Array


def _address(array: Array) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    pointer = _Pointer(array.__array_interface__["data"][0])  # four times as fast as array.ctypes
    pointer.array = array
    return pointer


def _sizes(*numbers: int) -> list[ctypes.c_int64]:
    return [ctypes.c_int64(number) for number in numbers]


def _padded(columns: int) -> int:
    return -(-columns // _WIDE) * _WIDE


@dataclass(frozen=True, eq=False)
class Loops:
    """One data set's: `cell` (n, d) numbers the bin of each row and feature over all features."""

    compiled: ctypes.CDLL
    cell: NDArray[np.int32]
    bins: int
    near: Long  # (d, bins - 1, window)
    barred: Booleans

    @property
    def cells(self) -> int:
        return int(self.cell.shape[1]) * self.bins

    def histogram(self, weights: Single) -> Single:
        n, d = self.cell.shape
        sums = np.empty((d, self.bins, weights.shape[1]), dtype=np.float32)
        scratch = np.empty((self.cells + _ROWS) * _padded(weights.shape[1]), dtype=np.float32)
        self.compiled.histogram(
            *_sizes(n, d, weights.shape[1]), _address(self.cell),
            _address(np.ascontiguousarray(weights)), *_sizes(self.cells), _address(scratch),
            _address(sums),
        )  # fmt: skip
        return sums

    def children(
        self, by_row: Single, node: Bytes, sums: Single, counts: Single
    ) -> tuple[Single, Single]:
        n, d = self.cell.shape
        trees = by_row.shape[1]
        nodes = sums.shape[2] // trees
        child = np.ascontiguousarray(node.T)
        scratch = np.empty((self.cells + _ROWS) * _padded(2 * nodes * trees), dtype=np.float32)
        shape = (d, self.bins, 2 * nodes * trees)
        new, count = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.compiled.children(
            *_sizes(n, d, trees, nodes, self.cells), _address(self.cell), _address(by_row),
            _address(child), _address(sums), _address(np.ascontiguousarray(counts)),
            _address(scratch), _address(new), _address(count),
        )  # fmt: skip
        return new, count

    def coarse(self, sums: Single, counts: Single) -> Coarse:
        d, bins, columns = sums.shape
        total, n = np.empty(columns, np.float32), np.empty(columns, np.float32)
        gain, left, n_left = (np.empty((d, columns), np.float32) for _ in range(3))
        bin_, running = np.empty((d, columns), np.int64), np.empty(2 * columns, np.float32)
        numbers = np.empty(columns, np.int32)
        self.compiled.coarse(
            *_sizes(d, bins, columns), _address(sums), _address(np.ascontiguousarray(counts)),
            _address(running), _address(numbers), _address(total), _address(n), _address(gain),
            _address(bin_), _address(left), _address(n_left),
        )  # fmt: skip
        return Coarse(total, n, gain, bin_, left, n_left)

    def refine(
        self, at: Long, left: Single, n_left: Single, found: Coarse, residuals: Single, nodes: Bytes
    ) -> tuple[Long, Single]:
        """The best place of each window `at`, counted from its begin, and the gain there."""
        kept, columns = at.shape
        window = self.near.shape[2]
        best, gain = np.empty((kept, columns), np.int64), np.empty((kept, columns), np.float32)
        scratch = np.empty(3 * window, np.float32)
        trees, rows = residuals.shape
        self.compiled.refine(
            *_sizes(kept, columns, trees, rows, window // 2),
            _address(np.ascontiguousarray(at)), _address(self.near), _address(self.barred),
            _address(residuals), _address(nodes), _address(np.ascontiguousarray(left)),
            _address(np.ascontiguousarray(n_left)), _address(found.total), _address(found.n),
            _address(scratch), _address(best), _address(gain),
        )  # fmt: skip
        return best, gain

    def descend(self, values: Array, feature: Long, cut: Array, node: Bytes) -> None:
        """node = 2 node + (value > cut), in place; node (trees, n or more)."""
        call = self.compiled.descend_ranks if values.itemsize == 4 else self.compiled.descend_values
        trees, stride = node.shape
        call(
            *_sizes(values.shape[1], trees, stride, len(cut) // trees), _address(values),
            _address(np.ascontiguousarray(feature)), _address(cut), _address(node),
        )  # fmt: skip

    def leaves(
        self, leaf: Bytes, residuals: Single, probability: Single, size: int
    ) -> tuple[Double, Double]:
        """Sums of residuals and of p (1 - p) in each of `size` leaves of each tree, flat."""
        trees, n = probability.shape
        slope, curve = (np.empty(trees * size) for _ in range(2))
        self.compiled.leaves(
            *_sizes(n, trees, leaf.shape[1], size), _address(leaf), _address(residuals),
            _address(np.ascontiguousarray(probability)), _address(slope), _address(curve),
        )  # fmt: skip
        return slope, curve


def compiled_loops(
    cell: NDArray[np.int32], bins: int, near: Long, barred: Booleans
) -> Loops | None:
    """The loops of these data, or None where nothing can be compiled."""
    compiled = library("boosting")
    return None if compiled is None else Loops(compiled, cell, bins, near, barred)
