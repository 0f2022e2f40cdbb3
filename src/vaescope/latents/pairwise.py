"""How each pair of latents depends on each other: covariance, ranks and binned information.

All that the measures of `correlation` need, once for all latents; subsets are cut out of these
matrices, as the code of bonheme2023 does.
"""

from dataclasses import dataclass
from sys import byteorder

import numpy as np
from scipy.special import ndtri, xlogy

from vaescope.information.binning import has_room
from vaescope.latents.moments import chunks, moments
from vaescope.seeds import rng
from vaescope.types import Booleans, Double, Floats, Long, Matrix

__all__ = ["Pairwise", "binned_information", "normal_scores", "pairwise"]


RANK_ROWS = 200_000


@dataclass(frozen=True, eq=False)
class Pairwise:
    """Three (d, d) matrices of one representation over n rows."""

    covariance: Matrix  # ddof 1; rows of constant latents are exactly 0
    rank_correlation: Matrix  # of normal scores
    mutual_information: Matrix  # plug-in, nats; 0 on the diagonal
    n: int
    rank_rows: int  # of these behind the ranks

    @property
    def correlation(self) -> Matrix:
        return as_correlation(self.covariance)


def as_correlation(covariance: Matrix) -> Matrix:
    """The correlation matrix; a constant latent is uncorrelated with all others."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    correlation = np.clip(covariance / scale / scale[:, None], -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def pairwise(values: Floats, *, bins: int = 20, seed: int = 0) -> Pairwise:
    """The matrices of the columns of `values`, shape (n, d).

    Linear in n, in a few copies of one column besides one of the codes. Ranks need a sort: of more
    than 200,000 rows they are on as many drawn with `seed`, where a total correlation is good to
    about 0.002 nats.
    """
    n = len(values)
    columns = np.ascontiguousarray(values.T)
    least, most = columns.min(axis=1).astype(np.float64), columns.max(axis=1).astype(np.float64)
    varies = has_room(least, most, bins)
    covariance = moments(columns.T).covariance * (n / max(n - 1, 1))
    covariance[~varies] = 0.0
    covariance[:, ~varies] = 0.0
    low, high = np.where(varies, least, least - 0.5), np.where(varies, most, least + 0.5)
    information = binned_information(columns, np.linspace(low, high, bins + 1, axis=1))
    if n > RANK_ROWS:
        drawn = rng(seed, "ranks").choice(n, RANK_ROWS, replace=False, shuffle=False)
        columns = columns[:, drawn]
    return Pairwise(
        covariance, _rank_correlation(columns, varies), information, n, columns.shape[1]
    )


def _rank_correlation(columns: Floats, varies: Booleans) -> Matrix:
    table = ndtri((np.arange(columns.shape[1]) + 0.5) / columns.shape[1])
    scores = np.zeros(columns.shape)
    for j in np.flatnonzero(varies):
        scores[j] = normal_scores(columns[j], table)
    return as_correlation(scores @ scores.T)


def normal_scores(column: Floats, table: Double) -> Double:
    """Each value's normal quantile at its rank; equal values share the middle of their ranks.

    `table` holds the quantiles of (rank + 1/2) / n.
    """
    order, same = _order(column)
    if len(same):
        table = table.copy()
        firsts = np.flatnonzero(np.diff(same, prepend=-2) != 1)
        start, sizes = same[firsts], np.diff(firsts, append=len(same)) + 1  # of each run of ties
        middle = 0.5 * (table[start + (sizes - 1) // 2] + table[start + sizes // 2])
        table[same] = table[same + 1] = np.repeat(middle, sizes - 1)
    scores = np.empty(len(column))
    scores[order] = table
    return scores


def _order(column: Floats) -> tuple[Long, Long]:
    """Places of the sorted values, and where among these a value equals its successor."""
    n = len(column)
    if column.dtype != np.float32 or n >= 2**31:
        order = np.argsort(column)
        ascending = column[order]
        return order, np.flatnonzero(ascending[1:] == ascending[:-1])
    # Value and place packed in one integer: NumPy sorts those four times as fast as it argsorts.
    packed = np.empty(n, dtype=np.int64)
    place, value = packed.view(np.int32).reshape(n, 2).T[:: 1 if byteorder == "little" else -1]
    bits = (column + np.float32(0.0)).view(np.int32)  # adding 0 turns -0 into 0
    np.bitwise_xor(bits, (bits >> 31) & np.int32(0x7FFFFFFF), out=value)  # ordered as the numbers
    place[:] = np.arange(n, dtype=np.int32)
    packed.sort()
    same = np.flatnonzero(value[1:] == value[:-1])
    packed &= 0xFFFFFFFF  # the places
    return packed, same


def binned_information(columns: Floats, edges: Double) -> Matrix:
    """Plug-in mutual information of each pair of columns, in nats; 0 on the diagonal.

    Row j of `edges` has the ends of column j's bins, of equal width as in
    `information.binning.equal_width`. Biased upwards, by up to (bins - 1)^2 / 2n for independent
    columns.
    """
    (d, n), bins = columns.shape, edges.shape[1] - 1
    first, second = np.triu_indices(d, 1)
    counts = np.zeros((len(first), bins * bins), dtype=np.int64)
    for rows in chunks(n):
        classes = np.array(
            [_classes(column[rows], own) for column, own in zip(columns, edges, strict=True)]
        )
        shifted = classes * bins
        for pair, (a, b) in enumerate(zip(first, second, strict=True)):
            counts[pair] += np.bincount(shifted[a] + classes[b], minlength=bins * bins)
    share = (counts / n).reshape(-1, bins, bins)
    h_first, h_second = _entropy(share.sum(axis=2)), _entropy(share.sum(axis=1))
    information = np.zeros((d, d))
    # A difference of entropies may leave -1e-16 where there is no information.
    information[first, second] = np.maximum(h_first + h_second - _entropy(share), 0.0)
    return information + information.T


def _classes(column: Floats, edges: Double) -> Long:
    """Bins of a column: arithmetic, with a search only for values within rounding of an edge."""
    width = (edges[-1] - edges[0]) / (len(edges) - 1)
    place = (column.astype(np.float64) - edges[0]) / width
    slack = 1e-6 + 4.0 * np.finfo(np.float64).eps * np.abs(edges).max() / width
    near = np.flatnonzero(np.abs(place - np.rint(place)) < slack)
    classes: Long = place.astype(np.int64)
    classes[near] = np.searchsorted(edges[:-1], column[near], side="right") - 1
    return classes


def _entropy(share: Double) -> Double:
    """Of the shares along all axes but the first."""
    return np.asarray(-xlogy(share, share).sum(axis=tuple(range(1, share.ndim))))
