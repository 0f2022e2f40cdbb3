"""Free bits: each latent may spend so many nats for nothing.

Kingma et al. 2016, Improving variational inference with inverse autoregressive flow,
https://arxiv.org/abs/1606.04934, eq. (15).
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from vaescope.distributions import DiagonalGaussian, kl_per_latent
from vaescope.errors import UsageError
from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = ["FreeBits"]


@dataclass(frozen=True)
class FreeBits(Objective):
    """-E log p(x|z) + sum_j max(floor, rate of latent j), rates being means over the batch.

    `floor` is in nats per latent. With floor 0 it is the VAE. Needs diagonal Gaussian posteriors
    and priors: only then does each latent have a rate of its own.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.FreeBits().draws
        1
    """

    floor: Schedule = field(default_factory=lambda: Constant(0.25))

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        q = vae.encoder(batch.x, batch.u)
        p = vae.prior(batch.u)
        if not isinstance(q, DiagonalGaussian) or not isinstance(p, DiagonalGaussian):
            raise UsageError(
                f"Free bits need a rate of each latent; got a posterior {type(q).__name__} and a "
                f"prior {type(p).__name__}.",
                "Use posterior.name=diagonal and a Gaussian prior, e.g. prior.name=normal.",
            )
        distortion = -vae.decoder(q.at(noise[0])).log_prob(batch.x).mean()
        rates = kl_per_latent(q, p).mean(0)
        loss = distortion + torch.maximum(rates, self.floor(step)).sum()
        return Terms(loss, {"distortion": distortion, "rate": rates.sum()}, q)

    def pull(self, step: float) -> Pull:
        """Below the floor nothing acts on a latent, above it the ELBO does."""
        floor = value_at(self.floor, step)
        if floor <= 0.0:
            return BetaVAE().pull(step)
        why = f"the rate of a latent counts only above its floor of {floor:g} nats"
        return Pull(
            no_weight=why,
            no_unused=f"{why}: one that ignores x may have any posterior that costs less",
        )
