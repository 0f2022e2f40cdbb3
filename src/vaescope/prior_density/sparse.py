"""Spike and slab. mathieu2019, https://arxiv.org/abs/1812.02833, section 6 and appendix B."""

import cmath
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from vaescope.errors import RangeError
from vaescope.prior_density.density import Matrix, ProductDensity, Vector, check
from vaescope.prior_density.divergence import least_variance
from vaescope.types import Floats

__all__ = ["SparseDensity"]

_LOG_2PI = math.log(2.0 * math.pi)


def _log(share: float) -> float:
    return math.log(share) if share > 0.0 else -math.inf


@dataclass(frozen=True, eq=False)
class SparseDensity(ProductDensity):
    """Independent (1 - gamma) N(location, slab_std^2) + gamma N(location, spike_std^2); location
    (d,)."""

    gamma: float
    spike_std: float
    location: Floats
    slab_std: float = 1.0
    name: ClassVar[str] = "sparse"

    def __post_init__(self) -> None:
        scales: dict[str, Floats | float] = {
            "spike_std": self.spike_std, "slab_std": self.slab_std
        }  # fmt: skip
        check(self.name, {"location": self.location}, scales)
        if not 0.0 <= self.gamma <= 1.0:
            raise RangeError(
                f"gamma of a sparse prior is {self.gamma:g}; wanted a share from 0 to 1.",
                "It is the probability of the spike.",
            )

    @property
    def variance(self) -> Floats:
        slab, spike = (1.0 - self.gamma) * self.slab_std**2, self.gamma * self.spike_std**2
        return np.full(self.d, slab + spike)

    @property
    def says(self) -> str:
        return f"spike and slab with {self.gamma:g} in the spike"

    @property
    def grain(self) -> Vector:
        """Where the densities of spike and slab add up to 0: at complex points."""
        if not 0.0 < self.gamma < 1.0 or self.spike_std == self.slab_std:
            return np.full(self.d, np.inf)
        odds = math.log(self.gamma * self.slab_std / ((1.0 - self.gamma) * self.spike_std))
        curvature = 0.5 * (self.spike_std**-2 - self.slab_std**-2)
        return np.full(self.d, abs(cmath.sqrt((odds + 1j * math.pi) / curvature).imag))

    @property
    def peaked(self) -> bool:
        return True

    def _shares(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (1.0 - self.gamma, self.slab_std), (self.gamma, self.spike_std)

    def log_marginal(self, latent: int, z: Matrix) -> Matrix:
        square = np.square(z - float(self.location[latent]))
        slab, spike = (
            (_log(share) - math.log(std), -0.5 / std**2) for share, std in self._shares()
        )
        if self.gamma in (0.0, 1.0) or self.spike_std > self.slab_std:
            parts = (height + curvature * square for height, curvature in (slab, spike))
            return np.asarray(np.logaddexp(*parts) - 0.5 * _LOG_2PI)
        # The spike over the slab, at most a few nats: faster than logaddexp.
        over = np.exp(spike[0] - slab[0] + (spike[1] - slab[1]) * square)
        return np.asarray(np.log1p(over) + slab[1] * square + (slab[0] - 0.5 * _LOG_2PI))

    def tails(self, latent: int, z: Matrix) -> tuple[Matrix, Matrix]:
        from scipy import special

        t = z - float(self.location[latent])
        below = sum(share * special.ndtr(t / std) for share, std in self._shares())
        above = sum(share * special.ndtr(-t / std) for share, std in self._shares())
        return np.asarray(below), np.asarray(above)

    def deviations(self, rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
        std = np.where(rng.random(shape) < self.gamma, self.spike_std, self.slab_std)
        return np.asarray(std * rng.standard_normal(shape))

    def unused_variance(self) -> Floats:
        return np.full(self.d, _unused(self.gamma, self.spike_std, self.slab_std))


@lru_cache(maxsize=8)
def _unused(gamma: float, spike_std: float, slab_std: float) -> float:
    """In the spike or in the slab: 0.0028 at gamma 0.8, where the spike has 0.0025."""
    one = SparseDensity(gamma, spike_std, np.zeros(1), slab_std)
    low, high = sorted((0.5 * spike_std**2, 2.0 * slab_std**2))
    return least_variance(lambda m, v: one.kl(m[:, None], v[:, None])[:, 0], low, high)
