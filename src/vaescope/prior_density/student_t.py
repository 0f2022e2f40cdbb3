"""Product of Student-t densities. mathieu2019, https://arxiv.org/abs/1812.02833, section 6."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from vaescope.prior_density.density import Matrix, ProductDensity, Vector, check
from vaescope.prior_density.divergence import least_variance
from vaescope.types import Floats

__all__ = ["StudentTDensity"]


@dataclass(frozen=True, eq=False)
class StudentTDensity(ProductDensity):
    """Independent location + scale * t of `df` degrees of freedom: location and scale (d,)."""

    df: float
    location: Floats
    scale: Floats
    name: ClassVar[str] = "student-t"

    def __post_init__(self) -> None:
        shapes = {"location": self.location, "scale": self.scale}
        check(self.name, shapes, {"df": self.df, "scale": self.scale})

    @property
    def variance(self) -> Floats:
        factor = self.df / (self.df - 2.0) if self.df > 2.0 else math.inf
        return np.asarray(factor * np.square(self.scale, dtype=np.float64))

    @property
    def says(self) -> str:
        return f"Student-t with {self.df:g} degrees of freedom"

    @property
    def grain(self) -> Vector:
        return np.asarray(math.sqrt(self.df) * self.scale.astype(np.float64))

    def _standardised(self, latent: int, z: Matrix) -> Matrix:
        return np.asarray((z - float(self.location[latent])) / float(self.scale[latent]))

    def log_marginal(self, latent: int, z: Matrix) -> Matrix:
        from scipy import special

        t = self._standardised(latent, z)
        # By the beta function: at 1e12 degrees of freedom two log-gammas have no digits left.
        normaliser = -special.betaln(0.5 * self.df, 0.5) - 0.5 * math.log(self.df)
        tail = 0.5 * (self.df + 1.0) * np.log1p(t * t / self.df)
        return np.asarray(normaliser - math.log(self.scale[latent]) - tail)

    def tails(self, latent: int, z: Matrix) -> tuple[Matrix, Matrix]:
        from scipy import special

        t = self._standardised(latent, z)
        return special.stdtr(self.df, t), special.stdtr(self.df, -t)

    def deviations(self, rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
        return np.asarray(self.scale * rng.standard_t(self.df, shape))

    def unused_variance(self) -> Floats:
        return np.asarray(_unused(self.df) * np.square(self.scale, dtype=np.float64))


@lru_cache(maxsize=8)
def _unused(df: float) -> float:
    """Above 1, and finite also where the variance of p is not: 1.86 at 2 degrees of freedom."""
    one = StudentTDensity(df, np.zeros(1), np.ones(1))
    high = 10.0 if df >= 1.0 else 1e9
    return least_variance(lambda m, v: one.kl(m[:, None], v[:, None])[:, 0], 0.1, high)
