"""Means, variances and covariances of many rows: float64, in chunks, in one pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from vaescope.types import Double, Floats

__all__ = ["Moments", "Spreads", "chunks", "moments", "spreads"]

#: A chunk of ten latents in float64 stays in a core's second cache.
ROWS = 16_384


def chunks(n: int, rows: int = ROWS) -> Iterator[slice]:
    """Slices that cover n rows."""
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and population covariance (ddof 0) of each column over n rows."""

    mean: Double
    covariance: Double
    n: int

    @property
    def variance(self) -> Double:
        return np.diag(self.covariance)


def moments(values: Floats) -> Moments:
    """Mean and covariance of the columns; chunks are merged as in Chan et al. 1979.

    Chunks are centred before they are squared: passive means have a spread of 1e-2 and less. All is
    measured from the first row, so that a constant has exactly its own mean and no variance.
    """

    def products(block: Double) -> Double:
        return np.asarray(block @ block.T)

    mean, scatter = _merged(values, products)
    return Moments(mean, scatter / len(values), len(values))


@dataclass(frozen=True, eq=False)
class Spreads:
    """Mean and population variance of each column."""

    mean: Double
    variance: Double


def spreads(values: Floats) -> Spreads:
    """`moments` without what two columns have in common: linear in columns."""

    def squares(block: Double) -> Double:
        return np.asarray(np.einsum("ij,ij->i", block, block)[:, None])

    mean, scatter = _merged(values, squares)
    return Spreads(mean, scatter[:, 0] / len(values))


def _merged(values: Floats, products: Callable[[Double], Double]) -> tuple[Double, Double]:
    """The mean of the columns and the sum over chunks of their products, merged."""
    d = values.shape[1]
    origin = values[0].astype(np.float64)[:, None]
    mean, scatter, seen = np.zeros((d, 1)), 0.0 * products(np.zeros((d, 1))), 0
    for rows in chunks(len(values)):
        block = values[rows].T.astype(np.float64, order="C")  # long rows: ten are slow to run over
        block -= origin
        m = block.shape[1]
        own = block.mean(axis=1, keepdims=True)
        block -= own
        step = own - mean
        scatter += products(block) + products(step) * (seen * m / (seen + m))
        mean += step * (m / (seen + m))
        seen += m
    return (origin + mean)[:, 0], scatter
