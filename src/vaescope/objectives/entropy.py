"""The ELBO with a bonus for posterior entropy: what a beta-VAE is up to the scale of its latents.

mathieu2019 (https://arxiv.org/abs/1812.02833), eq. (5), Theorem 1 and
Corollary 1.
"""

import math
from dataclasses import dataclass, field

from torch import Tensor

from vaescope.distributions import Distribution
from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = ["EntropyVAE", "gaussian_entropy"]


def gaussian_entropy(q: Distribution) -> Tensor:
    """H[q(z|x)] of each example, nats: shape (batch,). For Gaussians of any covariance.

    At its mean a Gaussian has log q = -1/2 log|2 pi S|, which is half a nat per latent above -H.
    """
    return 0.5 * q.mean.shape[-1] - q.log_prob(q.mean)


@dataclass(frozen=True)
class EntropyVAE(Objective):
    """-E log p(x|z) + KL(q(z|x) || p(z)) - (beta - 1)/2 log|S(x)|, S the posterior covariance.

    For prior N(0, Sigma) and Gaussian posteriors, the beta-VAE of the same beta has the same
    stationary points with mean and standard deviation smaller by sqrt(beta) (Corollary 2).

    Example:
        >>> import vaescope as vs
        >>> from vaescope.schedules import Constant
        >>> vs.objectives.EntropyVAE(Constant(2.0)).pull(0).factor
        2.0
    """

    beta: Schedule = field(default_factory=lambda: Constant(4.0))

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        elbo = BetaVAE()(vae, batch, step, noise)
        entropy = gaussian_entropy(elbo.posterior).mean()
        latent = elbo.posterior.mean.shape[-1]
        half_log_det = entropy - 0.5 * latent * (1.0 + math.log(2.0 * math.pi))
        loss = elbo.loss - (self.beta(step) - 1.0) * half_log_det
        return Terms(loss, {**elbo.parts, "posterior_entropy": entropy}, elbo.posterior)

    def pull(self, step: float) -> Pull:
        """Corollary 1: S' = beta S. The prior weighs 1 and log|S| beta, so that v is
        beta / (1 / s + G_jj), and beta s where the decoder ignores the latent."""
        beta = value_at(self.beta, step)
        if beta > 0.0:
            return Pull(beta, beta)
        why = f"the weight of the entropy, beta, is {beta:g}: posteriors shrink to points"
        return Pull(no_weight=why, no_unused=why)
