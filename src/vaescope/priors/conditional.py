"""Prior that depends on u. Khemakhem et al. 2020, https://arxiv.org/abs/1907.04809, section 3."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from vaescope.distributions import DiagonalGaussian
from vaescope.errors import UsageError
from vaescope.nets.initialisation import glorot
from vaescope.nets.mlp import ACTIVATIONS, hidden_layers
from vaescope.prior_density import GaussianDensity
from vaescope.vae import Prior, in_float32

__all__ = ["ConditionalPrior"]


class ConditionalPrior(Prior):
    """N(mean(u), diag(exp(lambda(u)))): a network for the log-variances and one for the mean, or
    mean zero.

    The defaults are grzes2023's: three hidden layers of 50, leaky ReLU of slope 0.1, Glorot's
    initialisation, mean zero. (Its code offers a fixed log-variance of 1, meant as a variance.)

    Args:
        width: number of values of u.
        latent: number of latents.
        hidden: widths of the hidden layers.
        activation: function that makes an activation.
        learned_mean: whether the mean depends on u too.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.priors.ConditionalPrior(width=3, latent=2)(torch.zeros(4, 3)).variance.shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        width: int,
        latent: int,
        *,
        hidden: Sequence[int] = (50, 50, 50),
        activation: Callable[[], nn.Module] = ACTIVATIONS["leaky-relu"],
        learned_mean: bool = False,
    ) -> None:
        super().__init__()
        self.width = width
        self.log_variance = _network(width, latent, hidden, activation)
        self.mean = _network(width, latent, hidden, activation) if learned_mean else None

    def forward(self, u: Tensor | None = None) -> DiagonalGaussian:
        """One row per row of u, so that rates against it have their closed form."""
        if u is None:
            raise UsageError(
                "This prior depends on u, and there is none.",
                f"Give {self.width} auxiliary values per example, e.g. by vaescope.data.auxiliary.",
            )
        log_variance = in_float32(self.log_variance, u)
        if self.mean is None:
            return DiagonalGaussian(torch.zeros_like(log_variance), log_variance)
        return DiagonalGaussian(in_float32(self.mean, u), log_variance)

    @torch.no_grad()
    def density(self, u: Tensor | None = None) -> GaussianDensity:
        prior = self(u)
        return GaussianDensity(
            prior.mean.float().cpu().numpy(), prior.variance.float().cpu().numpy()
        )


def _network(
    width: int, latent: int, hidden: Sequence[int], activation: Callable[[], nn.Module]
) -> nn.Sequential:
    widths = [width, *hidden]
    network = nn.Sequential(*hidden_layers(widths, activation), nn.Linear(widths[-1], latent))
    glorot(network)
    return network
