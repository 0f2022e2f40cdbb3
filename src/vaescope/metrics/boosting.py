"""Gradient-boosted trees as scikit-learn grows them, for all classes of several factors at once.

Friedman 2001, Greedy function approximation, algorithm 6. GradientBoostingClassifier of
scikit-learn splits by the squared error of the residuals (first order) and sets leaves by a Newton
step; LightGBM and XGBoost also split by Newton's gain, which is why their importances differ. Here
the splits are scikit-learn's: first among a few quantiles, where the histograms of all classes are
one product with a sparse matrix, then at any value near the best of these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaescope.metrics.boosting_loops import Coarse
from vaescope.metrics.cut_grid import CutGrid, cut_grid
from vaescope.types import Array, Booleans, Double, Floats, Integers, Long, Single

__all__ = ["Boosted", "boost", "boost_all"]

Places = NDArray[np.intp]  # what NumPy indexes by without a copy
Bytes = NDArray[np.int8]  # node numbers: small ones pass through the cache eight times faster

#: Features whose cuts are refined in each node: those that are best at the quantiles.
_REFINED = 3
#: Rows times trees up to which factors are learnt side by side: a few hundred rows cost as much as
#: none, so that three factors take little longer than one; with more they leave the cache.
_TOGETHER = 2**15


@dataclass(frozen=True, eq=False)
class Boosted:
    """What a boosted classifier has learnt."""

    importance: Double  # (feature,) share of the squared error that its splits removed
    train: Long  # predicted classes
    test: Long


@dataclass(frozen=True, eq=False)
class _Splits:
    """The split of each node of each tree, flat: node * trees + tree."""

    gain: Single
    feature: Places
    place: NDArray[np.int32]  # rows up to this place go left; all of them if there is no split
    value: Double


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
    return _boosted(x, [y], x_test, [rng], rounds=rounds, rate=rate, depth=depth, bins=bins)[0]


def boost_all(
    x: Floats, factors: Sequence[Integers], x_test: Floats, rngs: Sequence[np.random.Generator]
) -> list[Boosted]:
    """`boost` of each factor, to the last bit, side by side where rows are few."""
    found: list[Boosted] = []
    groups: list[list[int]] = []
    trees = 0
    for k, y in enumerate(factors):
        classes = len(np.unique(y))
        if not groups or (trees + classes) * len(x) > _TOGETHER:
            groups.append([])
            trees = 0
        groups[-1].append(k)
        trees += classes
    for group in groups:
        found += _boosted(x, [factors[k] for k in group], x_test, [rngs[k] for k in group])
    return found


@dataclass(frozen=True, eq=False)
class _Target:
    """The classes of a factor, and which trees are its own."""

    classes: Long
    labels: Long
    trees: slice

    @property
    def count(self) -> int:
        return int(self.trees.stop - self.trees.start)

    @classmethod
    def after(cls, first: int, y: Integers) -> "_Target":
        classes, labels = np.unique(y.astype(np.int64), return_inverse=True)
        trees = len(classes) if len(classes) > 2 else 1  # two classes need one tree a round
        return cls(classes, labels, slice(first, first + trees))

    def indicators(self, n: int) -> Single:
        target = np.zeros((self.count, n), dtype=np.float32)
        if self.count > 1:
            target[self.labels, np.arange(n)] = 1.0
        else:
            target[0] = self.labels
        return target

    def shrink(self, rate: float) -> Single:
        whole = rate * (self.count - 1) / self.count if self.count > 1 else rate
        return np.full(self.count, whole, dtype=np.float32)


def _boosted(
    x: Floats,
    factors: Sequence[Integers],
    x_test: Floats,
    rngs: Sequence[np.random.Generator],
    *,
    rounds: int = 100,
    rate: float = 0.1,
    depth: int = 3,
    bins: int | None = None,
) -> list[Boosted]:
    """The trees of all factors as columns of the same arrays: none sees another's."""
    assert depth <= 7, "nodes of a level are numbered by bytes"
    if bins is None:  # more quantiles make the windows between them, n / bins places, affordable
        bins = 32 if len(x) < 4_000 else 64
    grid = cut_grid(np.asarray(x, dtype=np.float64), bins)
    n, d = grid.n, grid.d
    targets: list[_Target] = []
    for y in factors:
        targets.append(_Target.after(targets[-1].trees.stop if targets else 0, y))
    trees = targets[-1].trees.stop
    seen = np.ascontiguousarray(np.asarray(x_test, dtype=np.float64).T)
    sizes = grid.histogram(np.ones((n, 1), dtype=np.float32))
    target = np.concatenate([own.indicators(n) for own in targets])
    start = np.concatenate([_start(own.labels, own.count) for own in targets])[:, None]
    # A tree's rows lie side by side: what it looks up stays in the cache.
    score, test_score = np.tile(start, n), np.tile(start, len(x_test))
    shrink = np.repeat(np.concatenate([own.shrink(rate) for own in targets]), 2**depth)
    removed = np.zeros((len(targets), d))
    # One row more, in no node, for places beyond the ends.
    residuals, nodes = np.zeros((trees, n + 1), np.float32), np.full((trees, n + 1), -1, np.int8)
    residual, node = residuals[:, :n], nodes[:, :n]
    probability = np.empty((trees, n), dtype=np.float32)

    def chances(kept: int, columns: int) -> Single:
        drawn = [
            stream.random((kept, columns // trees * own.count), dtype=np.float32)
            for stream, own in zip(rngs, targets, strict=True)
        ]
        if len(drawn) == 1:
            return drawn[0]
        shaped = [one.reshape(kept, columns // trees, -1) for one in drawn]
        return np.concatenate(shaped, axis=2).reshape(kept, columns)

    for _ in range(rounds):
        for own in targets:
            probability[own.trees] = _probability(score[own.trees])
        np.subtract(target, probability, out=residual)
        node[:] = 0
        by_row = np.ascontiguousarray(residual.T)
        sums = grid.histogram(by_row)
        counts = np.broadcast_to(sizes, sums.shape)
        test = np.zeros((trees, seen.shape[1]), dtype=np.int8)
        sides: list[Booleans] = []
        test_sides: list[Booleans] = []
        for level in range(depth):
            splits = _best(grid, sums, counts, residuals, nodes, chances)
            feature, gain = splits.feature.reshape(-1, trees), splits.gain.reshape(-1, trees)
            for k, own in enumerate(targets):
                removed[k] += np.bincount(
                    feature[:, own.trees].ravel(), gain[:, own.trees].ravel(), minlength=d
                )
            if grid.loops is not None:
                grid.loops.descend(grid.rank, splits.feature, splits.place, nodes)
                grid.loops.descend(seen, splits.feature, splits.value, test)
            else:
                sides.append(_beyond(grid.rank, sides, splits.feature, splits.place))
                test_sides.append(_beyond(seen, test_sides, splits.feature, splits.value))
                np.add(2 * node, sides[-1], out=node)
                np.add(2 * test, test_sides[-1], out=test)
            if level < depth - 1:
                sums, counts = _children(grid, by_row, node, sums, counts)
        leaves = shrink * _leaves(grid, nodes, residuals, probability, 2**depth)
        offset = (np.arange(trees) * 2**depth)[:, None]
        score += leaves.take(node + offset)
        test_score += leaves.take(test + offset)
    totals = removed.sum(axis=1)
    return [
        Boosted(
            removed[k] / totals[k] if totals[k] > 0 else removed[k],
            own.classes[_highest(score[own.trees])],
            own.classes[_highest(test_score[own.trees])],
        )
        for k, own in enumerate(targets)
    ]


def _beyond(values: Array, sides: list[Booleans], feature: Places, cut: Array) -> Booleans:
    """(tree, row) Where the value (feature, row) that the split of each row's node looks at exceeds
    its cut; `sides` are the answers of the levels above."""
    nodes = 2 ** len(sides)
    trees = len(feature) // nodes
    answers = np.empty((trees, values.shape[1]), dtype=bool)
    for tree in range(trees):
        # The answers of all nodes for all rows, then by each level above those of the side it took:
        # whole columns are compared faster than single values are looked up.
        exceeds = [values[feature[k]] > cut[k] for k in range(tree, len(feature), trees)]
        for side in reversed(sides):
            right = side[tree]
            exceeds = [
                a ^ ((a ^ b) & right) for a, b in zip(exceeds[::2], exceeds[1::2], strict=True)
            ]
        answers[tree] = exceeds[0]
    return answers


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
    grid: CutGrid,
    sums: Single,
    counts: Single,
    residuals: Single,
    nodes: Bytes,
    chances: Callable[[int, int], Single],
) -> _Splits:
    """The split of each column that removes most squared error."""
    coarse = _coarse(sums, counts) if grid.loops is None else grid.loops.coarse(sums, counts)
    total, n = coarse.total, coarse.n
    column = np.arange(sums.shape[2])
    kept = min(_REFINED, grid.d)
    feature = np.argpartition(-coarse.gain, kept - 1, axis=0)[:kept]  # (kept, column)
    place, gain = _refined(grid, feature, column, coarse, residuals, nodes)
    gain -= total * total / np.maximum(n, 1.0)
    # Rounding would give ties to one feature always; this is wider than rounding in float32.
    chance = 1.0 + 1e-5 * chances(*gain.shape)
    winner = (gain * chance).argmax(axis=0)
    best, chosen = gain[winner, column], feature[winner, column]
    cut = np.clip(place[winner, column], 0, grid.n - 1)
    splits = best > 1e-7
    middle = grid.ascending[chosen, cut] + grid.ascending[chosen, np.minimum(cut + 1, grid.n - 1)]
    return _Splits(
        np.where(splits, best, np.float32(0.0)),
        chosen,
        np.where(splits, cut, grid.n).astype(np.int32),
        np.where(splits, 0.5 * middle, np.inf),
    )


def _refined(
    grid: CutGrid,
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
    prefix = residuals.take(index)
    prefix *= member
    prefix.cumsum(axis=2, out=prefix)
    count = member.cumsum(axis=2, dtype=np.float32)
    # The sums left of the quantile are known; the window adds to them or takes away.
    for window, before in ((prefix, left), (count, n_left)):
        middle = window[..., grid.reach - 1, None].copy()
        np.add(window, before[..., None], out=window)
        np.subtract(window, middle, out=window)
    gain = _gain(prefix, count, found.total[:, None], found.n[:, None])
    np.putmask(gain, grid.barred.reshape(-1, 2 * grid.reach).take(at, axis=0), -1.0)
    best = gain.argmax(axis=2)
    return begin + best, np.take_along_axis(gain, best[..., None], axis=2)[..., 0]


def _children(
    grid: CutGrid, by_row: Single, node: Bytes, sums: Single, counts: Single
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


def _leaves(
    grid: CutGrid, nodes: Bytes, residuals: Single, probability: Single, size: int
) -> Single:
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
