"""Mutual information of a number and a class by nearest neighbours. Ross 2014,
https://doi.org/10.1371/journal.pone.0087357."""

import numpy as np

from vaescope.types import Double, Floats, Integers, Long

__all__ = ["nearest_information"]


def nearest_information(
    z: Floats, classes: Integers, *, neighbours: int = 10, seed: int = 0
) -> Double:
    """Nats between each column of `z` (n, d) and each of `classes` (n, k), never negative: (d, k).

    psi(n) + <psi(k)> - <psi(n_v)> - <psi(m)>: n_v rows have the row's class, and m rows of any
    class, itself included, are nearer than its k-th neighbour within the class. scikit-learn's
    estimate, including noise of 1e-10 against ties, at the cost of one sort per column. Classes of
    one row are left out.

    Args:
        z: (..., latent) points.
        classes: (n, k) whole numbers.
        neighbours: number of nearest neighbours.
        seed: seed of all random draws.

    Returns:
        Nats of each pair.

    Example:
        >>> import vaescope as vs
        >>> from vaescope.information.nearest import nearest_information
        >>> codes = vs.known.codes()
        >>> nearest_information(codes.mean, codes.factors).shape
        (5, 3)
    """
    noise = np.random.RandomState(seed).standard_normal(size=len(z))
    return np.stack([_of_column(column, classes, neighbours, noise) for column in z.T])


def _of_column(column: Floats, classes: Integers, neighbours: int, noise: Double) -> Double:
    from scipy.special import digamma

    x = np.asarray(column, dtype=np.float64)
    deviation = x.std()
    x = x / (deviation if deviation > 0 else 1.0)
    x = x + 1e-10 * max(1.0, float(np.abs(x).mean())) * noise
    order = np.argsort(x, kind="stable")
    ascending = x[order]
    found = []
    for labels in classes.T:
        sorted_labels = labels[order]
        radius, own, used = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
        for label in np.unique(sorted_labels):
            rows = np.flatnonzero(sorted_labels == label)
            if len(rows) < 2:
                continue
            k = min(neighbours, len(rows) - 1)
            radius[rows] = np.nextafter(_farthest(ascending[rows], k), 0.0)
            own[rows], used[rows] = len(rows), k
        kept = own > 0
        if not kept.any():
            found.append(0.0)
            continue
        values, reach = np.sort(ascending[kept]), radius[kept]
        centre = ascending[kept]
        m = _within(values, centre, reach)
        nats = digamma(kept.sum()) + np.mean(
            digamma(used[kept]) - digamma(own[kept]) - digamma(np.maximum(m, 1))
        )
        found.append(max(0.0, float(nats)))
    return np.array(found)


def _farthest(ascending: Double, k: int) -> Double:
    """Distance of each of the sorted values to the k-th nearest other one."""
    n = len(ascending)
    ends = np.concatenate([np.full(k, -np.inf), ascending, np.full(k, np.inf)])
    # The k + 1 windows of k + 1 neighbours that hold the value: the narrowest reach is the k-th.
    reach = np.full(n, np.inf)
    for left in range(k + 1):
        low, high = ends[k - left : k - left + n], ends[2 * k - left : 2 * k - left + n]
        reach = np.minimum(reach, np.maximum(ascending - low, high - ascending))
    return reach


def _within(ascending: Double, centre: Double, reach: Double) -> Long:
    """How many values are at most `reach` from each centre, by their differences: the sum of
    centre and reach may round to the neighbour that the reach just leaves out."""
    right = np.searchsorted(ascending, centre + reach, side="right")
    left = np.searchsorted(ascending, centre - reach, side="left")
    last = len(ascending) - 1
    for _ in range(2):
        right -= ascending[np.maximum(right - 1, 0)] - centre > reach
        right += (right <= last) & (ascending[np.minimum(right, last)] - centre <= reach)
        left += centre - ascending[np.minimum(left, last)] > reach
        left -= (left > 0) & (centre - ascending[np.maximum(left - 1, 0)] <= reach)
    return np.asarray(right - left)
