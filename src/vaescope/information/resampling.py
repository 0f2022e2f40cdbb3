"""Replicates of information and moments by resampling rows in blocks, at a cost linear in n.

Rows are put into blocks at random and blocks are drawn with replacement: for sums over rows this
has the variance of drawing single rows, and a resample is a weighted sum of a few hundred tables
instead of a pass over all rows.
"""

from dataclasses import dataclass

import numpy as np

from vaescope.types import Double, Floats, Integers, Long

__all__ = ["Replicates", "block_weights", "information_replicates", "moment_replicates"]

#: Enough that a standard deviation from them is good to 1 / sqrt(2 * 256) = 4%.
BLOCKS = 256


@dataclass(frozen=True, eq=False)
class Replicates:
    """Plug-in information and entropy on resampled rows."""

    information: Double  # (resamples, columns of a, columns of b)
    entropy_of_b: Double  # (resamples, columns of b)


def block_weights(n: int, *, resamples: int, rng: np.random.Generator) -> tuple[Long, Double]:
    """The block of each row, and how often each resample has each block: (resamples, blocks).

    Args:
        n: number of rows.
        resamples: bootstrap resamples behind the interval.
        rng: generator of random numbers.

    Returns:
        An array; its shape follows from the arguments.

    Example:
        >>> import numpy as np
        >>> from vaescope.information.resampling import block_weights
        >>> blocks, weights = block_weights(100, resamples=3, rng=np.random.default_rng(0))
        >>> weights.shape[0]
        3
    """
    blocks = min(BLOCKS, n)
    of_rows = rng.permutation(n) % blocks
    weights = rng.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=resamples)
    return of_rows, weights.astype(np.float64)


def information_replicates(
    a: Integers, b: Integers, *, resamples: int, rng: np.random.Generator
) -> Replicates:
    """Information of each column of a with each of b, on resampled rows.

    Args:
        a: the first array of classes.
        b: the second array of classes.
        resamples: bootstrap resamples behind the interval.
        rng: generator of random numbers.

    Returns:
        `Replicates`: plug-in information and entropy on resampled rows.

    Example:
        >>> import numpy as np
        >>> from vaescope.information.resampling import information_replicates
        >>> a = np.array([[0], [1]] * 50)
        >>> replicates = information_replicates(a, a, resamples=3, rng=np.random.default_rng(0))
        >>> replicates.information.shape
        (3, 1, 1)
    """
    of_rows, weights = block_weights(len(a), resamples=resamples, rng=rng)
    widths = b.max(axis=0).astype(np.int64) + 1
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    blocks, total = weights.shape[1], int(widths.sum())
    sides = b.astype(np.int64) + starts  # (n, columns of b)
    h_b = np.empty((resamples, len(widths)))
    information = np.empty((resamples, a.shape[1], len(widths)))
    for i, column in enumerate(a.T.astype(np.int64)):
        height = int(column.max()) + 1
        counts = np.zeros(blocks * height * total, dtype=np.int64)
        base = (of_rows * height + column) * total
        for side in sides.T:
            counts += np.bincount(base + side, minlength=len(counts))
        drawn = (weights @ counts.reshape(blocks, -1)).reshape(resamples, height, total)
        n = drawn[:, :, : widths[0]].sum(axis=(1, 2))[:, None]  # blocks may differ by one row
        h_a = _entropy(drawn[:, :, : widths[0]].sum(axis=2), n, np.array([0]))
        if i == 0:
            h_b = _entropy(drawn.sum(axis=1), n, starts)
        terms = _n_log_n(drawn).sum(axis=1)
        h_joint = np.log(n) - np.add.reduceat(terms, starts, axis=1) / n
        information[:, i] = np.maximum(h_a + h_b - h_joint, 0.0)
    return Replicates(information, h_b)


def moment_replicates(values: Floats, *, resamples: int, rng: np.random.Generator) -> Double:
    """Correlation matrices of the columns on resampled rows; 0 where a column is constant.

    Args:
        values: (n, k) numbers.
        resamples: bootstrap resamples behind the interval.
        rng: generator of random numbers.

    Returns:
        An array; its shape follows from the arguments.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> from vaescope.information.resampling import moment_replicates
        >>> codes = vs.known.codes()
        >>> moment_replicates(codes.mean, resamples=3, rng=np.random.default_rng(0)).shape
        (3, 5, 5)
    """
    of_rows, weights = block_weights(len(values), resamples=resamples, rng=rng)
    d, blocks = values.shape[1], weights.shape[1]
    scale = values.std(axis=0, dtype=np.float64)
    # In standard units, so that the moments of very different columns do not cancel.
    z = (values - values.mean(axis=0, dtype=np.float64)) / np.where(scale > 0, scale, 1.0)
    rows = np.argsort(of_rows, kind="stable")
    starts = np.searchsorted(of_rows[rows], np.arange(blocks))
    z = z[rows]
    first = np.add.reduceat(z, starts, axis=0)
    ends = np.append(starts[1:], len(z))
    second = np.array([z[low:high].T @ z[low:high] for low, high in zip(starts, ends, strict=True)])
    n = (weights @ (ends - starts))[:, None]
    mean = weights @ first / n
    raw = (weights @ second.reshape(blocks, -1) / n).reshape(-1, d, d)
    covariance = raw - mean[:, :, None] * mean[:, None, :]
    spread = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0))
    varies = spread > 1e-9
    outer = np.where(varies, spread, 1.0)
    both = varies[:, :, None] & varies[:, None, :]
    return np.where(both, covariance / (outer[:, :, None] * outer[:, None, :]), 0.0)


def _entropy(counts: Double, n: Double, starts: Long) -> Double:
    """Entropies of the variables that begin at `starts`: (resamples, variables)."""
    return np.asarray(np.log(n) - np.add.reduceat(_n_log_n(counts), starts, axis=1) / n)


def _n_log_n(counts: Double) -> Double:
    return counts * np.log(np.maximum(counts, 1.0))
