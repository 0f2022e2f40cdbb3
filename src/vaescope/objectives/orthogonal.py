"""An autoencoder or VAE whose decoder is pressed to have orthogonal Jacobian columns.

zietlow2022 section 6.3 asks for explicit control over what beta-VAEs do by the way.
The estimator is Hutchinson's, as in Peebles et al. 2020, The Hessian Penalty,
https://arxiv.org/abs/2008.10599, applied to J'J instead of the Hessian.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from vaescope.distributions import sum_event
from vaescope.objectives.elbo import Autoencoder, BetaVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule
from vaescope.vae import VAE, Batch, Decoder

__all__ = ["Orthogonal", "Space", "logits", "means", "off_diagonal", "signs"]

#: What is differentiated: (decoder, z) -> tensor of the shape of x.
Space = Callable[[Decoder, Tensor], Tensor]


def means(decoder: Decoder, z: Tensor) -> Tensor:
    """The mean of p(x|z): image space, in which squared error measures."""
    image: Tensor = decoder(z).mean
    return image


def logits(decoder: Decoder, z: Tensor) -> Tensor:
    """What the network puts out before the likelihood: logits of a Bernoulli."""
    output: Tensor = decoder.body(z).to(z.dtype)
    return output


def signs(noise: Tensor) -> Tensor:
    """+1 or -1 with equal chances, from standard normal noise."""
    return 1.0 - 2.0 * (noise < 0).to(noise.dtype)


def off_diagonal(function: Callable[[Tensor], Tensor], z: Tensor, probes: Tensor) -> Tensor:
    """1/4 (||J a||^2 - ||J b||^2)^2 of each example, a and b the two `probes` (2, batch, latent).

    For independent random signs a its expectation is sum_{i != j} (J'J)_ij^2, without bias: a'J'Ja
    has the trace as mean and twice that sum as variance, and half the squared difference of two
    draws is an unbiased variance. For probes s * signs it is sum_{i != j} (s_i s_j (J'J)_ij)^2.
    Two products J v by forward mode; the result has gradients by reverse mode.
    """

    def product(probe: Tensor) -> Tensor:
        tangent: Tensor = torch.func.jvp(function, (z,), (probe,))[1]
        return sum_event(tangent**2)

    lengths = torch.func.vmap(product)(probes)  # (2, batch)
    return 0.25 * (lengths[0] - lengths[1]) ** 2


@dataclass(frozen=True)
class Orthogonal(Objective):
    """`base` + weight E_x sum_{i != j} (s_i s_j (J'J)_ij)^2, J the decoder's Jacobian at mean(x).

    s_i is the standard deviation of latent i's mean over the batch. With s_i, the columns of J are
    changes of x per standard deviation; without it a plain autoencoder would lower the penalty by
    stretching its codes, which changes no angle. Columns of passive latents are left out.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.Orthogonal(vs.objectives.BetaVAE()).rate_weight(0)
        1.0
    """

    base: Autoencoder | BetaVAE
    weight: Schedule = field(default_factory=lambda: Constant(0.01))
    space: Space = means
    draws: ClassVar[int] = 3  # one for the base, two of signs

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        base = self.base(vae, batch, step, noise)
        z = base.posterior.mean
        # The square root has no slope at 0, where a batch of one row is.
        scale = (z.var(0, correction=0) + 1e-12).sqrt()
        penalty = off_diagonal(
            lambda point: self.space(vae.decoder, point), z, scale * signs(noise[1:3])
        ).mean()
        loss = base.loss + self.weight(step) * penalty
        return Terms(loss, {**base.parts, "off_diagonal": penalty}, base.posterior)

    def pull(self, step: float) -> Pull:
        """The base's: the penalty sees means and the decoder, no posterior variance."""
        return self.base.pull(step)
