"""Sparse prior: a wide and a narrow normal. Mathieu et al. 2019, https://arxiv.org/abs/1812.02833,
section 6 and appendix B."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vaescope.distributions import Reparameterised, sum_event
from vaescope.prior_density import SparseDensity
from vaescope.vae import Prior

__all__ = ["SparsePrior", "SpikeAndSlab"]

_LOG_2PI = math.log(2.0 * math.pi)


def _log(share: float) -> float:
    return math.log(share) if share > 0.0 else -math.inf


@dataclass(frozen=True, eq=False)
class SpikeAndSlab(Reparameterised):
    """Independent latents, each (1 - gamma) N(loc, slab_std^2) + gamma N(loc, spike_std^2)."""

    loc: Tensor
    gamma: float
    spike_std: float
    slab_std: float = 1.0

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        slab, spike = (1.0 - self.gamma) * self.slab_std**2, self.gamma * self.spike_std**2
        return torch.full_like(self.loc, slab + spike)

    def at(self, noise: Tensor) -> Tensor:
        """Small noise goes to the spike, the rest to the slab, each stretched to a whole normal.

        The tail beyond |noise| has the mass `outside`; the slab owns what lies beyond 1 - gamma of
        it, and the part of a share that lies beyond a point is uniform again.
        """
        outside = 2.0 * torch.special.ndtr(-noise.abs().double())
        slab = outside / max(1.0 - self.gamma, 1e-300)
        spike = (outside - (1.0 - self.gamma)) / max(self.gamma, 1e-300)
        in_slab = outside < 1.0 - self.gamma
        # The two shares meet at no mass of the spike and all of the slab: no infinite samples.
        beyond = torch.where(in_slab, slab, spike).clamp(1e-20, 1.0)
        std = torch.where(in_slab, self.slab_std, self.spike_std)
        eps: Tensor = -torch.special.ndtri(0.5 * beyond) * std * noise.sign()
        return self.loc + eps.to(noise.dtype)

    def log_prob(self, x: Tensor) -> Tensor:
        square = (x - self.loc) ** 2
        slab = _log(1.0 - self.gamma) - math.log(self.slab_std) - 0.5 * square / self.slab_std**2
        spike = _log(self.gamma) - math.log(self.spike_std) - 0.5 * square / self.spike_std**2
        return sum_event(torch.logaddexp(slab, spike) - 0.5 * _LOG_2PI)


class SparsePrior(Prior):
    """A latent is off with probability `gamma`; its value is then of the order of `spike_std`.

    0.05 is a standard deviation, as in appendix B and the released code; section 6 of the paper
    calls it a variance.

    Args:
        latent: number of latents.
        gamma: probability of the spike.
        spike_std: standard deviation of the spike.

    Example:
        >>> import vaescope as vs
        >>> vs.priors.SparsePrior(2, gamma=0.8)().mean.tolist()
        [[0.0, 0.0]]
    """

    zero: Tensor

    def __init__(self, latent: int, gamma: float, *, spike_std: float = 0.05) -> None:
        super().__init__()
        self.gamma, self.spike_std = gamma, spike_std
        self.register_buffer("zero", torch.zeros(1, latent), persistent=False)

    def forward(self, u: Tensor | None = None) -> SpikeAndSlab:
        del u
        return SpikeAndSlab(self.zero, self.gamma, self.spike_std)

    def density(self, u: Tensor | None = None) -> SparseDensity:
        del u
        return SparseDensity(self.gamma, self.spike_std, np.zeros(self.zero.shape[1]))
