"""Gradient-boosted trees as scikit-learn grows them, for all classes at once.

Friedman 2001, Greedy function approximation, algorithm 6. GradientBoostingClassifier of
scikit-learn splits by the squared error of the residuals (first order) and sets leaves by a Newton
step; LightGBM and XGBoost also split by Newton's gain, which is why their importances differ. Here
the splits are scikit-learn's: first among a few quantiles, where the histograms of all classes are
one product with a sparse matrix, then at any value near the best of these.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.metrics.boosting_loops import Coarse, Loops, compiled_loops
from vaescope.types import Array, Floats, Integers

__all__ = ["Boosted", "boost"]

Single = NDArray[np.float32]
Places = NDArray[np.intp]  # what NumPy indexes by without a copy
Bytes = NDArray[np.int8]  # node numbers: small ones pass through the cache eight times faster
Long = NDArray[np.int64]

#: Features whose cuts are refined in each node: those that are best at the quantiles.
_REFINED = 3


@dataclass(frozen=True, eq=False)
class Boosted:
    """What a boosted classifier has learnt."""

    importance: NDArray[np.float64]  # (feature,) share of the squared error that its splits removed
    train: NDArray[np.int64]  # predicted classes
    test: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Grid:
    """The training rows sorted by each feature, and where they may be cut."""

    ascending: NDArray[np.float64]  # (d, n) the values
    rank: NDArray[np.int32]  # (d, n) the place of each row
    cuts: Long  # (d, bins + 1) the places where bins begin
    indicator: Any  # (d * bins, n) sparse: which bin each row is in; None where loops are in C
    reach: int  # places to either side of a cut where it is refined
    near: Places  # (d, bins - 1, 2 reach) rows by value around each cut; n where there are none
    barred: NDArray[np.bool_]  # the same: no cut after this row, as values are equal or end
    loops: Loops | None  # the same in C, where there is a compiler

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


@dataclass(frozen=True, eq=False)
class _Splits:
    """The split of each node of each tree, flat: node * trees + tree."""

    gain: Single
    feature: Places
    place: NDArray[np.int32]  # rows up to this place go left; all of them if there is no split
    value: NDArray[np.float64]


def boost(
    x: Floats,
    y: Integers,
    x_test: Floats,
    *,
    rng: np.random.Generator,
    rounds: int = 100,
    rate: float = 0.1,
    depth: int = 3,
    bins: int | None = None,
) -> Boosted:
    """Importances and predictions of a boosted classifier of `y`, which has at least two classes.

    Features of equal gain are chosen between at random, as scikit-learn does.
    """
    assert depth <= 7, "nodes of a level are numbered by bytes"
    classes, labels = np.unique(y.astype(np.int64), return_inverse=True)
    trees = len(classes) if len(classes) > 2 else 1  # two classes need one tree a round
    if bins is None:  # more quantiles make the windows between them, n / bins places, affordable
        bins = 32 if len(x) < 4_000 else 64
    grid = _grid(np.asarray(x, dtype=np.float64), bins)
    n, d = grid.n, grid.d
    seen = np.ascontiguousarray(np.asarray(x_test, dtype=np.float64).T)
    sizes = grid.histogram(np.ones((n, 1), dtype=np.float32))
    target = np.zeros((trees, n), dtype=np.float32)
    if trees > 1:
        target[labels, np.arange(n)] = 1.0
    else:
        target[0] = labels
    start = _start(labels, trees)[:, None]
    # A tree's rows lie side by side: what it looks up stays in the cache.
    score, test_score = np.tile(start, n), np.tile(start, len(x_test))
    shrink = np.float32(rate * (trees - 1) / trees if trees > 1 else rate)
    removed = np.zeros(d)
    # One row more, in no node, for places beyond the ends.
    residuals, nodes = np.zeros((trees, n + 1), np.float32), np.full((trees, n + 1), -1, np.int8)
    residual, node = residuals[:, :n], nodes[:, :n]
    for _ in range(rounds):
        probability = _probability(score)
        np.subtract(target, probability, out=residual)
        node[:] = 0
        by_row = np.ascontiguousarray(residual.T)
        sums = grid.histogram(by_row)
        counts = np.broadcast_to(sizes, sums.shape)
        leaf, test_leaf = _grown(
            grid, by_row, residuals, nodes, seen, sums, counts, rng, removed, depth
        )
        leaves = shrink * _leaves(grid, nodes, residuals, probability, 2**depth)
        offset = (np.arange(trees) * 2**depth)[:, None]
        score += leaves.take(leaf + offset)
        test_score += leaves.take(test_leaf + offset)
    total = removed.sum()
    return Boosted(
        removed / total if total > 0 else removed,
        classes[_highest(score)],
        classes[_highest(test_score)],
    )


def _grown(
    grid: _Grid,
    by_row: Single,
    residuals: Single,
    nodes: Bytes,
    seen: NDArray[np.float64],
    sums: Single,
    counts: Single,
    rng: np.random.Generator,
    removed: NDArray[np.float64],
    depth: int,
) -> tuple[Bytes, Bytes]:
    """The leaf of each row (tree, row), of those learnt from and of those `seen`; what each feature
    removes is added to `removed`."""
    node = nodes[:, : grid.n]
    test = np.zeros((len(nodes), seen.shape[1]), dtype=np.int8)
    sides: list[NDArray[np.bool_]] = []
    test_sides: list[NDArray[np.bool_]] = []
    for level in range(depth):
        splits = _best(grid, sums, counts, residuals, nodes, rng)
        removed += np.bincount(splits.feature, splits.gain, minlength=grid.d)
        if grid.loops is not None:
            grid.loops.descend(grid.rank, splits.feature, splits.place, nodes)
            grid.loops.descend(seen, splits.feature, splits.value, test)
        else:
            sides.append(_beyond(grid.rank, sides, splits.feature, splits.place))
            test_sides.append(_beyond(seen, test_sides, splits.feature, splits.value))
            for numbers, side in ((node, sides[-1]), (test, test_sides[-1])):
                np.add(2 * numbers, side, out=numbers)
        if level < depth - 1:
            sums, counts = _children(grid, by_row, node, sums, counts)
    return node, test


def _beyond(
    values: Array, sides: list[NDArray[np.bool_]], feature: Places, cut: Array
) -> NDArray[np.bool_]:
    """(tree, row) Where the value (feature, row) that the split of each row's node looks at exceeds
    its cut; `sides` are the answers of the levels above."""
    nodes = 2 ** len(sides)
    trees = len(feature) // nodes
    answers = np.empty((trees, values.shape[1]), dtype=bool)
    for tree in range(trees):
        # The answers of all nodes for all rows, then by each level above those of the side it took:
        # whole columns are compared faster than single values are looked up.
        own = [values[feature[k]] > cut[k] for k in range(tree, len(feature), trees)]
        for side in reversed(sides):
            right = side[tree]
            own = [a ^ ((a ^ b) & right) for a, b in zip(own[::2], own[1::2], strict=True)]
        answers[tree] = own[0]
    return answers


def _grid(x: NDArray[np.float64], bins: int) -> _Grid:
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
    return _Grid(ascending, rank, cuts, indicator, reach, near, barred, loops)


def _indicator(cells: NDArray[np.int32], count: int) -> Any:
    from scipy.sparse import csr_array

    n, d = cells.shape
    ones = np.ones(n * d, dtype=np.float32)
    return csr_array((ones, (cells.ravel(), np.repeat(np.arange(n), d))), shape=(count, n))


def _start(labels: Long, trees: int) -> Single:
    share = np.bincount(labels) / len(labels)
    start = np.log(share) if trees > 1 else np.log(share[1:] / share[:1])
    return np.asarray(start, dtype=np.float32)


def _probability(score: Single) -> Single:
    if len(score) == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-score)))
    power = score - score.max(axis=0)
    np.exp(power, out=power)
    power /= power.sum(axis=0)
    return np.asarray(power)


def _highest(score: Single) -> Long:
    if len(score) == 1:
        return np.asarray(score[0] > 0, dtype=np.int64)
    return np.asarray(score.argmax(axis=0))


def _gain(left: Single, n_left: Single, total: Single, n: Single) -> Single:
    """S_l^2 / n_l + S_r^2 / n_r: the squared error removed up to a constant; -1 if empty."""
    right, n_right = total - left, n - n_left
    gain = np.square(left) / np.maximum(n_left, 0.5) + np.square(right) / np.maximum(n_right, 0.5)
    gain[(n_left < 0.5) | (n_right < 0.5)] = -1.0
    return np.asarray(gain)


def _coarse(sums: Single, counts: Single) -> Coarse:
    left, n_left = sums.cumsum(axis=1), counts.cumsum(axis=1)
    total, n = left[0, -1].copy(), n_left[0, -1].copy()
    gain = _gain(left[:, :-1], n_left[:, :-1], total, n)
    best = gain.argmax(axis=1)[:, None]  # (feature, 1, column)

    def at_best(values: Single) -> Single:
        return np.asarray(np.take_along_axis(values, best, axis=1)[:, 0])

    return Coarse(total, n, at_best(gain), best[:, 0], at_best(left), at_best(n_left))


def _best(
    grid: _Grid,
    sums: Single,
    counts: Single,
    residuals: Single,
    nodes: Bytes,
    rng: np.random.Generator,
) -> _Splits:
    """The split of each column that removes most squared error."""
    found = _coarse(sums, counts) if grid.loops is None else grid.loops.coarse(sums, counts)
    total, n = found.total, found.n
    column = np.arange(sums.shape[2])
    kept = min(_REFINED, grid.d)
    feature = np.argpartition(-found.gain, kept - 1, axis=0)[:kept]  # (kept, column)
    place, gain = _refined(grid, feature, column, found, residuals, nodes)
    gain -= total * total / np.maximum(n, 1.0)
    # Rounding would give ties to one feature always; this is wider than rounding in float32.
    chance = 1.0 + 1e-5 * rng.random(gain.shape, dtype=np.float32)
    winner = (gain * chance).argmax(axis=0)
    best, own = gain[winner, column], feature[winner, column]
    cut = np.clip(place[winner, column], 0, grid.n - 1)
    splits = best > 1e-7
    middle = grid.ascending[own, cut] + grid.ascending[own, np.minimum(cut + 1, grid.n - 1)]
    return _Splits(
        np.where(splits, best, np.float32(0.0)),
        own,
        np.where(splits, cut, grid.n).astype(np.int32),
        np.where(splits, 0.5 * middle, np.inf),
    )


def _refined(
    grid: _Grid,
    feature: Places,
    column: Places,
    found: Coarse,
    residuals: Single,
    nodes: Bytes,
) -> tuple[Long, Single]:
    """The best place to cut near each quantile, and S_l^2 / n_l + S_r^2 / n_r there."""
    chosen = found.bin[feature, column]  # (kept, column)
    left, n_left = found.left[feature, column], found.n_left[feature, column]
    begin = grid.cuts[feature, chosen + 1] - grid.reach
    at = feature * (grid.bins - 1) + chosen
    if grid.loops is not None:
        best, gains = grid.loops.refine(at, left, n_left, found, residuals, nodes)
        return begin + best, gains
    trees, rows = residuals.shape
    index = grid.near.reshape(-1, 2 * grid.reach).take(at, axis=0)  # (kept, column, window)
    index += (column % trees * rows)[:, None]
    member = nodes.take(index) == (column // trees)[:, None].astype(np.int8)
    own = residuals.take(index)
    own *= member
    own.cumsum(axis=2, out=own)
    count = member.cumsum(axis=2, dtype=np.float32)
    # The sums left of the quantile are known; the window adds to them or takes away.
    for window, before in ((own, left), (count, n_left)):
        middle = window[..., grid.reach - 1, None].copy()
        np.add(window, before[..., None], out=window)
        np.subtract(window, middle, out=window)
    gain = _gain(own, count, found.total[:, None], found.n[:, None])
    np.putmask(gain, grid.barred.reshape(-1, 2 * grid.reach).take(at, axis=0), -1.0)
    best = gain.argmax(axis=2)
    return begin + best, np.take_along_axis(gain, best[..., None], axis=2)[..., 0]


def _children(
    grid: _Grid, by_row: Single, node: Bytes, sums: Single, counts: Single
) -> tuple[Single, Single]:
    """Histograms of the next level: left children by counting, right ones by subtraction.
    `by_row` are the residuals (row, tree), `node` the nodes (tree, row) of the next level."""
    if grid.loops is not None:
        return grid.loops.children(by_row, node, sums, counts)
    n, trees = by_row.shape
    nodes = sums.shape[2] // trees
    child = np.ascontiguousarray(node.T)
    slopes = np.empty((n, nodes, trees), dtype=np.float32)
    ones = np.empty((n, nodes, trees), dtype=np.float32)
    for q in range(nodes):
        ones[:, q] = child == 2 * q
        np.multiply(by_row, ones[:, q], out=slopes[:, q])
    pair = []
    for weights, parent in ((slopes, sums), (ones, counts)):
        shape = (grid.d, grid.bins, nodes, trees)
        counted = grid.histogram(weights.reshape(n, -1)).reshape(shape)
        both = np.empty((grid.d, grid.bins, nodes, 2, trees), dtype=np.float32)
        both[:, :, :, 0] = counted
        np.subtract(parent.reshape(shape), counted, out=both[:, :, :, 1])
        pair.append(both.reshape(grid.d, grid.bins, -1))
    return pair[0], pair[1]


def _leaves(grid: _Grid, nodes: Bytes, residuals: Single, probability: Single, size: int) -> Single:
    """A Newton step in each leaf of each tree, flat: sum of residuals / sum of p (1 - p)."""
    if grid.loops is not None:
        slope, curve = grid.loops.leaves(nodes, residuals, probability, size)
    else:
        trees, n = probability.shape
        numbers = (nodes[:, :n] + (np.arange(trees) * size)[:, None]).ravel()
        curves = probability * (1.0 - probability)
        slope, curve = (
            np.asarray(np.bincount(numbers, own.ravel(), minlength=trees * size), np.float64)
            for own in (residuals[:, :n], curves)
        )
    known = curve > 1e-150  # as in scikit-learn
    steps = np.where(known, slope / np.where(known, curve, 1.0), 0.0)
    # Where p is 0 or 1 to rounding a step may exceed float32; far smaller ones change no class.
    return np.clip(steps, -1e5, 1e5).astype(np.float32)
