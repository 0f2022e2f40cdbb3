"""Autoencoder, VAE and beta-VAE.

Kingma and Welling 2014, https://arxiv.org/abs/1312.6114; Higgins et al. 2017, beta-VAE,
https://openreview.net/forum?id=Sy2fzU9gl.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from vaescope.distributions import rate
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = ["Autoencoder", "BetaVAE"]


@dataclass(frozen=True)
class Autoencoder(Objective):
    """The distortion at the posterior mean, without noise and without a rate.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.Autoencoder().pull(0).no_weight
        'a plain autoencoder has no rate'
    """

    draws: ClassVar[int] = 0

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        q = vae.encoder(batch.x, batch.u)
        distortion = -vae.decoder(q.mean).log_prob(batch.x).mean()
        return Terms(distortion, {"distortion": distortion}, q)

    def pull(self, step: float) -> Pull:
        del step
        why = "a plain autoencoder has no rate"
        return Pull(no_weight=why, no_unused=f"{why}: nothing acts on a latent that ignores x")


@dataclass(frozen=True)
class BetaVAE(Objective):
    """-E log p(x|z) + beta KL(q(z|x) || p(z)). With beta 1 this is the negative ELBO.

    Example:
        >>> import vaescope as vs
        >>> from vaescope.schedules import Constant
        >>> vs.objectives.BetaVAE(Constant(4.0)).rate_weight(0)
        4.0
    """

    beta: Schedule = field(default_factory=lambda: Constant(1.0))

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        q = vae.encoder(batch.x, batch.u)
        z = q.at(noise[0])
        distortion = -vae.decoder(z).log_prob(batch.x).mean()
        nats = rate(q, vae.prior(batch.u), z).mean()
        loss = distortion + self.beta(step) * nats
        return Terms(loss, {"distortion": distortion, "rate": nats}, q)

    def pull(self, step: float) -> Pull:
        """beta scales the whole rate, so that what costs least is the same for each."""
        beta = value_at(self.beta, step)
        if beta > 0.0:
            return Pull(beta, 1.0)
        why = f"the weight of the rate, beta, is {beta:g}"
        return Pull(no_weight=why, no_unused=f"{why}: nothing acts on a latent that ignores x")
