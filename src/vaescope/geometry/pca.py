"""Principal component analysis beside VAEs: of a linear decoder and of latents.

zietlow2022 Theorem 2: a linear VAE's columns are the principal axes. Section 3.3.5: latents by
ascending posterior variance are non-linear principal components.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from vaescope.errors import ShapeError
from vaescope.estimates import interval_of_mean
from vaescope.geometry.jacobian import grams, jacobians
from vaescope.geometry.orthogonality import DEGENERATE
from vaescope.geometry.reader import as_points, read_at, variances_of
from vaescope.geometry.result import GeometryMeasure
from vaescope.geometry.space import Decode
from vaescope.types import Array, Floats, Long, Matrix

__all__ = [
    "PrincipalAlignment",
    "PrincipalOrder",
    "matched",
    "matched_angles",
    "principal_alignment",
    "principal_order",
]


def matched_angles(columns: Matrix, axes: Matrix) -> Matrix:
    """Degrees between columns and axes, each with a partner of its own, in the best order.

    Columns of both are vectors, and there are at least as many axes. Signs do not matter; a column
    of 0 has no direction and counts as 90 degrees.

    >>> matched_angles(np.array([[0.0, 1.0], [-2.0, 1.0]]), np.eye(2))
    array([ 0., 45.])
    """
    return matched(columns, axes)[0]


def matched(columns: Matrix, axes: Matrix) -> tuple[Matrix, Long]:
    """Angles of the columns and which axis is each one's partner."""
    units, along = _units(columns), _units(axes)
    own, partner = linear_sum_assignment(np.abs(units.T @ along), maximize=True)
    along = along[:, partner]
    inner = (units[:, own] * along).sum(axis=0)
    # arccos has no digits left near 1; the part that sticks out has.
    rest = np.linalg.norm(units[:, own] - along * inner, axis=0)
    angles = np.degrees(np.arctan2(rest, np.abs(inner)))
    return np.asarray(np.where(rest + np.abs(inner) > 0, angles, 90.0)), partner


def _units(columns: Matrix) -> Matrix:
    norms = np.linalg.norm(columns, axis=0)
    out = np.zeros(columns.shape)
    return np.asarray(np.divide(columns, norms, out=out, where=norms > 0))


def _close(singular: Matrix) -> bool:
    """Whether two neighbours among descending singular values cannot be told apart."""
    return bool(np.any(singular[1:] > DEGENERATE * singular[:-1]))


@dataclass(frozen=True, eq=False)
class PrincipalAlignment(GeometryMeasure):
    """The value is the largest angle, degrees, between a column and its principal axis."""

    angles: Matrix  # (columns,) means over points
    deviations: Matrix  # (columns,) standard deviations of the data along the axes
    degenerate: bool  # whether two of them are within 10%: their axes are then arbitrary

    def summary(self) -> str:
        warning = "; axes of equal variance may rotate freely" if self.degenerate else ""
        each = ", ".join(f"{angle:.2f}" for angle in self.angles)
        return f"angles to the principal axes {each} degrees, {self.n} points{warning}"


def principal_alignment(
    decode: Decode,
    points: Floats | Tensor,
    x: Floats,
    *,
    columns: Sequence[int] | Array | None = None,
) -> PrincipalAlignment:
    """Angles of the decoder's columns to the principal axes of x after the best matching.

    For a linear decoder one point is enough. The columns of a curved decoder differ from point to
    point: use its distance to orthogonality instead, or the data's local directions.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        x: (n, ...) rows whose principal directions are compared.
        columns: latents to measure; None takes all.

    Returns:
        `PrincipalAlignment`: the value is the largest angle, degrees, between a column and its
        principal axis.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x, latent=3)
        >>> decode = lambda z: model.decode(z).mean
        >>> vs.geometry.principal_alignment(decode, np.zeros((2, 3), "f4"), x).value < 0.1
        True
    """
    j = jacobians(decode, points, space="output", columns=columns).values.astype(np.float64)
    data = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
    if data.shape[1] != j.shape[1] or min(data.shape) < j.shape[2]:
        raise ShapeError(
            f"The decoder makes {j.shape[1]} outputs of {j.shape[2]} latents; the data have shape "
            f"{np.shape(x)}.",
            "Pass the data that the model was trained on.",
        )
    singular, axes = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)[1:]
    axes, d = axes[: j.shape[2]].T, j.shape[2]
    angles = np.array([matched_angles(one, axes) for one in j])
    largest = angles.max(axis=1)
    return PrincipalAlignment(
        float(largest.mean()), interval_of_mean(largest), len(j), "output", angles.mean(axis=0),
        singular[:d] / np.sqrt(len(data)), _close(singular[: d + 1]),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PrincipalOrder(GeometryMeasure):
    """The value is Spearman's correlation of certainty with column length: 1 if the latents that
    are encoded most precisely move the output most. n counts points."""

    order: tuple[int, ...]  # latents in ascending order of mean posterior variance
    mean_variance: Matrix  # mean posterior variances in that order
    column_norm: Matrix  # mean column norms in that order
    explained: Matrix  # (columns + 1,) share of the output's variation with the first k latents

    @property
    def monotone(self) -> bool:
        """Whether each further latent brings the output nearer."""
        return bool(np.all(np.diff(self.explained) >= -1e-6))

    def summary(self) -> str:
        shares = ", ".join(f"{share:.2f}" for share in self.explained[1:])
        return (
            f"latents by certainty {', '.join(map(str, self.order))}; Spearman with column length "
            f"{self.value:.2f}; explained by the first 1, 2, ...: {shares} ({self.n} points)"
        )


@torch.no_grad()
def principal_order(
    decode: Decode,
    mean: Floats | Tensor,
    variance: Floats,
    *,
    columns: Sequence[int] | Array | None = None,
) -> PrincipalOrder:
    """Latents as non-linear principal components: by ascending posterior variance.

    `explained[k]` is 1 - E||Dec(z_k) - Dec(mu)||^2 / E||Dec(z_0) - Dec(mu)||^2, where z_k has the
    first k latents of mu and the average code elsewhere.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        mean: (n, latent) posterior means.
        variance: (n, latent) posterior variances.
        columns: latents to measure; None takes all.

    Returns:
        `PrincipalOrder`: the value is Spearman's correlation of certainty with column length: 1 if
        the latents that are encoded most precisely move the output most.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x, latent=3)
        >>> codes = vs.encode(model, x)
        >>> decode = lambda z: model.decode(z).mean
        >>> vs.geometry.principal_order(decode, codes.mean, codes.variance).order
        (0, 1, 2)
    """
    z = as_points(mean, decode)
    found = grams(decode, z, space="output", columns=columns)
    chosen = np.array(found.columns)
    spread = variances_of(variance, mean, found.columns).mean(axis=0)
    norms = found.norms.mean(axis=0)
    order = np.argsort(spread, kind="stable")
    reader = read_at(decode, z, space="output")
    goal = reader.coordinates(z).double()
    partial = z.clone()
    partial[:, chosen] = z[:, chosen].mean(0)
    errors = []
    for step in range(len(order) + 1):
        if step:
            latent = chosen[order[step - 1]]
            partial[:, latent] = z[:, latent]
        errors.append(float(((reader.coordinates(partial).double() - goal) ** 2).sum(1).mean()))
    left = np.array(errors)
    explained = 1.0 - left / left[0] if left[0] > 0 else np.ones_like(left)
    value = float("nan")
    if len(order) > 1 and np.ptp(spread) > 0 and np.ptp(norms) > 0:
        value = float(stats.spearmanr(-spread, norms).statistic)
    return PrincipalOrder(
        value, None, len(z), "output", tuple(int(i) for i in chosen[order]), spread[order],
        norms[order], explained,
    )  # fmt: skip
