"""Whether factors move the data along its local principal directions. zietlow2022 chapter 4.

VAEs disentangle where they do; no model is needed to see it. A step of one factor at a time gives
its direction at a row, and the steps of all factors the local principal axes: what one step bends
does not enter, as it does in the covariance of a neighbourhood.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from vaescope.errors import ShapeError
from vaescope.estimates import interval_of_mean
from vaescope.geometry.orthogonality import DEGENERATE
from vaescope.geometry.pca import matched
from vaescope.geometry.result import GeometryMeasure, measure_of
from vaescope.seeds import rng
from vaescope.types import Array, Booleans, Floats, Integers, Matrix

__all__ = ["DataBias", "data_bias"]

Rows = Callable[[Integers], Floats]

#: Random mixtures of the factors, at each point, from which the chance level is taken.
_TURNS = 20
#: Rows with the same factors of which the mean is taken, the first ones.
_ALIKE = 64


@dataclass(frozen=True, eq=False)
class DataBias(GeometryMeasure):
    """The value is the mean angle, degrees, between factors' directions and the local principal
    axes, over points and factors where it is defined; n counts points where one is."""

    per_factor: Matrix  # (factors that vary,) mean angles; NaN if defined at no point
    per_point: Matrix  # (points, factors that vary); NaN where undefined
    chance: GeometryMeasure  # the same angle for random mixtures of the factors with the same axes
    defined_share: float  # share of points and factors with a defined angle
    columns: tuple[int, ...]  # the factors that vary

    @property
    def defined(self) -> bool:
        return self.defined_share >= 0.5

    def summary(self) -> str:
        if not self.defined:
            return (
                f"the bias of the data is undefined: at {1.0 - self.defined_share:.0%} of points "
                "and factors another direction has nearly the same variance, or there is no step"
            )
        each = ", ".join(f"{angle:.1f}" for angle in self.per_factor)
        return (
            f"factors are {self.value:.1f} degrees off the data's local principal directions "
            f"(random mixtures of them {self.chance.value:.1f}; each {each}; {self.n} points)"
        )


def data_bias(
    x: Floats | Rows,
    factors: Array,
    *,
    cyclic: Sequence[int] = (),
    points: int = 50,
    neighbours: int = 256,
    seed: int = 0,
) -> DataBias:
    """Angle between the directions in which factors move the data and its local principal axes.

    An angle of 0 is the bias that VAEs exploit. At each of `points` rows, the effect e_k of a
    factor is the change of x when the factor moves by one step and the others stay fixed, (x(k + 1)
    - x(k - 1)) / 2, or one-sided at an end; continuous factors have no steps, and e_k is a
    regression within a box of them. The principal axes are those of sum_k e_k e_k'. The angle is
    not defined if an axis has nearly the same variance as another (zietlow2022 section 3.3.4), or
    if a factor has no step. Where several rows have the same factors, as in a grid with a factor
    left out, x is the mean of the first 64 of them: a step between two such rows would change the
    left-out factor too.

    Args:
        x: examples, or a function from row numbers to them, e.g. `dataset.rows`.
        factors: (n, k), integer classes or continuous sources.
        cyclic: columns of integer factors whose last class is followed by the first, e.g. hues.
        points: number of rows at which the angle is measured.
        neighbours: number of rows in the box of continuous factors.
        seed: seed of all random draws.

    Returns:
        `DataBias`: the value is the mean angle, degrees, between factors' directions and the local
        principal axes, over points and factors where it is defined; n counts points where one is.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> factors = np.stack(np.meshgrid(*3 * [np.arange(6)]), -1).reshape(-1, 3)
        >>> x = factors * np.array([3.0, 2.0, 1.0])
        >>> round(vs.geometry.data_bias(x, factors, points=5, neighbours=40).value, 1)
        0.0
    """
    w = np.asarray(factors)
    n = len(w) if callable(x) else len(x)
    if w.ndim != 2 or len(w) != n:
        raise ShapeError(
            f"factors have shape {w.shape} for {n} examples; wanted one row per example.",
            "Pass dataset.sources or the classes of the factors.",
        )
    columns = np.flatnonzero(np.ptp(w, axis=0) > 0)
    if len(columns) < 2:
        raise ShapeError(
            f"{len(columns)} factor varies; wanted two or more, to separate their directions.",
            "Pass factors that vary.",
        )
    read = x if callable(x) else np.asarray(x).__getitem__

    def data(rows: Integers) -> Matrix:
        return np.asarray(read(rows), dtype=np.float64).reshape(len(rows), -1)

    w = w[:, columns]
    rows = rng(seed, "data-bias").choice(n, size=min(points, n), replace=False)
    if np.issubdtype(w.dtype, np.integer):
        wraps = np.isin(columns, np.asarray(cyclic, dtype=np.int64))
        effects = _by_steps(data, w, rows, wraps)
    else:
        effects = _by_regression(data, w / np.ptp(w, axis=0), rows, neighbours)
    turns = rng(seed, "data-bias-chance")
    angles, chances = zip(*(_angles(effect, turns) for effect in effects), strict=True)
    per_point, chance = np.array(angles), np.array(chances)
    known = np.isfinite(per_point)
    some = known.any(axis=1)
    each = np.array([row[ok].mean() for row, ok in zip(per_point[some], known[some], strict=True)])
    per_factor = np.array(
        [v[ok].mean() if ok.any() else np.nan for v, ok in zip(per_point.T, known.T, strict=True)]
    )
    share = float(known.mean())
    value, interval = float("nan"), None
    if share >= 0.5:
        value, interval = float(each.mean()), interval_of_mean(each)
    return DataBias(
        value, None if interval is None else (max(0.0, interval[0]), interval[1]), len(each),
        "output", per_factor, per_point, measure_of(chance[np.isfinite(chance)], "output"), share,
        tuple(int(k) for k in columns),
    )  # fmt: skip


def _angles(effects: Matrix, generator: np.random.Generator) -> tuple[Matrix, float]:
    """Angles of the factors' effects (factors, outputs) at one point, NaN where undefined, and
    their mean for random mixtures of the effects, which have the same principal axes."""
    out = np.full(len(effects), np.nan)
    sizes = np.linalg.norm(effects, axis=1)
    seen = sizes > 1e-6 * np.nanmax(sizes, initial=0.0)  # false for NaN
    k = int(seen.sum())
    if k < 2:
        return out, float("nan")
    singular, axes = np.linalg.svd(effects[seen], full_matrices=False)[1:]
    close = singular[1:] > DEGENERATE * singular[:-1]
    apart = ~(np.append(close, False) | np.append(False, close))
    angles, partner = matched(effects[seen].T, axes.T)
    out[seen] = np.where(apart[partner], angles, np.nan)
    random = []
    for _ in range(_TURNS):
        # Effects Q S in the coordinates of the axes, Q Haar up to signs, which do not matter.
        mixed = np.linalg.qr(generator.standard_normal((k, k)))[0] * singular
        angles, partner = matched(mixed.T, np.eye(k))
        random.append(angles[apart[partner]])
    every = np.concatenate(random)
    return out, float(every.mean()) if len(every) else float("nan")


def _by_steps(
    data: Callable[[Integers], Matrix], w: Integers, rows: Integers, wraps: Booleans
) -> list[Matrix]:
    """Effects at each row by steps of one factor: (factors, outputs), NaN where there is none."""
    classes = np.stack([np.unique(v, return_inverse=True)[1] for v in w.T], axis=1)
    sizes = classes.max(axis=0) + 1
    wraps = wraps & (sizes > 2)  # of two classes both neighbours are the same one
    keys = np.ravel_multi_index(tuple(classes.T), tuple(sizes))
    order = np.argsort(keys, kind="stable")

    def at(row: int, k: int, step: int) -> Matrix | None:
        """x some steps of factor k away from a row."""
        there = classes[row].copy()
        there[k] += step
        if wraps[k]:
            there[k] %= sizes[k]
        if not 0 <= there[k] < sizes[k]:
            return None
        key = np.ravel_multi_index(tuple(there), tuple(sizes))
        first, last = (np.searchsorted(keys, key, s, order) for s in ("left", "right"))
        alike = order[first : min(last, first + _ALIKE)]
        return data(alike).mean(axis=0) if len(alike) else None

    def effect(row: int, k: int) -> Matrix | None:
        up, down = at(row, k, 1), at(row, k, -1)
        if up is not None and down is not None:
            return np.asarray((up - down) / 2.0)
        here = at(row, k, 0)
        assert here is not None
        if up is None:
            return None if down is None else here - down
        return up - here

    effects = []
    for row in rows:
        found = [effect(int(row), k) for k in range(w.shape[1])]
        width = data(row[None]).shape[1]
        effects.append(np.array([np.full(width, np.nan) if e is None else e for e in found]))
    return effects


def _by_regression(
    data: Callable[[Integers], Matrix], w: Matrix, rows: Integers, neighbours: int
) -> list[Matrix]:
    """Effects at each row by least squares in a box of the factors, in units of their spread."""
    tree = cKDTree(w)
    effects = []
    for row in rows:
        radius = tree.query(w[row], k=min(neighbours, len(w) - 1) + 1, p=np.inf)[0][-1]
        box = np.array(tree.query_ball_point(w[row], radius * (1.0 + 1e-9), p=np.inf))
        x, v = data(box), w[box]
        centred, steps = x - x.mean(axis=0), v - v.mean(axis=0)
        if np.linalg.matrix_rank(steps) < steps.shape[1]:
            effects.append(np.full((w.shape[1], x.shape[1]), np.nan))
            continue
        slope = np.linalg.lstsq(steps, centred, rcond=None)[0]  # (factors, outputs)
        effects.append(slope * steps.std(axis=0)[:, None])
    return effects
