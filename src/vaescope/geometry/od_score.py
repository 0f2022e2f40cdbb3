"""Orthogonality deviation score of a local decoder's matrix, corrected. bhowal2024 section 4.4.

Bhowal et al. 2024, https://proceedings.mlr.press/v235/bhowal24a.html. The released code compares
factors of the full SVD without matching order and sign, takes an elementwise power for a matrix
root, and its fitting loss has a term that depends on which architecture is judged: `legacy_od`
shows that the distances cannot tell orthogonal from random. Here the thin factors are aligned
first, and nothing depends on the model but its matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from vaescope.estimates import interval_of_mean
from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.orthogonality import degeneracy_warning, degenerate, distances
from vaescope.geometry.result import GeometryMeasure, measure_of
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.seeds import rng
from vaescope.types import Array, Floats, Matrix

__all__ = ["LegacyOD", "ODScore", "legacy_od", "od_score", "od_score_of"]


#: Turned matrices from which the chance level is taken, at least.
_TURNS = 200


@dataclass(frozen=True, eq=False)
class ODScore(GeometryMeasure):
    """(u^2 / 2d + s^2 + v^2 / 2d) / 3: 0 for orthogonal columns, less than 4/3 - 1/sqrt(d).

    Nearly equal columns come near that end: 0.46 for d = 2, 1.01 for 20, 1.12 for 50. The score of
    arbitrary axes depends on d and on the singular values, so compare it with `chance`. Lemma 4, on
    which the score rests, assumes distinct singular values: see `warning`.
    """

    u: GeometryMeasure  # ||U - M's columns made unit||_F after alignment
    s: GeometryMeasure  # ||sorted S - sorted column norms|| / ||S||
    v: GeometryMeasure  # ||V P' - I||_F: the distance to orthogonality
    chance: GeometryMeasure  # the score of randomly rotated axes, with these singular values
    degenerate_share: float  # share of points with two nearly equal singular values
    columns: tuple[int, ...]

    @property
    def warning(self) -> str:
        """Empty, or why the score may mean nothing: orthogonal columns of equal norm have any V,
        and then any score up to that of random axes."""
        return degeneracy_warning(self.degenerate_share)

    def summary(self) -> str:
        return (
            f"OD-Score {self.value:.3f} over {self.n} points in {self.space} space (random axes "
            f"{self.chance.value:.3f}): u {self.u.value:.3f}, s {self.s.value:.3f}, "
            f"v {self.v.value:.3f}" + (f"; {self.warning}" if self.warning else "")
        )


def _aligned_u(singular: Matrix, v: Matrix, norms: Matrix) -> Matrix:
    """||U P' - M D^-1||_F, D the column norms; needs neither U nor M, as U = M V S^-1 makes
    their inner product the sum of s_i |V_ji| / ||c_j|| over the matched pairs."""
    n, d = singular.shape
    out = np.empty(n)
    for point in range(n):
        size = np.abs(v[point])
        latent, value = linear_sum_assignment(size, maximize=True)
        norm = norms[point, latent]
        inner = singular[point, value] * size[latent, value]
        # A column of 0 is orthogonal to all others.
        cosine = np.divide(inner, norm, out=np.ones(d), where=norm > 0)
        out[point] = np.sqrt(max(0.0, 2.0 * d - 2.0 * cosine.sum()))
    return out


def _terms(singular: Matrix, v: Matrix, norms: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """u, s and v of each matrix U S V' of a stack, from S, V and the norms of its columns."""
    total = np.linalg.norm(singular, axis=1)
    off = np.linalg.norm(singular - np.sort(norms, axis=1)[:, ::-1], axis=1)
    d_s = np.divide(off, total, out=np.zeros_like(off), where=total > 0)
    return _aligned_u(singular, v, norms), d_s, distances(v)


def _score(u: Matrix, s: Matrix, v: Matrix, d: int) -> Matrix:
    return np.asarray((u**2 / (2.0 * d) + s**2 + v**2 / (2.0 * d)) / 3.0)


def _chance(singular: Matrix, space: str) -> GeometryMeasure:
    """The mean score of U S V' with V Haar-random and these singular values, shape (n, d)."""
    n, d = singular.shape
    turned = np.repeat(singular, -(-_TURNS // n), axis=0)
    gauss = rng(0, "od-score-chance", d).standard_normal((len(turned), d, d))
    v = np.linalg.qr(gauss)[0]  # the signs that make it Haar only flip columns
    norms = np.sqrt((v**2 @ turned[:, :, None] ** 2)[:, :, 0])
    return measure_of(_score(*_terms(turned, v, norms), d), space)


def od_score_of(grams: Grams) -> ODScore:
    """The score of known Gram matrices, e.g. `grams_of(fit.matrices)`.

    Args:
        grams: Gram matrices of Jacobians, from `grams` or `grams_of`.

    Returns:
        `ODScore`: (u^2 / 2d + s^2 + v^2 / 2d) / 3: 0 for orthogonal columns, less than 4/3 -
        1/sqrt(d).

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> grams = vs.geometry.grams_of(np.array([[[2.0, 0.5], [0.0, 1.0]]]))
        >>> round(vs.geometry.od_score_of(grams).value, 2)
        0.05
    """
    singular, v = grams.singular()
    d_u, d_s, d_v = _terms(singular, v, grams.norms)
    value = _score(d_u, d_s, d_v, len(grams.columns))
    return ODScore(
        float(value.mean()), interval_of_mean(value), grams.n, grams.space,
        measure_of(d_u, grams.space), measure_of(d_s, grams.space), measure_of(d_v, grams.space),
        _chance(singular, grams.space), float(degenerate(singular).mean()), grams.columns,
    )  # fmt: skip


def od_score(
    decode: Decode,
    points: Floats | Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
) -> ODScore:
    """Corrected OD-Score of the decoder's Jacobians; for fitted matrices use `od_score_of`.

    The paper divides each term by its maximum over the models compared, so that a score depends on
    the other models; here each has a bound of its own: 1 for u^2 / 2d, 2 - 2/sqrt(d) for s^2 and 1
    - 1/sqrt(d) for v^2 / 2d.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.

    Returns:
        `ODScore`: (u^2 / 2d + s^2 + v^2 / 2d) / 3: 0 for orthogonal columns, less than 4/3 -
        1/sqrt(d).

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> decode = lambda z: torch.tanh(z @ torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).T)
        >>> points = torch.zeros(4, 2)
        >>> round(vs.geometry.od_score(decode, points).value, 2)
        0.04
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
    """The released formula, kept to show its behaviour: do not use it.

    N = M ((M'M)^-1 with negative entries set to 0) to the elementwise power 1/2; Frobenius
    distances of the full SVD factors of M and N, and of V' to the identity.

    Args:
        matrix: a matrix.

    Returns:
        `LegacyOD`: the three distances as released, for one matrix; not comparable with anything.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> round(vs.geometry.legacy_od(np.eye(3)).u, 2)
        0.0
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
