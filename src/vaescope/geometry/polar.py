"""Cartesian or polar: does a pair of latents encode one factor as angle and another as radius?

zietlow2022 section 4.3.6: low-scoring runs were found to encode hue as the angle and orientation as
the radius of two latents. Such a code is as readable as one factor per latent, but every metric
that looks at axes calls it entangled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import Interval, bootstrap, percentiles
from vaescope.geometry.result import GeometryMeasure
from vaescope.seeds import rng
from vaescope.types import Array, Long, Matrix

__all__ = ["Coordinates", "coordinate_system", "coordinate_systems"]

Kind = Literal["polar", "cartesian", "turned", "neither"]

#: Shares of variance: below the first a code explains too little to be called anything; polar must
#: beat straight axes, and turned axes the latents, by the second. Degrees that angles must span.
EXPLAINS, MARGIN, SPAN = 0.5, 0.1, 90.0


@dataclass(frozen=True, eq=False)
class Coordinates(GeometryMeasure):
    """Shares of the two factors' variance that functions of single coordinates explain. The value
    is the polar share minus the best share of straight axes; n counts rows."""

    kind: Kind
    polar: float  # one factor by the angle, the other by the radius
    cartesian: float  # one factor by each latent
    turned: float  # one factor by each of two orthogonal axes, at their best angle
    latents: tuple[int, int]
    factors: tuple[int, int]  # those of angle and radius, or of first and second latent
    centre: tuple[float, float]  # centre around which the angle is taken
    span: float  # degrees that the codes cover around the centre

    def summary(self) -> str:
        a, b = self.factors
        i, j = self.latents
        how = {
            "polar": f"factor {a} is their angle and factor {b} their radius",
            "cartesian": f"factor {a} is in latent {i} and factor {b} in latent {j}",
            "turned": f"factors {a} and {b} lie on straight axes between them",
            "neither": "no coordinate of either kind encodes a factor",
        }[self.kind]
        return (
            f"latents {i} and {j} are {self.kind}: {how} (explained: polar {self.polar:.2f}, "
            f"cartesian {self.cartesian:.2f}, rotated {self.turned:.2f}, n = {self.n:,})"
        )


def _groups(by: Matrix, bins: int) -> Long:
    """Rows in bins of equal size along one coordinate."""
    places = np.empty(len(by), dtype=np.int64)
    places[np.argsort(by, kind="stable")] = np.arange(len(by)) * bins // len(by)
    return places


def _explained(factors: Matrix, by: Matrix, bins: int) -> Matrix:
    """Share of each factor's variance between the bins, corrected for chance, in [0, 1]."""
    n = len(by)
    places = _groups(by, bins)
    counts = np.bincount(places, minlength=bins)
    sums = np.array([np.bincount(places, column, minlength=bins) for column in factors.T])
    between = (sums**2 / counts).sum(axis=1) / n - factors.mean(axis=0) ** 2
    share = between / factors.var(axis=0)
    return np.asarray(np.clip(1.0 - (1.0 - share) * (n - 1) / (n - bins), 0.0, 1.0))


def _best(first: Matrix, second: Matrix) -> tuple[float, tuple[int, int]]:
    """The two different factors that two coordinates explain best, on average."""
    both = 0.5 * (first[:, None] + second[None, :])
    np.fill_diagonal(both, -np.inf)
    a, b = np.unravel_index(int(both.argmax()), both.shape)
    return float(both[a, b]), (int(a), int(b))


def _polar(z: Matrix, factors: Matrix, centre: Matrix, bins: int) -> tuple[float, tuple[int, int]]:
    x, y = (z - centre).T
    return _best(
        _explained(factors, np.arctan2(y, x), bins), _explained(factors, np.hypot(x, y), bins)
    )


def _straight(z: Matrix, factors: Matrix, angle: float, bins: int) -> tuple[float, tuple[int, int]]:
    c, s = np.cos(angle), np.sin(angle)
    turned = z @ np.array([[c, -s], [s, c]])
    return _best(*(_explained(factors, column, bins) for column in turned.T))


def _angle(z: Matrix, factors: Matrix, bins: int) -> float:
    """The turn of straight axes that explains most, by steps of three degrees. Seen from far away
    angle and radius are straight axes too: polar must do better than these."""
    angles = np.radians(np.arange(0.0, 90.0, 3.0))
    return float(max(angles, key=lambda angle: _straight(z, factors, angle, bins)[0]))


def _centre(z: Matrix, factors: Matrix, bins: int) -> Matrix:
    """The centre within the codes around which angle and radius explain most."""
    low, high = z.min(axis=0), z.max(axis=0)
    candidates = [
        low + (high - low) * np.array([a, b]) / 4.0 for a in range(5) for b in range(5)
    ] + [z.mean(axis=0)]
    start = max(candidates, key=lambda c: _polar(z, factors, c, bins)[0])

    def miss(centre: Matrix) -> float:
        outside = np.maximum(0.0, np.maximum(low - centre, centre - high)).sum()
        return float(outside - _polar(z, factors, centre, bins)[0])

    simplex = start + np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]]) * (high - low)
    found = minimize(
        miss, start, method="Nelder-Mead", options={"initial_simplex": simplex, "maxfev": 120}
    )
    return np.asarray(found.x)


def _span(z: Matrix, centre: Matrix) -> float:
    x, y = (z - centre).T
    angles = np.sort(np.degrees(np.arctan2(y, x)))
    gaps = np.diff(np.append(angles, angles[0] + 360.0))
    return float(360.0 - gaps.max())


def coordinate_system(
    codes: Codes,
    latents: tuple[int, int],
    *,
    factors: Sequence[int] | None = None,
    bins: int = 16,
    rows: int = 2000,
) -> Coordinates:
    """How two latents encode the two factors that they encode best, chosen from `factors`.

    Each factor is predicted by its mean in bins of one coordinate, so that any one-dimensional
    dependence counts. The centre of the polar coordinates is searched within the codes. At most
    the first `rows` rows are used.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        latents: the two latents.
        factors: which factors; None takes all pairs.
        bins: number of bins of the angle.
        rows: largest number of rows.

    Returns:
        `Coordinates`: shares of the two factors' variance that functions of single coordinates
        explain.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.geometry.coordinate_system(codes, (1, 2), factors=(1, 2)).kind
        'cartesian'
    """
    truth: Array | None = codes.factors if codes.factor_values is None else codes.factor_values
    if truth is None:
        raise ShapeError(
            "A coordinate system is judged by factors; these codes have none.",
            "Encode a dataset with factors.",
        )
    z = codes.mean[:rows, list(latents)].astype(np.float64)
    values = truth[:rows].astype(np.float64)
    among = range(values.shape[1]) if factors is None else factors
    varying = [k for k in among if np.ptp(values[:, k]) > 0]
    if len(varying) < 2 or len(z) < 4 * bins:
        raise ShapeError(
            f"There are {len(varying)} factors that vary and {len(z)} rows; wanted two and "
            f"{4 * bins}.",
            "Pass codes of a dataset with at least two factors.",
        )
    table = values[:, varying]
    spread = z.std(axis=0)
    # A turn of latents of unequal spread would favour one of them; one that is constant stays so.
    unit = z / np.where(spread > 0.0, spread, 1.0)
    cartesian, flat = _straight(unit, table, 0.0, bins)
    angle = _angle(unit, table, bins)
    turned, slanted = _straight(unit, table, angle, bins)
    centre = _centre(z, table, bins)
    polar, round_ = _polar(z, table, centre, bins)
    span = _span(z, centre)
    kind, pair = _kind(polar, cartesian, turned, span), flat
    if kind in ("polar", "turned"):
        pair = round_ if kind == "polar" else slanted

    def advantage(rows: Long) -> float:
        bent = _polar(z[rows], table[rows], centre, bins)[0]
        return bent - _straight(unit[rows], table[rows], angle, bins)[0]

    return Coordinates(
        polar - turned, _interval(advantage, len(z)), len(z), "latent", kind, polar, cartesian,
        turned, latents, (varying[pair[0]], varying[pair[1]]),
        (float(centre[0]), float(centre[1])), span,
    )  # fmt: skip


def _kind(polar: float, cartesian: float, turned: float, span: float) -> Kind:
    if polar >= EXPLAINS and polar - turned >= MARGIN and span >= SPAN:
        return "polar"
    if turned >= EXPLAINS and turned - cartesian >= MARGIN:
        return "turned"
    return "cartesian" if cartesian >= EXPLAINS else "neither"


def _interval(advantage: Callable[[Long], float], n: int) -> Interval:
    """95% interval by resampling rows, around the same centre and axes."""
    low, high = percentiles(bootstrap(advantage, n, resamples=100, rng=rng(0, "polar", n)))
    value = advantage(np.arange(n))
    return min(low, value), max(high, value)


def coordinate_systems(
    codes: Codes, *, latents: Sequence[int] | Array | None = None, bins: int = 16, rows: int = 2000
) -> tuple[Coordinates, ...]:
    """`coordinate_system` of every pair of latents; leave the passive ones out by `latents`.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        latents: which latents; None takes all.
        bins: number of bins of the angle.
        rows: largest number of rows.

    Returns:
        A `Coordinates` for each pair of latents.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> len(vs.geometry.coordinate_systems(codes, latents=(1, 2)))
        1
    """
    chosen = range(codes.d) if latents is None else [int(j) for j in latents]
    return tuple(
        coordinate_system(codes, pair, bins=bins, rows=rows) for pair in combinations(chosen, 2)
    )
