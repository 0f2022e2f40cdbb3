"""Identifiable VAEs that are linear, brought to their optimum without noise of training.

grzes2023 eq. 1-4 with linear maps: x = A* s, s ~ N(mean_u, diag variances_u) in each class u, so x
lies on r dimensions. Encoder N(W_u x + b_u, diag sigma_u), prior N(m_u, diag v_u), decoder
N(A z + c, gamma I). The expected loss needs the first two moments of x in each class alone, and
each of its parts has its best value in closed form given the others: round after round, as in EM.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaescope.seeds import rng

__all__ = ["CLASSES", "USED", "Classes", "LinearIVAE", "R", "classes", "fit"]

Matrix = NDArray[np.float64]

#: Classes of u, dimensions of x, of the manifold.
CLASSES, DIMENSION, R = 4, 8, 3
#: Rounds of updates.
ROUNDS = 2000
#: Nats above the prior from which on a latent is used.
USED = 0.01


@dataclass(frozen=True, eq=False)
class Classes:
    """First two moments of x in each class, and what they are made of."""

    mean: Matrix  # (class, x)
    covariance: Matrix  # (class, x, x)
    mixing: Matrix  # (x, source)
    source_mean: Matrix  # (class, source)
    source_scale: Matrix


def classes(seed: int, *, r: int = R, equal: bool = False, spread: float = 0.0) -> Classes:
    """Sources with standard deviations U(0.5, 3) in each class, all as in the first one if `equal`,
    and means of standard deviation `spread`; mixed by a matrix of singular values U(0.7, 1.4)."""
    draw = rng(seed, "linear-ivae")
    u, _, v = np.linalg.svd(draw.normal(size=(DIMENSION, r)), full_matrices=False)
    mixing = u @ np.diag(draw.uniform(0.7, 1.4, size=r)) @ v
    scale = draw.uniform(0.5, 3.0, size=(CLASSES, r))
    if equal:
        scale = np.repeat(scale[:1], CLASSES, axis=0)
    mean = spread * draw.normal(size=(CLASSES, r))
    covariance = np.einsum("ni,ui,mi->unm", mixing, scale**2, mixing)
    return Classes(mean @ mixing.T, covariance, mixing, mean, scale)


@dataclass(frozen=True, eq=False)
class LinearIVAE:
    """A linear iVAE at its optimum; arrays by class and latent unless it is said."""

    kl: Matrix  # nats
    distortion: float  # mean squared error of reconstructions from samples
    decoder: Matrix  # (x, latent)
    weights: Matrix  # (class, latent, x) of the encoder
    offset: Matrix  # of the encoder
    sigma: Matrix  # posterior variances
    prior_mean: Matrix
    prior_variance: Matrix
    mean_variance: Matrix  # of posterior means
    change: float  # of the loss over the last hundred rounds, nats

    @property
    def used(self) -> NDArray[np.bool_]:
        return self.kl > USED


def fit(
    data: Classes,
    seed: int,
    latent: int,
    *,
    gamma: float = 0.1,
    beta: float = 1.0,
    learned_mean: bool = False,
    rounds: int = ROUNDS,
) -> LinearIVAE:
    """The best linear iVAE that rounds of exact updates reach from a random decoder."""
    draw = rng(seed, "linear-ivae-start", latent)
    a = draw.normal(size=(DIMENSION, latent)) / math.sqrt(DIMENSION)
    v = np.exp(0.1 * draw.normal(size=(CLASSES, latent)))
    m = draw.normal(size=(CLASSES, latent)) if learned_mean else np.zeros((CLASSES, latent))
    c, eye = data.mean.mean(axis=0), np.eye(latent)
    losses: list[float] = []
    for step in range(rounds):
        # Encoder: the posterior mean is a ridge regression, its variance the diagonal family's.
        solve = np.linalg.inv((a.T @ a)[None] / gamma + beta * eye / v[:, None, :])
        w = solve @ a.T / gamma
        prior_part = (solve @ (beta * m / v)[..., None])[..., 0]
        mean = (w @ (data.mean - c)[..., None])[..., 0] + prior_part
        sigma = beta / ((a * a).sum(axis=0) / gamma + beta / v)
        covariance = w @ data.covariance @ w.transpose(0, 2, 1)
        moved = np.diagonal(covariance, axis1=1, axis2=2)
        # Prior.
        if learned_mean:
            m = mean.copy()
        v = np.maximum(sigma + moved + (mean - m) ** 2, 1e-12)
        kl = 0.5 * ((sigma + moved + (mean - m) ** 2) / v - 1.0 + np.log(v) - np.log(sigma))
        cross = data.covariance @ w.transpose(0, 2, 1)
        left = data.covariance - 2.0 * cross @ a.T + a @ covariance @ a.T
        missed = data.mean - c - mean @ a.T
        distortion = float(
            np.trace(left, axis1=1, axis2=2).mean()
            + (missed**2).sum(axis=1).mean()
            + (sigma @ (a * a).sum(axis=0)).mean()
        )
        losses.append(0.5 * distortion / gamma + beta * float(kl.sum(axis=1).mean()))
        if step == rounds - 1:
            break
        # Decoder: a regression of x on z.
        zz = (covariance + mean[:, :, None] * mean[:, None, :]).mean(axis=0)
        zz += np.diag(sigma.mean(axis=0)) + 1e-12 * eye
        xz = (cross + (data.mean - c)[:, :, None] * mean[:, None, :]).mean(axis=0)
        a = np.linalg.solve(zz, xz.T).T
        c = data.mean.mean(axis=0) - mean.mean(axis=0) @ a.T
    change = losses[-min(100, len(losses))] - losses[-1]
    offset = prior_part - (w @ c[:, None])[..., 0]
    return LinearIVAE(kl, distortion, a, w, offset, sigma, m, v, moved, change)
