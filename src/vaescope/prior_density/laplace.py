"""Product of Laplace densities."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vaescope.prior_density.density import Matrix, ProductDensity, Rows, check
from vaescope.types import Floats

__all__ = ["LaplaceDensity"]


@dataclass(frozen=True, eq=False)
class LaplaceDensity(ProductDensity):
    """Independent exp(-|z - location| / scale) / (2 scale): location and scale (d,)."""

    location: Floats
    scale: Floats
    name: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        shapes = {"location": self.location, "scale": self.scale}
        check(self.name, shapes, {"scale": self.scale})

    @property
    def variance(self) -> Floats:
        return np.asarray(2.0 * np.square(self.scale, dtype=np.float64))

    @property
    def says(self) -> str:
        return "Laplace"

    def _standardised(self, latent: int, z: Matrix) -> Matrix:
        return np.asarray((z - float(self.location[latent])) / float(self.scale[latent]))

    def log_marginal(self, latent: int, z: Matrix) -> Matrix:
        return np.asarray(
            -np.abs(self._standardised(latent, z)) - math.log(2.0 * self.scale[latent])
        )

    def kl(self, mean: Floats, variance: Floats, rows: Rows | None = None) -> Matrix:
        """In closed form: the mean of |z - location| is that of a folded normal."""
        from scipy import special

        del rows
        scale = self.scale.astype(np.float64)
        m, s = (mean - self.location) / scale, np.sqrt(variance, dtype=np.float64) / scale
        with np.errstate(divide="ignore", invalid="ignore"):
            t = m / s
            folded = s * math.sqrt(2.0 / math.pi) * np.exp(-0.5 * t * t) + m * special.erf(
                t / math.sqrt(2.0)
            )
            nats = folded + math.log(2.0) - np.log(s) - 0.5 * (math.log(2.0 * math.pi) + 1.0)
        return np.where(s > 0, np.maximum(nats, 0.0), np.inf)

    def tails(self, latent: int, z: Matrix) -> tuple[Matrix, Matrix]:
        t = self._standardised(latent, z)
        outside = 0.5 * np.exp(-np.abs(t))
        return np.where(t < 0, outside, 1.0 - outside), np.where(t < 0, 1.0 - outside, outside)

    def deviations(self, rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
        return np.asarray(self.scale * rng.laplace(size=shape))

    def unused_variance(self) -> Floats:
        """E|z| of N(0, v) is sqrt(2 v / pi), so that the KL is least at v = pi scale^2 / 2."""
        return np.asarray(0.5 * math.pi * np.square(self.scale, dtype=np.float64))
