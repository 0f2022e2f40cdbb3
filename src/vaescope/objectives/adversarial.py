"""The weakly supervised GAN: pairs of images that share a factor, and an encoder of what it draws.

Shu et al. 2020, Weakly supervised disentanglement with guarantees,
https://arxiv.org/abs/1910.09772, section 3 (share labelling) and its code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm

from vaescope.errors import UsageError
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.vae import VAE, Batch

__all__ = ["Discriminator", "WeakGAN", "convolutional_body", "dense_body"]


def _dense(*widths: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        parts += [spectral_norm(nn.Linear(fan_in, fan_out)), nn.LeakyReLU(0.2)]
    return nn.Sequential(*parts)


def dense_body(values: int, width: int) -> nn.Sequential:
    """Features of one image by two fully connected layers."""
    return nn.Sequential(nn.Flatten(), *_dense(values, width, width))


def convolutional_body(channels: int, size: int, width: int) -> nn.Sequential:
    """Features of one square image: convolutions down to 4 x 4, of twice the released channels 32,
    32, 64, 64, as their `width` 2, and a fully connected layer."""
    parts: list[nn.Module] = []
    for out in (64, 64, 128, 128)[: (size // 4).bit_length() - 1]:
        parts += [spectral_norm(nn.Conv2d(channels, out, 4, 2, 1)), nn.LeakyReLU(0.2)]
        channels = out
    return nn.Sequential(*parts, nn.Flatten(), *_dense(16 * channels, width))


class Discriminator(nn.Module):
    """Two images and the number of what they share -> the logit that they are real.

    One body for both images, two layers on both together, one logit without the label and one by
    its projection (Miyato and Koyama 2018); spectral norm in all but the projection.
    """

    def __init__(self, body: nn.Module, width: int, labels: int) -> None:
        super().__init__()
        self.body = body
        self.joint = _dense(2 * width, width, width)
        self.plain = spectral_norm(nn.Linear(width, 1))
        self.projection = nn.Embedding(labels, width)

    def forward(self, first: Tensor, second: Tensor, label: Tensor) -> Tensor:
        features = self.joint(torch.cat([self.body(first), self.body(second)], -1))
        labelled: Tensor = (features * self.projection(label)).sum(-1)
        plain: Tensor = self.plain(features).squeeze(-1)
        return plain + labelled


@dataclass(frozen=True)
class WeakGAN(Objective):
    """Full sharing: real pairs share the factor that `Batch.shared` names, pairs of the generator
    the latent of that number; the discriminator sees the number too.

    The decoder's mean is the generator, with batch norm after each activation as in their code
    (`nets.generator`): without it the discriminator wins immediately and nothing is learnt. The
    generator's loss is -log D (non-saturating); the encoder learns -log q(z|G(z)) from generated
    images only, separately from the generator. A step updates discriminator, generator and encoder
    once, all from the same weights (the code updates the discriminator and the encoder first). A
    latent that the generator ignores has the prior as its posterior.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.objectives.WeakGAN(torch.nn.Identity()).needs_pairs
        True
    """

    discriminator: nn.Module  # network that separates pairs
    draws: ClassVar[int] = 2
    needs_pairs: ClassVar[bool] = True

    @property
    def modules(self) -> Mapping[str, nn.Module]:
        return {"discriminator": self.discriminator}

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        del step
        if batch.pair is None or batch.shared is None:
            raise UsageError(
                "The weakly supervised GAN needs pairs of images with the factor that they share.",
                "Train with pairs.name=shared.",
            )
        latent = noise.shape[-1]
        if int(batch.shared.max()) >= latent:
            raise UsageError(
                f"The pairs share factor {int(batch.shared.max())}, counted from 0; there are "
                f"{latent} latents.",
                "Give latent as many as the data have factors, or name fewer in pairs.factors.",
            )
        prior = vae.prior()
        first, second = prior.at(noise[0]), prior.at(noise[1])
        same = F.one_hot(batch.shared, latent).bool()
        second = torch.where(same, first, second)
        drawn = vae.decoder(torch.cat([first, second])).mean
        one, other = drawn.chunk(2)
        logits = self.discriminator(
            torch.cat([batch.x, one]), torch.cat([batch.pair, other]), batch.shared.repeat(2)
        )
        real, fake = logits.chunk(2)
        critic = F.softplus(-real).mean() + F.softplus(fake).mean()
        generator = F.softplus(-fake).mean()
        q = vae.encoder(one.detach())  # the encoder's loss must not move the generator
        encoder = -q.log_prob(first.detach()).mean()
        parts = {"generator": generator, "discriminator": critic, "encoder": encoder}
        return Terms(generator + encoder, parts, q, {"discriminator": critic})

    def pull(self, step: float) -> Pull:
        del step
        return Pull(factor=1.0, no_weight="a GAN has no distortion that its rate is weighed with")
