"""FactorVAE: total correlation by the density-ratio trick.

Kim and Mnih 2018, Disentangling by Factorising, https://arxiv.org/abs/1802.05983, eq. (2) and
algorithm 2; critic and batches as in disentanglement_lib.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vaescope.nets.initialisation import glorot
from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.objectives.total_correlation import with_total_correlation
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = ["FactorVAE", "make_critic", "permuted"]


def make_critic(latent: int, *, width: int = 1000, layers: int = 6) -> nn.Sequential:
    """z -> two logits: of the joint distribution and of the product of its marginals.

    Kim and Mnih's six layers of 1000; leaky ReLU of slope 0.2 and Glorot's initialisation are
    TensorFlow's defaults, which disentanglement_lib trains with.
    """
    parts: list[nn.Module] = []
    for fan_in, fan_out in pairwise([latent, *[width] * layers]):
        parts += [nn.Linear(fan_in, fan_out), nn.LeakyReLU(0.2)]
    critic = nn.Sequential(*parts, nn.Linear(width if layers else latent, 2))
    glorot(critic)
    return critic


def permuted(z: Tensor, noise: Tensor) -> Tensor:
    """z with each latent shuffled over the batch on its own: samples of prod_l q(z_l).

    The ranks of standard normal noise are uniform permutations, independent between latents.
    """
    return z.gather(0, noise.argsort(0))


@dataclass(frozen=True)
class FactorVAE(Objective):
    """-E log p(x|z) + rate KL + gamma TC, TC = mean of the critic's logit 0 - logit 1 at z.

    The critic learns at the same step, by its own loss and optimiser, to distinguish z from
    permuted z. Both sides come from this one batch, as in disentanglement_lib; Kim and Mnih permute
    the codes of a second batch. A step is one update of the VAE and one of the critic, counted
    once: disentanglement_lib counts it twice, so its 300,000 steps are 150,000 here.

    The value is a total correlation only if the critic is at its optimum.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.objectives.FactorVAE(torch.nn.Linear(2, 2)).modules.keys()
        dict_keys(['critic'])
    """

    critic: nn.Module  # network that separates joint from shuffled codes
    gamma: Schedule = field(default_factory=lambda: Constant(35.0))
    #: Weight of the whole rate.
    rate: Schedule = field(default_factory=lambda: Constant(1.0))
    draws: ClassVar[int] = 2

    @property
    def modules(self) -> Mapping[str, nn.Module]:
        return {"critic": self.critic}

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        elbo = BetaVAE(self.rate)(vae, batch, step, noise)
        z = elbo.posterior.at(noise[0])
        logits = self.critic(z).to(z.dtype)
        correlation = (logits[:, 0] - logits[:, 1]).mean()
        # Detached: the critic's loss must not move the encoder, which would help or fool it.
        joint = z.detach()
        sides = self.critic(torch.cat([joint, permuted(joint, noise[1])])).to(z.dtype)
        kinds = torch.arange(2, device=z.device).repeat_interleave(len(z))
        critic_loss = F.cross_entropy(sides, kinds)
        parts = {**elbo.parts, "total_correlation": correlation, "critic": critic_loss}
        loss = elbo.loss + self.gamma(step) * correlation
        return Terms(loss, parts, elbo.posterior, {"critic": critic_loss})

    def pull(self, step: float) -> Pull:
        """As for beta-TCVAE, as far as the critic is at its optimum."""
        rated = BetaVAE(self.rate).pull(step)
        return with_total_correlation(rated) if value_at(self.gamma, step) else rated
