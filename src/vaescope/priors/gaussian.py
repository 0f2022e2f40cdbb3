"""The standard normal prior."""

import torch
from torch import Tensor

from vaescope.distributions import DiagonalGaussian
from vaescope.prior_density import GaussianDensity, standard_normal
from vaescope.vae import Prior

__all__ = ["StandardNormal"]


class StandardNormal(Prior):
    """N(0, I) over `latent` dimensions.

    Args:
        latent: number of latents.

    Example:
        >>> import vaescope as vs
        >>> vs.priors.StandardNormal(2)().variance.tolist()
        [[1.0, 1.0]]
    """

    zero: Tensor

    def __init__(self, latent: int) -> None:
        super().__init__()
        # Not in the weights: it is a constant, and follows the module to its device and type.
        self.register_buffer("zero", torch.zeros(1, latent), persistent=False)

    def forward(self, u: Tensor | None = None) -> DiagonalGaussian:
        del u
        return DiagonalGaussian(self.zero, self.zero)

    def density(self, u: Tensor | None = None) -> GaussianDensity:
        del u
        return standard_normal(self.zero.shape[1])
