"""Columns of the Jacobian: how long they are, and the cosines between them.

The plainest measure of orthogonality: no singular vectors, hence no degenerate case.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from vaescope.estimates import interval_of_mean
from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.result import GeometryMeasure
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.types import Array, Floats, Matrix

__all__ = [
    "ColumnCosine",
    "ColumnNorm",
    "column_cosine",
    "column_cosine_of",
    "column_norm",
    "column_norm_of",
]


@dataclass(frozen=True, eq=False)
class ColumnCosine(GeometryMeasure):
    """Mean |cosine| over pairs of columns, and the mean of each pair."""

    per_point: Matrix
    pairs: Matrix  # (columns, columns) mean |cosine|, 1 on the diagonal
    columns: tuple[int, ...]

    def summary(self) -> str:
        return (
            f"mean |cosine| of {len(self.columns)} columns {self.value:.3f} over {self.n} points "
            f"in {self.space} space"
        )


@dataclass(frozen=True, eq=False)
class ColumnNorm(GeometryMeasure):
    """Mean column norm over columns and points, and the mean norm of each column."""

    per_column: Matrix
    columns: tuple[int, ...]

    def summary(self) -> str:
        each = ", ".join(
            f"{j}: {norm:.3g}" for j, norm in zip(self.columns, self.per_column, strict=True)
        )
        return f"column norms over {self.n} points in {self.space} space: {each}"


def column_cosine_of(grams: Grams) -> ColumnCosine:
    """`column_cosine` of known Gram matrices. One column alone gives 0.

    Args:
        grams: Gram matrices of Jacobians, from `grams` or `grams_of`.

    Returns:
        `ColumnCosine`: mean |cosine| over pairs of columns, and the mean of each pair.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> grams = vs.geometry.grams_of(np.array([[[2.0, 0.5], [0.0, 1.0]]]))
        >>> round(vs.geometry.column_cosine_of(grams).value, 2)
        0.45
    """
    norms = grams.norms
    scale = norms[:, :, None] * norms[:, None, :]
    # A column of 0 has no direction; it counts as orthogonal.
    cosine = np.divide(grams.values, scale, out=np.zeros_like(grams.values), where=scale > 0)
    size = np.clip(np.abs(cosine), 0.0, 1.0)
    d = size.shape[-1]
    rows, others = np.triu_indices(d, 1)
    per_point = size[:, rows, others].mean(axis=1) if d > 1 else np.zeros(grams.n)
    pairs = size.mean(axis=0)
    np.fill_diagonal(pairs, 1.0)
    return ColumnCosine(
        float(per_point.mean()), interval_of_mean(per_point), grams.n, grams.space, per_point,
        pairs, grams.columns,
    )  # fmt: skip


def column_norm_of(grams: Grams) -> ColumnNorm:
    """`column_norm` of known Gram matrices.

    Args:
        grams: Gram matrices of Jacobians, from `grams` or `grams_of`.

    Returns:
        `ColumnNorm`: mean column norm over columns and points, and the mean norm of each column.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> grams = vs.geometry.grams_of(np.array([[[2.0, 0.5], [0.0, 1.0]]]))
        >>> round(vs.geometry.column_norm_of(grams).value, 2)
        1.56
    """
    norms = grams.norms
    per_point = norms.mean(axis=1)
    return ColumnNorm(
        float(per_point.mean()), interval_of_mean(per_point), grams.n, grams.space,
        norms.mean(axis=0), grams.columns,
    )  # fmt: skip


def column_cosine(
    decode: Decode,
    points: Floats | Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
) -> ColumnCosine:
    """Mean over points and pairs i < j of |c_i . c_j| / (||c_i|| ||c_j||), c_j = dx/dz_j.

    Leave passive latents out by `columns`: the direction of a column of nearly 0 is noise.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.

    Returns:
        `ColumnCosine`: mean |cosine| over pairs of columns, and the mean of each pair.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> decode = lambda z: torch.tanh(z @ torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).T)
        >>> points = torch.zeros(4, 2)
        >>> round(vs.geometry.column_cosine(decode, points).value, 2)
        0.32
    """
    return column_cosine_of(
        grams(decode, points, space=space, likelihood=likelihood, columns=columns)
    )


def column_norm(
    decode: Decode,
    points: Floats | Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
) -> ColumnNorm:
    """Mean over points of ||dx/dz_j||: how strongly the output depends on each latent.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.

    Returns:
        `ColumnNorm`: mean column norm over columns and points, and the mean norm of each column.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> decode = lambda z: torch.tanh(z @ torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).T)
        >>> points = torch.zeros(4, 2)
        >>> round(vs.geometry.column_norm(decode, points).value, 2)
        1.83
    """
    return column_norm_of(
        grams(decode, points, space=space, likelihood=likelihood, columns=columns)
    )
