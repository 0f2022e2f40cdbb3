"""Annealed VAE: the rate is held at a capacity that grows.

Burgess et al. 2018, Understanding disentangling in beta-VAE, https://arxiv.org/abs/1804.03599,
eq. (8).
"""

from dataclasses import dataclass, field

from torch import Tensor

from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.terms import Objective, Terms
from vaescope.schedules import Constant, Schedule
from vaescope.vae import VAE, Batch

__all__ = ["CapacityVAE"]


@dataclass(frozen=True)
class CapacityVAE(Objective):
    """-E log p(x|z) + gamma |rate - C(t)|, the rate being the batch's mean.

    `capacity` is in nats. With C = 0 it is the beta-VAE of beta = gamma.
    """

    capacity: Schedule
    gamma: Schedule = field(default_factory=lambda: Constant(1000.0))

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        elbo = BetaVAE()(vae, batch, step, noise)
        distortion, nats = elbo.parts["distortion"], elbo.parts["rate"]
        capacity = self.capacity(step)
        loss = distortion + self.gamma(step) * (nats - capacity).abs()
        return Terms(loss, {**elbo.parts, "capacity": capacity}, elbo.posterior)
