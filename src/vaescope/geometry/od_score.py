"""Orthogonality deviation score of a local decoder's matrix, corrected. Paper 003 section 4.4.

Bhowal et al. 2024, https://proceedings.mlr.press/v235/bhowal24a.html. The released code compares
factors of the full SVD without matching order and sign, takes an elementwise power for a matrix
root, and its fitting loss has a term that depends on which architecture is judged: `legacy_od`
shows that the distances cannot tell orthogonal from random. Here the thin factors are aligned
first, and nothing depends on the model but its matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.orthogonality import distances
from vaescope.geometry.result import Measured, Spread, interval_of_mean, spread_of
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.types import Array, Floats

__all__ = ["LegacyOD", "ODScore", "legacy_od", "od_score", "od_score_of"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ODScore(Measured):
    """(u^2 / 2d + s^2 + v^2 / 2d) / 3: between 0, for orthogonal columns, and 1."""

    u: Spread  # ||U - M's columns made unit||_F after alignment
    s: Spread  # ||sorted S - sorted column norms|| / ||S||
    v: Spread  # ||V P' - I||_F: the distance to orthogonality
    columns: tuple[int, ...]

    def summary(self) -> str:
        return (
            f"OD-Score {self.value:.3f} over {self.n} points in {self.space} space: "
            f"u {self.u.value:.3f}, s {self.s.value:.3f}, v {self.v.value:.3f}"
        )


def _aligned_u(g: Matrix, singular: Matrix, v: Matrix, norms: Matrix) -> Matrix:
    """||U P' - M D^-1||_F, D the column norms; needs neither U nor M, as U = M V S^-1 makes
    their inner product the sum of s_i |V_ji| / ||c_j|| over the matched pairs."""
    d = g.shape[-1]
    out = np.empty(len(g))
    for point in range(len(g)):
        size = np.abs(v[point])
        latent, value = linear_sum_assignment(size, maximize=True)
        norm = norms[point, latent]
        inner = singular[point, value] * size[latent, value]
        # A column of 0 is orthogonal to all others.
        cosine = np.divide(inner, norm, out=np.ones(d), where=norm > 0)
        out[point] = np.sqrt(max(0.0, 2.0 * d - 2.0 * cosine.sum()))
    return out


def od_score_of(found: Grams) -> ODScore:
    """The score of Gram matrices that are at hand, e.g. `grams_of(fit.matrices)`."""
    singular, v = found.singular()
    norms, d = found.norms, len(found.columns)
    d_v = distances(v)
    d_u = _aligned_u(found.values, singular, v, norms)
    total = np.linalg.norm(singular, axis=1)
    off = np.linalg.norm(singular - np.sort(norms, axis=1)[:, ::-1], axis=1)
    d_s = np.divide(off, total, out=np.zeros_like(off), where=total > 0)
    value = (d_u**2 / (2.0 * d) + d_s**2 + d_v**2 / (2.0 * d)) / 3.0
    return ODScore(
        float(value.mean()), interval_of_mean(value), found.n, found.space,
        spread_of(d_u, found.space), spread_of(d_s, found.space), spread_of(d_v, found.space),
        found.columns,
    )  # fmt: skip


def od_score(
    decode: Decode,
    points: Floats | Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
) -> ODScore:
    """Corrected OD-Score of the decoder's Jacobians; of fitted matrices, see `od_score_of`.

    The paper divides each term by its maximum over the models compared, so that a score depends
    on its rivals; here each has its own bound.
    """
    found = grams(decode, points, space=space, likelihood=likelihood, columns=columns)
    return od_score_of(found)


@dataclass(frozen=True)
class LegacyOD:
    """The three distances as released, for one matrix; not comparable with anything."""

    u: float
    s: float
    v: float


def legacy_od(matrix: Floats) -> LegacyOD:
    """The released formula, for showing what it does: do not use it.

    N = M ((M'M)^-1 with negative entries set to 0) to the elementwise power 1/2; Frobenius
    distances of the full SVD factors of M and N, and of V' to the identity.
    """
    m = np.asarray(matrix, dtype=np.float64)
    n = m @ np.sqrt(np.clip(np.linalg.inv(m.T @ m), 0.0, None))
    u, s, vh = np.linalg.svd(m, full_matrices=True)
    u_n, s_n, _ = np.linalg.svd(n, full_matrices=True)
    return LegacyOD(
        float(np.linalg.norm(u_n - u)),
        float(np.linalg.norm(s_n - s)),
        float(np.linalg.norm(np.eye(len(vh)) - vh)),
    )
