"""Mixture of diagonal Gaussians. mathieu2019, https://arxiv.org/abs/1812.02833, eq. (9)."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from vaescope.errors import RangeError, ShapeError
from vaescope.prior_density.density import Matrix, PriorDensity, Rows, Vector, check
from vaescope.types import Floats, Integers

__all__ = ["MixtureDensity"]

_LOG_2PI = math.log(2.0 * math.pi)
#: Points that the expectations behind an unused posterior are taken at, and steps to it.
_POINTS, _STEPS = 4096, 200
#: Minima as near as this, in nats, count as equal; variances as near as this, relatively, too.
_SAME = 1e-2


@dataclass(frozen=True, eq=False)
class MixtureDensity(PriorDensity):
    """sum_c weights_c N(means_c, diag(variances_c)): weights (k,), the others (k, d)."""

    weights: Floats
    means: Floats
    variances: Floats
    name: ClassVar[str] = "mixture"

    def __post_init__(self) -> None:
        check(
            self.name,
            {"means": self.means, "variances": self.variances},
            {"variances": self.variances, "weights": self.weights},
        )
        if self.means.ndim != 2 or self.weights.shape != self.means.shape[:1]:
            raise ShapeError(
                f"A mixture prior has weights of shape {self.weights.shape} and means of shape "
                f"{self.means.shape}; wanted (k,) and (k, d).",
                "Give one weight and one row of means for each component.",
            )
        if abs(float(self.weights.sum()) - 1.0) > 1e-5:
            raise RangeError(
                f"The weights of a mixture prior add up to {self.weights.sum():g}; wanted 1.",
                "Divide them by their sum.",
            )

    @property
    def d(self) -> int:
        return int(self.means.shape[1])

    @property
    def mean(self) -> Floats:
        return np.asarray(self.weights @ self.means)

    @property
    def variance(self) -> Floats:
        apart = self.means - self.mean
        return np.asarray(self.weights @ (self.variances + apart**2))

    @property
    def says(self) -> str:
        return f"a mixture of {len(self.weights)} Gaussians"

    @property
    def grain(self) -> Vector:
        """Where the densities of two components add up to 0: at complex points z at which their
        logarithms, quadratics in z, differ by i pi. With equal variances v, a apart, pi v / a."""
        first, second = np.triu_indices(len(self.weights), 1)
        grains = np.full(self.d, np.inf)
        for j in range(self.d):
            mean, precision = self.means[:, j], 1.0 / self.variances[:, j].astype(np.float64)
            square, linear = -0.5 * precision, precision * mean
            constant = np.log(self.weights) + 0.5 * np.log(precision) + square * mean**2
            coefficients = np.stack([square, linear, constant], axis=1)
            for a, b, c in coefficients[first] - coefficients[second]:
                roots = np.roots([a, b, c - 1j * np.pi])  # none where the two are the same
                grains[j] = min([grains[j], *np.abs(roots.imag)])
        return grains

    @property
    def independent(self) -> bool:
        return len(self.weights) == 1 or self.d == 1

    @property
    def peaked(self) -> bool:
        return len(self.weights) > 1

    def _log_components(self, z: Floats) -> Matrix:
        """log weights_c N(z; c): (n, k)."""
        logs = np.tile(np.log(self.weights.astype(np.float64)), (len(z), 1))
        for j in range(self.d):
            mean, variance = self.means[:, j], self.variances[:, j]
            logs -= 0.5 * ((z[:, j, None] - mean) ** 2 / variance + np.log(variance) + _LOG_2PI)
        return logs

    def log_prob(self, z: Floats, rows: Rows | None = None) -> Vector:
        from scipy import special

        del rows
        return np.asarray(special.logsumexp(self._log_components(z), axis=1))

    def log_marginal(self, latent: int, z: Matrix) -> Matrix:
        # Components that are alike in this latent are one in it.
        shapes = np.stack([self.means[:, latent], self.variances[:, latent]])
        (means, variances), which = np.unique(shapes, axis=1, return_inverse=True)
        weights = np.bincount(which.ravel(), self.weights)
        constants = np.log(weights) - 0.5 * (np.log(variances) + _LOG_2PI)
        parts = zip(constants, means, variances, strict=True)
        logs = np.stack([c - 0.5 / v * np.square(z - m) for c, m, v in parts])
        largest = logs.max(axis=0)
        return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)))

    def tails(self, latent: int, z: Matrix) -> tuple[Matrix, Matrix]:
        from scipy import special

        t = (z[..., None] - self.means[:, latent]) / np.sqrt(self.variances[:, latent])
        return special.ndtr(t) @ self.weights, special.ndtr(-t) @ self.weights

    def draw(self, rng: np.random.Generator, n: int, rows: Rows | None = None) -> Matrix:
        del rows
        weights = self.weights.astype(np.float64)
        which = rng.choice(len(weights), size=n, p=weights / weights.sum())
        noise = rng.standard_normal((n, self.d))
        return np.asarray(self.means[which] + np.sqrt(self.variances[which]) * noise)

    def columns(self, latents: Integers) -> "MixtureDensity":
        return MixtureDensity(self.weights, self.means[:, latents], self.variances[:, latents])

    def nearest_centre(self, mean: Floats, rows: Rows | None = None) -> Floats:
        del rows
        best = np.abs(mean[:, None, :] - self.means).argmin(axis=1)  # (n, d)
        return np.asarray(np.take_along_axis(self.means, best, axis=0))

    def unused_variance(self) -> Floats:
        """At the best of the minima that are reached from the components. Where several are equally
        good and their variances differ, those are NaN."""
        return self._unused

    @cached_property
    def _unused(self) -> Vector:
        found = [self._nearest(c) for c in range(len(self.weights))]
        least = min(kl for kl, _ in found)
        best = np.array([variance for kl, variance in found if kl < least + _SAME])
        same = np.ptp(best, axis=0) <= _SAME * best.mean(axis=0)
        return np.where(same, best.mean(axis=0), np.nan)

    def _nearest(self, component: int) -> tuple[float, Vector]:
        """KL and variance of the Gaussian of least KL(N || p) that is reached from a component.

        At the minimum E[grad log p] = 0 and 1 / variance = -E[grad^2 log p] (Opper and Archambeau
        2009), here at fixed points.
        """
        from scipy import special

        half = np.random.Generator(np.random.PCG64(0)).standard_normal((_POINTS // 2, self.d))
        half /= np.sqrt(np.square(half).mean(axis=0))
        noise = np.concatenate([half, -half])  # means 0 and variances 1, exactly
        mean = self.means[component].astype(np.float64)
        variance = self.variances[component].astype(np.float64)
        for _ in range(_STEPS):
            z = mean + np.sqrt(variance) * noise
            share = special.softmax(self._log_components(z), axis=1)  # (points, k)
            pull = (self.means - z[:, None, :]) / self.variances  # (points, k, d)
            slope = np.einsum("nk,nkd->nd", share, pull)
            bend = np.einsum("nk,nkd->nd", share, pull**2 - 1.0 / self.variances) - slope**2
            precision = np.maximum(-bend.mean(axis=0), 0.1 / variance)
            moved = mean + 0.5 * slope.mean(axis=0) / precision
            tighter = 1.0 / (0.5 / variance + 0.5 * precision)
            settled = np.allclose(tighter, variance, rtol=1e-6) and np.allclose(moved, mean)
            mean, variance = moved, tighter
            if settled:
                break
        z = mean + np.sqrt(variance) * noise
        entropy = 0.5 * float((np.log(variance) + _LOG_2PI + 1.0).sum())
        return -entropy - float(self.log_prob(z).mean()), variance
