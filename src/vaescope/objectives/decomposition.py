"""The decomposition objective L_{alpha,beta}: overlap by the rate, structure by an aggregate match.

mathieu2019 (https://arxiv.org/abs/1812.02833), eq. (7).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from torch import Tensor

from vaescope import aggregate_posterior
from vaescope.distributions import Reparameterised
from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = [
    "Decomposition",
    "Divergence",
    "Sides",
    "exclusive_kl",
    "inclusive_kl",
    "joint_mmd",
    "marginal_mmd",
]


@dataclass(frozen=True, eq=False)
class Sides:
    """What a batch shows of the aggregate posterior and of the prior."""

    posterior: Reparameterised
    samples: Tensor  # z_b ~ q(z|x_b)
    prior: Reparameterised
    prior_samples: Tensor  # as many
    dataset_size: int


#: D(q(z), p(z)) as a value; the ones below are `vaescope.aggregate_posterior` on a batch.
Divergence = Callable[[Sides], Tensor]


def joint_mmd(sides: Sides) -> Tensor:
    """Inverse multiquadric discrepancy of whole codes."""
    return aggregate_posterior.mmd(sides.samples, sides.prior_samples)


def marginal_mmd(sides: Sides) -> Tensor:
    """The same of each latent, added up: what mathieu2019's code minimises."""
    return aggregate_posterior.mmd_per_latent(sides.samples, sides.prior_samples)


def inclusive_kl(sides: Sides) -> Tensor:
    """KL(p(z) || q(z))."""
    return aggregate_posterior.inclusive_kl(sides.posterior, sides.prior, sides.prior_samples)


def exclusive_kl(sides: Sides) -> Tensor:
    """KL(q(z) || p(z)), biased: see `vaescope.aggregate_posterior.exclusive_kl`."""
    return aggregate_posterior.exclusive_kl(
        sides.posterior, sides.prior, sides.samples, sides.dataset_size
    )


@dataclass(frozen=True)
class Decomposition(Objective):
    """-E log p(x|z) + beta KL(q(z|x) || p(z)) + alpha D(q(z), p(z)).

    beta sets how much codes overlap, alpha how well their aggregate matches the prior, which should
    carry the structure that is wanted (clusters, sparsity) and not depend on u. With alpha = 0 it
    is the beta-VAE. The prior's samples are made from a second draw of noise.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> from vaescope.schedules import Constant
        >>> nothing = lambda sides: torch.tensor(0.0)
        >>> vs.objectives.Decomposition(nothing, Constant(1.0), Constant(2.0)).rate_weight(0)
    """

    divergence: Divergence
    alpha: Schedule = field(default_factory=lambda: Constant(1.0))
    beta: Schedule = field(default_factory=lambda: Constant(1.0))
    draws: ClassVar[int] = 2

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        base = BetaVAE(self.beta)(vae, batch, step, noise)
        q, p = base.posterior, vae.prior(batch.u)
        found = self.divergence(Sides(q, q.at(noise[0]), p, p.at(noise[1]), batch.dataset_size))
        loss = base.loss + self.alpha(step) * found
        return Terms(loss, {**base.parts, "divergence": found}, q)

    def pull(self, step: float) -> Pull:
        """With alpha above 0 D moves the posterior variances too. A latent that ignores x is its
        own aggregate: where its prior is Gaussian both terms want that prior; KL(q(z) || p(z)) is
        then the rate again. Else the rate wants one Gaussian and D the shape of the whole prior.
        """
        base = BetaVAE(self.beta).pull(step)
        if value_at(self.alpha, step) == 0.0 or base.factor is None:
            return base
        return replace(
            base, weight=None, only_gaussian=self.divergence is not exclusive_kl,
            no_weight="alpha D(q(z), p(z)) acts on posterior variances beside the rate",
            no_unused="alpha D(q(z), p(z)) draws a latent that ignores x to the shape of the whole "
            "prior, the rate to one Gaussian",
        )  # fmt: skip
