"""Intrinsic dimension of a cloud of points, by the distances to its nearest neighbours.

Levina and Bickel 2004,
https://proceedings.neurips.cc/paper/2004/hash/74934548253bcab8490ebd74afed7031-Abstract.html
(`mle_dimension`); Facco et al. 2017, https://arxiv.org/abs/1803.06992 (`two_nn_dimension`).
"""

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import RangeError, ShapeError
from vaescope.estimates import Estimate, bootstrap_interval
from vaescope.metrics.rows import Representation, mean_or_sample
from vaescope.metrics.score import Protocol, Score
from vaescope.seeds import rng
from vaescope.types import Double, Floats

__all__ = [
    "id_mle",
    "id_two_nn",
    "mle_dimension",
    "neighbour_distances",
    "two_nn_dimension",
]

#: Dimensions up to which a tree is faster than all distances.
_TREE = 12
#: Rows that are looked at; distances take time of their square.
LIMIT = 5_000
_RESAMPLES = 200
#: Share of the points that differ, below which they are no cloud.
_CLOUD = 0.9
#: Clouds of as many dimensions as latents are estimated at most a tenth above (5.1 of 5).
_ABOVE = 1.25
_LEAST_ROWS = 10


def mle_dimension(points: Floats, *, k: int = 20, limit: int = LIMIT, seed: int = 0) -> Estimate:
    """Levina and Bickel's dimension, with its bootstrap interval over points.

    1 / m = mean over points of 1 / (k - 1) sum_{j < k} log(T_k / T_j), T_j the distance to the j-th
    neighbour. Of evenly spread points each summand has mean 1 / m exactly, so the inverses are
    averaged, not the dimensions (MacKay and Ghahramani 2005); bonheml's code divides by k - 2,
    which gives (k - 2) / (k - 1) of this. Too low where k neighbours are not near: 5,000 normal
    points of 5, 10 and 20 dimensions give 5.1, 9.3 and 15.9 (`two_nn_dimension`: 5.1, 9.8, 17.3).

    Args:
        points: one per row; further axes are flattened. Copies of a row are left out.
        k: number of neighbours; more neighbours give less noise and more bias.
        limit: rows, drawn with `seed` if there are more.
        seed: seed of all random draws.

    Returns:
        `Estimate`: A number, its interval, and how many values are behind it.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> points = np.random.default_rng(0).normal(size=(500, 2))
        >>> round(vs.metrics.mle_dimension(points).value, 1)
        2.0
    """
    if k < 2:
        raise RangeError(f"k is {k}; wanted at least 2 neighbours.", "Pass e.g. k=20.")
    distance = neighbour_distances(points, k, limit=limit, seed=seed)
    inverse = np.log(distance[:, -1:] / distance[:, :-1]).mean(axis=1)
    drawn = _resampled(inverse, seed)
    return _estimate(_inverse(float(inverse.mean())), 1.0 / drawn.mean(axis=1), len(distance))


def two_nn_dimension(
    points: Floats, *, kept: float = 0.9, limit: int = LIMIT, seed: int = 0
) -> Estimate:
    """Facco et al.'s dimension, with its bootstrap interval over points.

    The ratio mu of the distances to the second and the first neighbour has P(mu > m) = m^-d. d is
    the slope through the origin of -log(1 - F(mu)) against log mu, over the share `kept` of points
    of least ratio. It uses nearer neighbours than `mle_dimension`, so it has less bias and more
    noise.

    Args:
        points: (n, d) rows.
        kept: share of the points that are fitted.
        limit: largest number of rows; None takes all.
        seed: seed of all random draws.

    Returns:
        `Estimate`: A number, its interval, and how many values are behind it.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> points = np.random.default_rng(0).normal(size=(500, 2))
        >>> round(vs.metrics.two_nn_dimension(points).value, 1)
        1.9
    """
    if not 0.0 < kept <= 1.0:
        raise RangeError(f"kept is {kept}; wanted a share in (0, 1].", "Pass e.g. kept=0.9.")
    distance = neighbour_distances(points, 2, limit=limit, seed=seed)
    log_ratio = np.log(distance[:, 1] / distance[:, 0])
    n = len(log_ratio)
    y = -np.log(1.0 - np.arange(n)[: max(int(n * kept), 1)] / n)

    def inverse_slope(ratios: Floats) -> Double:
        x = np.sort(ratios, axis=-1)[..., : len(y)]
        return np.asarray((x * x).sum(axis=-1) / (x @ y))

    if not np.any(log_ratio[np.argsort(log_ratio)[: len(y)]]):
        _inverse(0.0)
    value = _inverse(float(inverse_slope(log_ratio)))
    return _estimate(value, 1.0 / inverse_slope(_resampled(log_ratio, seed)), n)


def neighbour_distances(points: Floats, k: int, *, limit: int = LIMIT, seed: int = 0) -> Double:
    """Distances to the k nearest other points, nearest first: (n, k), all positive.

    Copies of a row are left out: neighbours at distance 0 have no logarithm.
    """
    x = np.asarray(points, dtype=np.float64).reshape(len(points), -1)
    if not np.isfinite(x).all():
        raise ShapeError("The points have values that are not finite.", "Leave those rows out.")
    if len(x) > limit:
        x = x[np.sort(rng(seed, "dimension-rows").permutation(len(x))[:limit])]
    x = x - x.mean(axis=0)
    spread = np.abs(x).max() if x.size else 0.0
    if spread > 0:
        x = x / spread  # squares of tiny and huge numbers stay finite
    x = np.unique(x, axis=0)
    if len(x) < max(k + 1, _LEAST_ROWS):
        raise ShapeError(
            f"The intrinsic dimension by {k} neighbours needs {max(k + 1, _LEAST_ROWS)} different "
            f"points; got {len(x)}.",
            "Encode more rows; discrete codes have no such dimension.",
        )
    nearest = _by_tree(x, k) if x.shape[1] <= _TREE else _by_products(x, k)
    if not (nearest > 0).all():
        raise ShapeError(
            "Some points differ by less than floating-point precision.",
            "Give the points on a larger scale, or in float64.",
        )
    return nearest


def _by_tree(x: Double, k: int) -> Double:
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(x).query(x, k=k + 1)[0][:, 1:])


def _by_products(x: Double, k: int, *, block: int = 512) -> Double:
    """Candidates by |a|^2 + |b|^2 - 2ab, which rounds; their distances by differences."""
    norms = np.square(x).sum(axis=1)
    more = min(k + 4, len(x) - 1)
    found = []
    for start in range(0, len(x), block):
        rows = x[start : start + block]
        apart = norms[start : start + block, None] + norms - 2.0 * (rows @ x.T)
        own = np.arange(len(rows))
        apart[own, start + own] = np.inf
        near = np.argpartition(apart, more - 1, axis=1)[:, :more]
        exact = np.stack([np.linalg.norm(x[near[i]] - rows[i], axis=1) for i in own])
        found.append(np.sort(exact, axis=1)[:, :k])
    return np.concatenate(found)


def _resampled(values: Double, seed: int) -> Double:
    """(resamples, n): values of points drawn with replacement."""
    return values[
        rng(seed, "dimension-bootstrap").integers(len(values), size=(_RESAMPLES, len(values)))
    ]


def _inverse(value: float) -> float:
    if value <= 0:
        raise ShapeError(
            "All neighbours are equally far: the points lie on a grid, which has no dimension.",
            "Use points that vary continuously, e.g. posterior means.",
        )
    return 1.0 / value


def _estimate(value: float, replicates: Double, n: int) -> Estimate:
    finite = replicates[np.isfinite(replicates)]
    interval = bootstrap_interval(value, finite, least=0.0) if len(finite) > 1 else None
    return Estimate(value, interval, n)


def id_mle(
    codes: Codes, *, k: int = 20, on: Representation = "mean", limit: int = LIMIT, seed: int = 0
) -> Score:
    """`mle_dimension` of the codes: the dimension in which the representation really varies.

    In the codes' own units. Samples have the dimension of their noise, that is d, unless posteriors
    are narrow: means minus samples is what FONDUE looks at. There is no chance level: codes without
    information have the dimension of their noise.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        k: nearest neighbours.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.id_mle(codes).value, 2)
        0.72
    """
    found = mle_dimension(mean_or_sample(codes, on), k=k, limit=limit, seed=seed)
    return _score(codes, on, found, {"estimator": "maximum likelihood", "k": k, "seed": seed})


def id_two_nn(
    codes: Codes, *, on: Representation = "mean", limit: int = LIMIT, seed: int = 0
) -> Score:
    """`two_nn_dimension` of the codes; see `id_mle`.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.id_two_nn(codes).value, 2)
        4.0
    """
    found = two_nn_dimension(mean_or_sample(codes, on), limit=limit, seed=seed)
    return _score(codes, on, found, {"estimator": "two nearest neighbours", "seed": seed})


def _score(codes: Codes, on: Representation, found: Estimate, settings: dict[str, object]) -> Score:
    protocol = Protocol("default", found.n, settings, on, codes.supervised)
    return Score(found.value, protocol, {}, found.interval, validity=_doubts(found, codes))


def _doubts(found: Estimate, codes: Codes) -> tuple[str, ...]:
    """Neighbours of a cloud have a dimension; those of points on a grid, or repeated, have none."""
    doubts = []
    looked_at = min(codes.n, LIMIT)
    if found.n < _CLOUD * looked_at:
        doubts.append(
            f"only {found.n:,} of {looked_at:,} points differ: they are not a cloud, and their "
            "distances say little about its dimension"
        )
    if found.interval is not None and found.interval[0] > _ABOVE * codes.d:
        doubts.append(
            f"{found.value:.3g} dimensions are more than there are latents ({codes.d}): the "
            "points lie on a grid or nearly repeat"
        )
    return tuple(doubts)
