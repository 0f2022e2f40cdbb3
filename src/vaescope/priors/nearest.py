"""The Gaussian nearest to a Student-t prior: what the posterior of an unused latent becomes.

A latent that ignores x costs least where KL(N(m, v) || p) is least. With a Student-t prior v is
above 1, so that held against N(0, 1) it would look mixed. Spikes with slabs and mixtures are no
such case: no one Gaussian stands for them.
"""

from functools import lru_cache

import numpy as np
import torch
from scipy import optimize

from vaescope.distributions import DiagonalGaussian, Reparameterised
from vaescope.priors.conditional import ConditionalPrior
from vaescope.priors.gaussian import StandardNormal
from vaescope.priors.student_t import StudentT
from vaescope.types import Floats
from vaescope.vae import Prior

__all__ = ["nearest_gaussian", "unused_variance"]

_NOISE = np.linspace(-10.0, 10.0, 4001)
_WEIGHT = np.exp(-0.5 * _NOISE**2) / np.exp(-0.5 * _NOISE**2).sum()


def nearest_gaussian(prior: Reparameterised) -> DiagonalGaussian | None:
    """The Gaussian of least KL(N || p) to a product of Student-t densities; None of others."""
    if not isinstance(prior, StudentT):
        return None
    return DiagonalGaussian(prior.loc, 2.0 * prior.scale.log() + _log_variance(prior.df))


@torch.no_grad()
def unused_variance(prior: Prior) -> Floats | None:
    """The posterior variance of each latent that ignores x; None where it is 1, depends on u or on
    the other latents, or where no one Gaussian stands for the prior."""
    if isinstance(prior, StandardNormal | ConditionalPrior):
        return None
    own = prior()
    gaussian = own if isinstance(own, DiagonalGaussian) else nearest_gaussian(own)
    return None if gaussian is None else gaussian.variance[0].double().cpu().numpy()


@lru_cache(maxsize=8)
def _log_variance(df: float) -> float:
    """log v of the N(0, v) nearest to a t about 0 of scale 1."""
    one = torch.ones(1, dtype=torch.float64)
    prior = StudentT(df, 0.0 * one, one)

    def kl(log_deviation: float) -> float:  # up to a constant
        z = torch.from_numpy(np.exp(log_deviation) * _NOISE)[:, None]
        return float(-log_deviation - _WEIGHT @ prior.log_prob(z).numpy())

    found = optimize.minimize_scalar(kl, bounds=(-1.0, 10.0), method="bounded")
    return 2.0 * float(found.x)
