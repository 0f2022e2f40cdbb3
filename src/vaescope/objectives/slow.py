"""SlowVAE: pairs of images whose codes move by sparse steps.

Klindt et al. 2021, Towards nonlinear disentanglement in natural data with temporal sparse coding,
https://arxiv.org/abs/2007.10930, eq. (6) to (9), and as their code has it.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor

from vaescope.distributions import DiagonalGaussian, kl_per_latent
from vaescope.errors import UsageError
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = ["Form", "SlowVAE", "laplace_cross_entropy"]

#: How many entropies the transition's term takes away: one, as released, or one for each image.
Form = Literal["released", "consistent"]
_ENTROPIES = {"released": 1, "consistent": 2}

_LOG_2PI_E = math.log(2.0 * math.pi * math.e)
_MEAN_ABSOLUTE = math.sqrt(2.0 / math.pi)  # E|eps| of a standard normal eps


def laplace_cross_entropy(distance: Tensor, log_variance: Tensor, rate: Tensor | float) -> Tensor:
    """-E log p(z) of z ~ N(m, v) under a Laplace density around m - `distance`, in nats:

        -log(rate / 2) + rate E|z - m + distance|,
        E|...| = sigma sqrt(2 / pi) exp(-distance^2 / (2 v)) + distance (2 Phi(distance/sigma) - 1).

    >>> print(f"{laplace_cross_entropy(torch.zeros(()), torch.zeros(()), 2.0):.4f}")  # 2 E|eps|
    1.5958
    """
    rate = torch.as_tensor(rate, dtype=distance.dtype, device=distance.device)
    ratio = distance * (-0.5 * log_variance).exp()  # distance / sigma
    # 2 Phi(t) - 1 = erf(t / sqrt 2), which keeps its digits where t is small.
    absolute = (0.5 * log_variance).exp() * _MEAN_ABSOLUTE * (-0.5 * ratio**2).exp()
    absolute = absolute + distance * torch.erf(ratio / math.sqrt(2.0))
    return rate * absolute - (0.5 * rate).log()


@dataclass(frozen=True)
class SlowVAE(Objective):
    """Of a pair (x, y) with posteriors q and r, means over pairs:

        D(x) + D(y) + beta / 2 (KL(q || p) + KL(r || p)) + gamma (C(q|r) + C(r|q) - entropies),

    D the distortion, C the cross-entropy with a Laplace density of `rate` around the other image's
    mean, p = N(0, I). `form` says how many Gaussian entropies are taken away: the code takes one
    for a pair ("released"), each cross-entropy has its own ("consistent").

    The loss is that of a pair; distortion and rate among the parts are those of one image. Without
    gamma it is twice the beta-VAE of both images at beta / 2.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.SlowVAE().needs_pairs
        True
    """

    beta: Schedule = field(default_factory=lambda: Constant(1.0))
    gamma: Schedule = field(default_factory=lambda: Constant(10.0))
    rate: Schedule = field(default_factory=lambda: Constant(6.0))
    form: Form = "released"
    draws: ClassVar[int] = 2
    needs_pairs: ClassVar[bool] = True

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        if batch.pair is None:
            raise UsageError(
                "SlowVAE needs the second image of each pair; this batch has none.",
                "Train with pairs.name=laplace, or give Batch(..., pair=...).",
            )
        images = torch.cat([batch.x, batch.pair])
        q, p = vae.encoder(images), vae.prior()
        if not isinstance(q, DiagonalGaussian) or not isinstance(p, DiagonalGaussian):
            raise UsageError(
                "SlowVAE compares latents one by one; got a posterior "
                f"{type(q).__name__} and a prior {type(p).__name__}.",
                "Use posterior.name=diagonal and prior.name=normal.",
            )
        z = q.at(torch.cat([noise[0], noise[1]]))
        distortion = -vae.decoder(z).log_prob(images).mean()
        nats = kl_per_latent(q, p).sum(1).mean()
        transition = self._transition(q, self.rate(step))
        loss = 2.0 * distortion + self.beta(step) * nats + self.gamma(step) * transition
        return Terms(loss, {"distortion": distortion, "rate": nats, "transition": transition}, q)

    def _transition(self, q: DiagonalGaussian, rate: Tensor) -> Tensor:
        first, second = q.mean.chunk(2)
        distance = torch.cat([first - second, second - first])
        log_variance = q.log_variance.expand_as(q.mean)
        cross = laplace_cross_entropy(distance, log_variance, rate).sum(1).mean()
        entropy = 0.5 * (log_variance + _LOG_2PI_E).sum(1).mean()
        return 2.0 * cross - _ENTROPIES[self.form] * entropy

    def pull(self, step: float) -> Pull:
        """Of a latent that ignores x both means are one, so that its terms are, v its variance,
        beta/2 (v/s - log v) + gamma (2 rate sqrt(2 v / pi) - entropies/2 log v)."""
        beta, gamma, rate = (value_at(s, step) for s in (self.beta, self.gamma, self.rate))
        weight = beta + _ENTROPIES[self.form] * gamma
        why = "the effect of the transition term depends on how far apart the means of a pair lie"
        if weight <= 0.0:
            why = f"the weights of rate and transition, beta and gamma, are {beta:g} and {gamma:g}"
            return Pull(no_weight=why, no_unused=f"{why}: nothing acts on a latent that ignores x")
        return Pull(
            factor=weight / beta if beta > 0.0 else math.inf,
            deviation=2.0 * gamma * rate * _MEAN_ABSOLUTE / weight,
            only_gaussian=True,
            no_weight=why,
            no_unused="SlowVAE's rate is that of a Gaussian prior",
        )
