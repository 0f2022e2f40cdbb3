"""Neighbours in the data and in the latents. bhowal2024 Theorem 2.

(a) Posteriors that overlap belong to neighbours in the data; (b) with less rate, data neighbours
come closer in the latents. Measured, not assumed: the expected distance of samples contains both
posterior variances, which grow as the rate falls, so it can rise; the means' distance is beside it.
The theorem's Dist(L_KL) is a sum over the k_i nearest examples of x_i, k_i being the number of
posteriors that overlap with its own. More posteriors overlap as the rate falls, so that the sum has
more terms: it is beside our mean over a fixed number of neighbours.
"""

from dataclasses import dataclass

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import RangeError, ShapeError
from vaescope.estimates import interval_of_mean
from vaescope.geometry.result import GeometryMeasure, measure_of
from vaescope.latents.kl import rate_of_rows
from vaescope.prior_density import PriorDensity, standard_normal
from vaescope.types import Floats, Long, Matrix

__all__ = ["Neighbours", "neighbours"]


@dataclass(frozen=True, eq=False)
class Neighbours(GeometryMeasure):
    """The value is the share of the k nearest posteriors that are among the k nearest examples."""

    chance: float  # the share if posteriors were unrelated to the data
    distance: GeometryMeasure  # mean of E||z_i - z_k||^2 over the k data neighbours, by samples
    summed_distance: GeometryMeasure  # Dist(L_KL) as printed: its sum over the k_i nearest examples
    overlapping: GeometryMeasure  # k_i, the posteriors that overlap with that of x_i
    distance_of_means: GeometryMeasure  # distance between posterior means
    relative_distance: float  # distance divided by the mean distance of any two examples
    kl_nats: GeometryMeasure
    k: int

    def summary(self) -> str:
        return (
            f"{self.value:.1%} of the {self.k} nearest posteriors are nearest examples (chance "
            f"{self.chance:.1%}); data neighbours are {self.distance.value:.3g} apart "
            f"({self.relative_distance:.2f} of any two) at a rate of {self.kl_nats.value:.2f} nats"
            f"; summed over as many as overlap, {self.overlapping.value:.1f} on average, "
            f"{self.summed_distance.value:.3g}"
        )


def _squared(a: Matrix, b: Matrix) -> Matrix:
    """Squared Euclidean distances of rows."""
    cross = a @ b.T
    apart = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2.0 * cross
    return np.asarray(np.clip(apart, 0.0, None))


def _bhattacharyya(mean: Matrix, variance: Matrix, rows: slice) -> Matrix:
    """Bhattacharyya distances of diagonal Gaussians: 0 for full overlap."""
    middle = 0.5 * (variance[rows, None, :] + variance[None, :, :])
    apart = (mean[rows, None, :] - mean[None, :, :]) ** 2 / middle
    logs = np.log(variance).sum(axis=1)
    spread = np.log(middle).sum(axis=2) - 0.5 * (logs[rows, None] + logs[None, :])
    return np.asarray(0.125 * apart.sum(axis=2) + 0.5 * spread)


def _nearest(distance: Matrix, first: int, k: int) -> Long:
    """The k nearest others of each row; row i of the block is example first + i."""
    rows = np.arange(len(distance))
    distance[rows, first + rows] = np.inf
    return np.argpartition(distance, k - 1, axis=1)[:, :k]


def neighbours(
    x: Floats,
    mean: Floats,
    variance: Floats,
    *,
    prior: PriorDensity | None = None,
    k: int = 10,
    overlap: float = 0.5,
    block: int = 128,
) -> Neighbours:
    """Theorem 2's two quantities for examples x and posteriors N(mean, diag(variance)).

    Neighbours of posteriors are by Bhattacharyya distance, those of data by squared error. The
    rate is the KL to `prior`, by default N(0, I). Time and memory grow with n^2 and with
    block * n * d, so use a few thousand examples at most.

    Args:
        k: number of neighbours for the mean distance and the share.
        overlap: Bhattacharyya coefficient, 1 for equal posteriors, from which two overlap; the
            theorem says "overlaps (is close)" and gives no number. Used for the sum only.
        x: rows of data.
        mean: (n, latent) posterior means.
        variance: (n, latent) posterior variances.
        prior: a prior.
        block: rows at a time.

    Returns:
        `Neighbours`: the value is the share of the k nearest posteriors that are among the k
        nearest examples.

    Raises:
        DataError: a file is missing or damaged.
        DiskError: a folder cannot be written.
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> codes = vs.encode(vs.known.linear_vae(x), x)
        >>> neighbours = vs.geometry.neighbours(x, codes.mean, codes.variance)
        >>> neighbours.value > neighbours.chance
        True
    """
    data = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
    mu, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    n = len(data)
    if not 0.0 < overlap < 1.0:
        raise RangeError(f"overlap is {overlap}; wanted it between 0 and 1.", "Pass e.g. 0.5.")
    if mu.shape != v.shape or len(mu) != n or not 0 < k < n or np.any(v <= 0):
        raise ShapeError(
            f"There are {n} examples, means of shape {mu.shape} and variances of shape {v.shape} "
            f"for {k} neighbours; wanted positive variances, one row per example, and k below n.",
            "Encode the same rows with a stochastic encoder.",
        )
    noise = v.sum(axis=1)
    share, between, of_means, summed, counts = (np.empty(n) for _ in range(5))
    everything = 0.0
    for start in range(0, n, block):
        rows = slice(start, min(n, start + block))
        away = _squared(data[rows], data)
        near = _nearest(away, start, k)
        latent = _bhattacharyya(mu, v, rows)
        overlapping = _nearest(latent, start, k)
        apart = _squared(mu[rows], mu)
        samples = apart + noise[rows, None] + noise[None, :]
        samples[np.arange(len(samples)), start + np.arange(len(samples))] = 0.0
        everything += float(samples.sum())
        shared = [np.isin(a, b).mean() for a, b in zip(overlapping, near, strict=True)]
        share[rows] = shared
        of_means[rows] = np.take_along_axis(apart, near, axis=1).mean(axis=1)
        between[rows] = np.take_along_axis(samples, near, axis=1).mean(axis=1)
        counts[rows] = (latent <= -np.log(overlap)).sum(axis=1)  # its own is at infinity by now
        nearest_first = np.take_along_axis(samples, np.argsort(away, axis=1), axis=1)
        cumulative = np.pad(nearest_first.cumsum(axis=1), ((0, 0), (1, 0)))
        summed[rows] = np.take_along_axis(
            cumulative, counts[rows].astype(np.int64)[:, None], axis=1
        )[:, 0]
    own = standard_normal(mu.shape[1]) if prior is None else prior
    rate = rate_of_rows(Codes(mu, v, mu, prior=own)).mean(axis=0)
    typical = everything / (n * (n - 1))
    return Neighbours(
        float(share.mean()), interval_of_mean(share), n, "latent", k / (n - 1),
        measure_of(between, "latent"), measure_of(summed, "latent"), measure_of(counts, "latent"),
        measure_of(of_means, "latent"),
        float(between.mean()) / typical, measure_of(rate, "latent"), k,
    )  # fmt: skip
