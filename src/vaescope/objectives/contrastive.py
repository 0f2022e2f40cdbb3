"""Permutation-contrastive learning: which images follow each other.

Hyvarinen and Morioka 2017, Nonlinear ICA of temporally dependent stationary sources,
https://proceedings.mlr.press/v54/hyvarinen17a.html, sections 3 and 4; the form of the regression
function is that of Morioka's code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vaescope.errors import UsageError
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.vae import VAE, Batch

__all__ = ["Contrast", "PermutationContrast", "strangers"]


class Contrast(nn.Module):
    """Codes of two images -> the logit that one follows the other:

        -sum_i |w_i h_i + v_i h'_i + b_i| + a sum_i h_i^2 + m,   a >= 0,

    the log-ratio of densities where steps between neighbours are Laplace and codes are Gaussian.
    """

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.ones(latent))
        self.second = nn.Parameter(-torch.ones(latent))
        self.shift = nn.Parameter(torch.zeros(latent))
        self.square = nn.Parameter(torch.ones(()))
        self.level = nn.Parameter(torch.zeros(()))

    @torch.no_grad()
    def project(self) -> None:
        """Brings a back to 0 where an update took it below, as Morioka's code does."""
        self.square.clamp_(min=0.0)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        steps = (self.first * first + self.second * second + self.shift).abs().sum(-1)
        return self.square * (first**2).sum(-1) - steps + self.level


def strangers(noise: Tensor) -> Tensor:
    """For each row of a batch another one, any with equal chances and never itself: the next in a
    random circle, which the ranks of standard normal `noise` (batch,) are."""
    circle = noise.argsort()
    other = torch.empty_like(circle)
    other[circle] = circle.roll(1)
    return other


@dataclass(frozen=True)
class PermutationContrast(Objective):
    """Cross-entropy, in nats, of a classifier that separates pairs that follow each other from
    pairs that do not.

    Codes are the encoder's means. The second image of a false pair is that of another pair of the
    batch, so that both kinds have the same images; Morioka's code draws it from all data. Nothing
    is decoded: such a model has no decoder, no rate and no noise.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.objectives.PermutationContrast(torch.nn.Identity()).needs_pairs
        True
    """

    contrast: Contrast  # network that separates pairs
    needs_pairs: ClassVar[bool] = True

    @property
    def modules(self) -> Mapping[str, nn.Module]:
        return {"contrast": self.contrast}

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        del step
        if batch.pair is None or len(batch.x) < 2:
            raise UsageError(
                f"Contrastive learning needs two pairs of images or more; got {len(batch.x)} "
                f"images and {'no' if batch.pair is None else 'their'} partners.",
                "Train with pairs.name=laplace and batch=2 or more.",
            )
        q = vae.encoder(torch.cat([batch.x, batch.pair]))
        first, second = q.mean.chunk(2)
        self.contrast.project()
        true = self.contrast(first, second)
        false = self.contrast(first, second[strangers(noise[0, :, 0])])
        loss = 0.5 * (F.softplus(-true).mean() + F.softplus(false).mean())
        accuracy = 0.5 * ((true > 0).double().mean() + (false < 0).double().mean())
        # The regression's own parameters learn by the same loss, in a group of their own.
        return Terms(loss, {"contrast": loss, "accuracy": accuracy}, q, {"contrast": loss})

    def pull(self, step: float) -> Pull:
        del step
        why = "contrastive learning has no rate"
        return Pull(no_weight=why, no_unused=f"{why}: its codes have no posterior")
