"""Product of Student-t densities. Mathieu et al. 2019, https://arxiv.org/abs/1812.02833, section 6.

Unlike the normal it is not the same in all directions, so that the axes mean something.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from vaescope.distributions import Reparameterised, sum_event
from vaescope.prior_density import StudentTDensity
from vaescope.priors.hermite import hermite
from vaescope.vae import Prior

__all__ = ["StudentT", "StudentTPrior"]

# The quantile has no closed form in torch: it is tabulated against normal noise from 0 to 9, past
# which no generator of 53 bits goes, and interpolated to about 1e-10.
_END = 9
_PER_UNIT = 256


def _log_normaliser(df: float) -> float:
    from scipy import special  # here: training with other priors leaves scipy out

    # By the logarithm of the beta function: the difference of two log-gammas has no digits left
    # at 1e12 degrees of freedom.
    return float(-special.betaln(df / 2.0, 0.5) - 0.5 * math.log(df))


@lru_cache(maxsize=8)
def _knots(df: float) -> Tensor:
    from scipy import special

    """asinh of the quantile at each knot and its derivative there: shape (2, knots)."""
    noise = np.linspace(0.0, _END, _END * _PER_UNIT + 1)
    t = -special.stdtrit(df, special.ndtr(-noise))  # in the lower tail: no digit of 1 - p is lost
    log_density = _log_normaliser(df) - 0.5 * (df + 1.0) * np.log1p(t * t / df)
    log_normal = -0.5 * (noise**2 + math.log(2.0 * math.pi))
    slope = np.exp(log_normal - log_density) / np.hypot(1.0, t)
    return torch.from_numpy(np.stack([np.arcsinh(t), slope / _PER_UNIT]))


def _quantile(noise: Tensor, df: float) -> Tensor:
    """F^-1(Phi(noise)) odd in the noise."""
    knots = _knots(df).to(noise.device)
    height = hermite(knots, noise.abs().double() * _PER_UNIT)
    return (height.sinh() * noise.sign()).to(noise.dtype)


@dataclass(frozen=True, eq=False)
class StudentT(Reparameterised):
    """Independent Student-t variables loc + scale * t of `df` degrees of freedom."""

    df: float
    loc: Tensor
    scale: Tensor

    @property
    def mean(self) -> Tensor:
        """The centre; with one degree of freedom or less there is no mean, and this the median."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite with two degrees of freedom or less."""
        factor = self.df / (self.df - 2.0) if self.df > 2.0 else math.inf
        return (factor * self.scale**2).expand_as(self.loc)

    def at(self, noise: Tensor) -> Tensor:
        return self.loc + self.scale * _quantile(noise, self.df)

    def log_prob(self, x: Tensor) -> Tensor:
        t = (x - self.loc) / self.scale
        tail = 0.5 * (self.df + 1.0) * torch.log1p(t * t / self.df)
        return sum_event(_log_normaliser(self.df) - self.scale.log() - tail)


class StudentTPrior(Prior):
    """Independent Student-t distributions of `latent` latents, scaled by the root of `variance`.

    The variance of the prior is df / (df - 2) times `variance`, since the paper scales it like its
    Gaussians.

    Args:
        latent: number of latents.
        df: degrees of freedom.
        variance: variance of each latent.

    Example:
        >>> import vaescope as vs
        >>> vs.priors.StudentTPrior(2, df=5.0)().mean.tolist()
        [[0.0, 0.0]]
    """

    zero: Tensor

    def __init__(self, latent: int, df: float, *, variance: float = 1.0) -> None:
        super().__init__()
        self.df, self.scale = df, math.sqrt(variance)
        self.register_buffer("zero", torch.zeros(1, latent), persistent=False)

    def forward(self, u: Tensor | None = None) -> StudentT:
        del u
        return StudentT(self.df, self.zero, torch.full_like(self.zero, self.scale))

    def density(self, u: Tensor | None = None) -> StudentTDensity:
        del u
        d = self.zero.shape[1]
        return StudentTDensity(float(self.df), np.zeros(d), np.full(d, self.scale))
