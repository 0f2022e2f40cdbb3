"""scikit-learn's gradient boosting, cut for cut, in C: the engine of most published DCI scores.

Friedman 2001, algorithm 6, as GradientBoostingClassifier grows it: 100 rounds of trees of depth 3
on the residuals y - p. There every node sorts its rows anew; here rows are sorted once. Features
are drawn in the same order and sums are taken in the same order, so that cuts of equal gain fall
alike. Only rows of one value may be summed in another order than there: codes with many equal
values, where cuts whose gains differ by rounding alone could fall differently, are left to
scikit-learn.
"""

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaescope.metrics.boosting import Boosted
from vaescope.native import library
from vaescope.types import Array, Double, Floats, Integers, Long

__all__ = ["ExactTrees", "boost_exactly", "can_boost_exactly", "grow_exactly"]

#: Of a whole tree of depth 3, root first, then its left subtree; `NODES` of exact_trees.c.
_NODES = 15
_ROUNDS, _RATE = 100, 0.1
#: Share of rows of a column that may have the value of another row.
_TIED = 0.01
#: scikit-learn draws the seed of a tree below this.
_SEEDS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class ExactTrees:
    """The trees and what they say; those of a round lie side by side."""

    boosted: Boosted
    feature: NDArray[np.int32]  # (round, tree, node) -1 at leaves, -2 where there is no node
    threshold: Double


def can_boost_exactly(x: Floats) -> bool:
    """Whether there is a compiler and hardly any two rows share a value of a latent that varies."""
    ascending = np.sort(np.asarray(x, dtype=np.float32), axis=0)
    varies = ascending[0] < ascending[-1]
    tied = np.mean(ascending[1:, varies] == ascending[:-1, varies], axis=0)
    return bool(np.all(tied <= _TIED)) and library("exact_trees") is not None


def boost_exactly(x: Floats, y: Integers, x_test: Floats, *, seed: int) -> Boosted:
    """What scikit-learn's classifier of this `random_state` says. `y` has at least two classes."""
    return grow_exactly(x, y, x_test, seed=seed).boosted


def grow_exactly(
    x: Floats, y: Integers, x_test: Floats, *, seed: int, rounds: int = _ROUNDS
) -> ExactTrees:
    """The trees themselves, for comparison with others."""
    compiled = library("exact_trees")
    assert compiled is not None, "ask can_boost_exactly first"
    classes, label = np.unique(y.astype(np.int64), return_inverse=True)
    trees = len(classes) if len(classes) > 2 else 1  # two classes need one tree a round
    columns = np.ascontiguousarray(np.asarray(x, dtype=np.float32).T)
    test = np.ascontiguousarray(np.asarray(x_test, dtype=np.float32).T)
    (d, n), tests = columns.shape, test.shape[1]
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    stream = np.random.RandomState(seed)
    seeds = np.array([stream.randint(0, _SEEDS) for _ in range(rounds * trees)], dtype=np.uint32)
    start = _start(label, trees)
    raw, raw_test = np.tile(start, (n, 1)), np.tile(start, (tests, 1))
    importance, grown = np.zeros(d), ctypes.c_int64()
    feature = np.empty((rounds, trees, _NODES), dtype=np.int32)
    threshold = np.empty((rounds, trees, _NODES))
    failed = compiled.boosted_exactly(
        *(ctypes.c_int64(size) for size in (n, d, tests, trees, rounds)), ctypes.c_double(_RATE),
        *_addresses(columns, order, test, label.astype(np.int32), seeds, raw, raw_test, importance),
        ctypes.byref(grown), *_addresses(feature, threshold),
    )  # fmt: skip
    if failed:
        raise MemoryError(
            f"There is not enough memory for trees of {n} rows, {d} latents, {trees} classes."
        )
    if grown.value:
        importance /= grown.value
        importance /= importance.sum()
    boosted = Boosted(importance, classes[_highest(raw)], classes[_highest(raw_test)])
    return ExactTrees(boosted, feature, threshold)


def _start(label: Integers, trees: int) -> Double:
    """Scores of the shares of the classes."""
    from scipy.special import logit
    from scipy.stats import gmean

    edge = np.finfo(np.float64).eps
    share = np.clip(np.bincount(label) / len(label), edge, 1.0 - edge)
    start = np.log(share / gmean(share)) if trees > 1 else np.atleast_1d(logit(share[1]))
    return np.asarray(start, dtype=np.float64)


def _highest(raw: Double) -> Long:
    if raw.shape[1] == 1:
        return np.asarray(raw[:, 0] >= 0.0, dtype=np.int64)
    return np.asarray(raw.argmax(axis=1))


def _addresses(*arrays: Array) -> list[ctypes.c_void_p]:
    assert all(array.flags.c_contiguous for array in arrays)
    return [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]  # each keeps its array
