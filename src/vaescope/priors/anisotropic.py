"""Gaussian prior with a variance of its own for each latent.

Mathieu et al. 2019, https://arxiv.org/abs/1812.02833, section 6 and appendix B.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.data import Dataset
from vaescope.distributions import DiagonalGaussian
from vaescope.errors import UsageError
from vaescope.leading_axes import leading_axes
from vaescope.prior_density import GaussianDensity
from vaescope.seeds import rng
from vaescope.types import Double, Floats
from vaescope.vae import Prior

__all__ = ["AnisotropicPrior", "log_principal_variances", "log_released_variances"]

#: The released code kept this many singular values.
_RELEASED = 20


class AnisotropicPrior(Prior):
    """N(0, diag(v)) with v_d = variance * latent * softmax(log_shares)_d, fixed or learnt.

    The mean of the variances is `variance` whatever the shares are, so that shares do not silently
    rescale beta. The paper's "softmax of singular values" is that of their log squares, which
    merely normalises them: shares proportional to the principal variances.

    Args:
        log_shares: (latent,) logarithms of the shares of variance.
        variance: mean variance.
        learned: whether shares are trained.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.priors.AnisotropicPrior(torch.tensor([1.0, 0.0]))().variance.shape
        torch.Size([1, 2])
    """

    log_shares: Tensor
    zero: Tensor

    def __init__(self, log_shares: Tensor, *, variance: float = 1.0, learned: bool = False) -> None:
        super().__init__()
        self.log_variance = math.log(variance * len(log_shares))
        if learned:
            self.log_shares = nn.Parameter(log_shares.clone())
        else:
            # In the weights, unlike other constants: it comes from the data, not from the spec.
            self.register_buffer("log_shares", log_shares.clone())
        self.register_buffer("zero", torch.zeros(1, len(log_shares)), persistent=False)

    def forward(self, u: Tensor | None = None) -> DiagonalGaussian:
        del u
        log_variance = self.log_variance + self.log_shares.log_softmax(0)
        return DiagonalGaussian(self.zero, log_variance.unsqueeze(0))

    @torch.no_grad()
    def density(self, u: Tensor | None = None) -> GaussianDensity:
        variance = self(u).variance[0].double().cpu().numpy()
        return GaussianDensity(np.zeros_like(variance), variance)


def log_principal_variances(
    data: Dataset, latent: int, *, rows: int = 10_000, seed: int = 0
) -> Tensor:
    """Logarithms of the leading `latent` principal variances of the data, descending.

    Taken from `rows` rows drawn with `seed`, or all if there are fewer: shape (latent,).
    """
    x = _flat(data, rows, seed)
    values, _ = leading_axes(x - x.mean(0), latent)
    return _logarithms(values, latent)


def log_released_variances(
    data: Dataset, latent: int, *, rows: int = 10_000, seed: int = 0
) -> Tensor:
    """What the released code of the paper takes for it; only to reproduce its figure 2.

    It does not centre the data and reads an ascending list of twenty as if it were descending:
    with 10 latents these are the 20th to the 11th component, in this order, and much less
    anisotropic than the leading ten.
    """
    if latent > _RELEASED:
        raise UsageError(
            f"The released code kept {_RELEASED} singular values; {latent} latents need more.",
            "Use log_principal_variances, which is what the paper describes.",
        )
    values, _ = leading_axes(_flat(data, rows, seed), _RELEASED)
    return _logarithms(values[::-1][:latent], latent)


def _flat(data: Dataset, rows: int, seed: int) -> Double:
    n = min(rows, len(data))
    index = np.sort(rng(seed, "principal-variances").choice(len(data), n, replace=False))
    return data.rows(index).reshape(n, -1).astype(np.float64)


def _logarithms(values: Floats, latent: int) -> Tensor:
    if values.min() <= 1e-12 * values.max():
        raise UsageError(
            f"The data vary in fewer than {latent} directions, so a latent would have no variance.",
            "Lower latent, or use prior.name=normal.",
        )
    return torch.from_numpy(np.log(values)).to(torch.float32)
