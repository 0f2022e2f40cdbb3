"""Annealed VAE: the rate is held at a capacity that grows.

Burgess et al. 2018, Understanding disentangling in beta-VAE, https://arxiv.org/abs/1804.03599,
eq. (8).
"""

from dataclasses import dataclass, field

from torch import Tensor

from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = ["CapacityVAE"]


@dataclass(frozen=True)
class CapacityVAE(Objective):
    """-E log p(x|z) + gamma |rate - C(t)|, the rate being the batch's mean.

    `capacity` is in nats. With C = 0 this is the beta-VAE of beta = gamma.

    Example:
        >>> import vaescope as vs
        >>> from vaescope.schedules import Linear
        >>> vs.objectives.CapacityVAE(Linear(0.0, 25.0, 10_000)).pull(0).weight is None
        False
    """

    capacity: Schedule
    gamma: Schedule = field(default_factory=lambda: Constant(1000.0))

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        elbo = BetaVAE()(vae, batch, step, noise)
        distortion, nats = elbo.parts["distortion"], elbo.parts["rate"]
        capacity = self.capacity(step)
        loss = distortion + self.gamma(step) * (nats - capacity).abs()
        return Terms(loss, {**elbo.parts, "capacity": capacity}, elbo.posterior)

    def pull(self, step: float) -> Pull:
        """At the capacity |rate - C| has no slope: the rate's weight is anything up to gamma."""
        capacity = value_at(self.capacity, step)
        if capacity <= 0.0:
            return BetaVAE(self.gamma).pull(step)
        why = f"the rate is held at a capacity of {capacity:g} nats, not weighed"
        return Pull(
            no_weight=why,
            no_unused=f"{why}: latents that ignore x may share the part of it that is not needed",
        )
