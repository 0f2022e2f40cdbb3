"""Diagonal Gaussian prior, the same for all examples or one for each."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vaescope.errors import ShapeError
from vaescope.prior_density.density import Matrix, PriorDensity, Rows, check
from vaescope.prior_density.divergence import gaussian_kl
from vaescope.types import Floats, Integers

__all__ = ["GaussianDensity", "standard_normal"]

_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class GaussianDensity(PriorDensity):
    """N(mean, diag(variance)): each (d,), or (n, d) where the prior depends on the example."""

    mean: Floats
    variance: Floats
    name: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        shapes = {"mean": self.mean, "variance": self.variance}
        check(self.name, shapes, {"variance": self.variance})
        if self.mean.ndim > 2:
            raise ShapeError(
                f"mean of a gaussian prior has shape {self.mean.shape}; wanted (d,) or (n, d).",
                "Give one value per latent, or one row per example.",
            )

    @property
    def d(self) -> int:
        return int(self.mean.shape[-1])

    @property
    def per_row(self) -> bool:
        return self.mean.ndim == 2

    @property
    def standard(self) -> bool:
        return not np.any(self.mean) and bool(np.all(self.variance == 1.0))

    @property
    def says(self) -> str:
        if self.standard:
            return "N(0, I)"
        return "a Gaussian for each example" if self.per_row else "a diagonal Gaussian"

    def of(self, rows: Rows | None) -> tuple[Matrix, Matrix]:
        """Mean and variance of these rows in float64; (d,) where they are the same for all."""
        here = rows if self.per_row and rows is not None else ...
        return self.mean[here].astype(np.float64), self.variance[here].astype(np.float64)

    def log_marginal(self, latent: int, z: Matrix) -> Matrix:
        mean, variance = (own[latent] for own in self.of(None))
        return np.asarray(-0.5 * ((z - mean) ** 2 / variance + np.log(variance) + _LOG_2PI))

    def log_marginals(self, z: Floats, rows: Rows | None = None) -> Matrix:
        mean, variance = self.of(rows)
        return np.asarray(-0.5 * ((z - mean) ** 2 / variance + np.log(variance) + _LOG_2PI))

    def kl(self, mean: Floats, variance: Floats, rows: Rows | None = None) -> Matrix:
        return gaussian_kl(mean, variance, *(() if self.standard else self.of(rows)))

    def tails(self, latent: int, z: Matrix) -> tuple[Matrix, Matrix]:
        from scipy import special

        mean, variance = (own[latent] for own in self.of(None))
        t = (z - mean) / np.sqrt(variance)
        return special.ndtr(t), special.ndtr(-t)

    def normal_scores(self, z: Floats, rows: Rows | None = None) -> Matrix:
        mean, variance = self.of(rows)
        return np.asarray((z - mean) / np.sqrt(variance))

    def draw(self, rng: np.random.Generator, n: int, rows: Rows | None = None) -> Matrix:
        mean, variance = self.of(rows)
        return np.asarray(mean + np.sqrt(variance) * rng.standard_normal((n, self.d)))

    def take(self, rows: Rows) -> "GaussianDensity":
        return GaussianDensity(self.mean[rows], self.variance[rows]) if self.per_row else self

    def columns(self, latents: Integers) -> "GaussianDensity":
        return GaussianDensity(self.mean[..., latents], self.variance[..., latents])

    def unused_variance(self) -> Floats:
        return self.variance

    def arrays(self) -> dict[str, Floats]:
        return {"mean": self.mean, "variance": self.variance} if self.per_row else {}


def standard_normal(d: int) -> GaussianDensity:
    """N(0, I) over d latents."""
    return GaussianDensity(np.zeros(d), np.ones(d))
