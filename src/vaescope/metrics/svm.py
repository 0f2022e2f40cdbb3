"""Linear support vector machines on one number, solved exactly and for all classes at once.

The problem is liblinear's with squared hinge, one class against the rest, the intercept penalised:
Fan et al. 2008, https://jmlr.org/papers/v9/fan08a.html. In one dimension the rows inside the margin
are the start or the end of the sorted rows, so each Newton step is two searches and two sums looked
up in cumulative tables: O(log n) instead of O(n).
"""

from dataclasses import dataclass

import numpy as np

from vaescope.types import Double, Floats, Integers, Long, Vector

__all__ = ["Lines", "fit_lines"]


_STEPS = 60


@dataclass(frozen=True, eq=False)
class Lines:
    """A line per class: the class of x is that of the highest line."""

    classes: Long
    slope: Vector
    intercept: Vector

    def predict(self, x: Floats) -> Long:
        height = np.multiply.outer(x, self.slope) + self.intercept
        return np.asarray(self.classes[height.argmax(axis=1)])


@dataclass(frozen=True, eq=False)
class _Sums:
    """Number, sum and sum of squares of the first rows, of all classes and of each."""

    x: Vector  # sorted
    total: Double  # (n + 1, 3)
    of_class: Double  # (n + classes, 3): one stretch per class, from 0 up
    keys: Long  # class * (n + 1) + place among all rows, sorted
    full: Double  # (classes, 3)

    def below(self, t: Vector) -> tuple[Double, Double]:
        """Sums over the rows with x < t_c: of class c itself, and of all rows. (classes, 3)."""
        n, each = len(self.x), np.arange(len(t))
        place = np.searchsorted(self.x, t)
        members = np.searchsorted(self.keys, each * (n + 1) + place)
        return self.of_class[members + each], self.total[place]


def fit_lines(x: Floats, y: Integers, *, cost: float = 0.01) -> Lines:
    """The lines of `LinearSVC(C=cost, class_weight="balanced")` on one column.

    min 0.5 (w^2 + b^2) + cost * sum_i c_i max(0, 1 - y_i (w x_i + b))^2 for each class, with
    c_i = n / (classes * rows of the class) on its own rows and 1 on the others; with two classes
    there is one problem and both are weighted. liblinear stops at a tolerance, this does not.
    """
    classes, labels, counts = np.unique(y.astype(np.int64), return_inverse=True, return_counts=True)
    weight = cost * len(y) / (len(classes) * counts)
    sums = _cumulate(np.asarray(x, dtype=np.float64), labels, len(classes))
    if len(classes) == 2:
        w, b = _newton(sums, weight, weight[::-1])
        # Both problems mirror each other; liblinear solves that of the second class.
        return Lines(classes, np.array([-w[1], w[1]]), np.array([-b[1], b[1]]))
    return Lines(classes, *_newton(sums, weight, np.full(len(classes), cost)))


def _cumulate(x: Vector, labels: Long, classes: int) -> _Sums:
    n = len(x)
    order = np.argsort(x, kind="stable")
    x, labels = x[order], labels[order]
    powers = np.stack([np.ones(n), x, x * x], axis=1)
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(powers, axis=0)])
    by_class = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=classes)
    first = np.concatenate([[0], np.cumsum(sizes)])
    of_class = np.zeros((n + classes, 3))
    for c in range(classes):
        low, high = first[c], first[c + 1]
        of_class[low + c + 1 : high + c + 1] = np.cumsum(powers[by_class[low:high]], axis=0)
    full = of_class[first[1:] + np.arange(classes)]
    return _Sums(x, total, of_class, labels[by_class] * (n + 1) + by_class, full)


def _inside(sums: _Sums, w: Vector, b: Vector) -> tuple[Double, Double]:
    """Sums over the rows within the margin: of the class (w x + b < 1), of the rest (> -1)."""
    slope = np.where(w == 0.0, 1e-300, w)  # a level line has its threshold at infinity
    with np.errstate(over="ignore"):
        own_below, _ = sums.below((1.0 - b) / slope)
        class_below, all_below = sums.below((-1.0 - b) / slope)
    rest_below = all_below - class_below
    rest = sums.total[-1] - sums.full
    rising = (slope > 0)[:, None]
    return (
        np.where(rising, own_below, sums.full - own_below),
        np.where(rising, rest - rest_below, rest_below),
    )


def _loss(own: Double, rest: Double, w: Vector, b: Vector, up: Vector, down: Vector) -> Vector:
    """The objective from the sums within the margin: 1 - w x - b and 1 + w x + b, squared."""

    def squares(sums: Double, level: Vector) -> Vector:
        n, x, xx = sums.T  # sum of (w x + level)^2
        return np.asarray(w * w * xx + 2.0 * w * level * x + level * level * n)

    return np.asarray(
        0.5 * (w * w + b * b) + up * squares(own, b - 1.0) + down * squares(rest, b + 1.0)
    )


def _newton(sums: _Sums, up: Vector, down: Vector) -> tuple[Vector, Vector]:
    """Newton's method on each class's two numbers, halving steps that do not descend."""
    w, b = np.zeros(len(up)), np.zeros(len(up))
    own, rest = _inside(sums, w, b)
    loss = _loss(own, rest, w, b, up, down)
    for _ in range(_STEPS):
        n, x, xx = (2.0 * (up[:, None] * own + down[:, None] * rest)).T
        n, xx = n + 1.0, xx + 1.0
        right = 2.0 * (up[:, None] * own - down[:, None] * rest)
        determinant = n * xx - x * x
        to_w = (n * right[:, 1] - x * right[:, 0]) / determinant - w
        to_b = (xx * right[:, 0] - x * right[:, 1]) / determinant - b
        step = np.ones(len(up))
        for _ in range(30):
            new_w, new_b = w + step * to_w, b + step * to_b
            new_own, new_rest = _inside(sums, new_w, new_b)
            new_loss = _loss(new_own, new_rest, new_w, new_b, up, down)
            worse = new_loss > loss
            if not worse.any():
                break
            step = np.where(worse, 0.5 * step, step)
        better = new_loss < loss * (1.0 - 1e-13)
        w, b = np.where(better, new_w, w), np.where(better, new_b, b)
        own, rest = _inside(sums, w, b)
        if not better.any():
            break
        loss = np.where(better, new_loss, loss)
    return w, b
