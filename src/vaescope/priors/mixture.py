"""Gaussian mixture prior. Mathieu et al. 2019, https://arxiv.org/abs/1812.02833, eq. (9)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vaescope.distributions import Reparameterised
from vaescope.prior_density import MixtureDensity
from vaescope.vae import Prior

__all__ = ["GaussianMixture", "MixturePrior", "axis_means"]

_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class GaussianMixture(Reparameterised):
    """sum_c exp(log_weights)_c N(loc_c, diag(exp(log_variance_c)))."""

    log_weights: Tensor  # (component,), logarithms of shares that sum to one
    loc: Tensor  # (component, latent)
    log_variance: Tensor  # (component, latent)
    #: How often `log_prob` counts the log-density. Any number but 1 makes it none.
    counted: int = 1

    @property
    def mean(self) -> Tensor:
        return self.log_weights.exp().unsqueeze(0) @ self.loc  # (1, latent)

    @property
    def variance(self) -> Tensor:
        second_moment = self.log_variance.exp() + self.loc**2
        return self.log_weights.exp().unsqueeze(0) @ second_moment - self.mean**2

    def at(self, noise: Tensor) -> Tensor:
        """The first latent's noise chooses the component too: its uniform is cut into shares, and
        where it lies within its share is again uniform and independent of which share it is."""
        # In float64: cutting costs digits.
        weights = self.log_weights.double().exp()
        ends = weights.cumsum(0)
        uniform = torch.special.ndtr(noise[:, 0].double())
        chosen = (uniform.unsqueeze(1) >= ends[:-1]).sum(1)  # (batch,)
        within = (uniform - (ends - weights)[chosen]) / weights[chosen]
        first = torch.special.ndtri(within.clamp(2.0**-53, 1.0 - 2.0**-53)).to(noise.dtype)
        eps = torch.cat([first.unsqueeze(1), noise[:, 1:]], 1)
        return self.loc[chosen] + eps * (0.5 * self.log_variance[chosen]).exp()

    def log_prob(self, x: Tensor) -> Tensor:
        gap = x.unsqueeze(1) - self.loc  # (batch, component, latent)
        log_density = -0.5 * (gap**2 * (-self.log_variance).exp() + self.log_variance + _LOG_2PI)
        return self.counted * torch.logsumexp(self.log_weights + log_density.sum(-1), 1)


def axis_means(latent: int) -> Tensor:
    """One mean at plus and one at minus one on each axis: shape (2 * latent, latent).

    For two latents these are the four of the paper's code; the paper's text has lost the minus.
    """
    eye = torch.eye(latent)
    return torch.cat([eye, -eye])


class MixturePrior(Prior):
    """A mixture of N(mean_c, variance * I) with equal weights.

    `legacy` counts the log-density once per latent in the rate, as the released code does: it
    subtracts one log-density per example from a log-density per latent, then sums over latents.
    The prior is then overweighted by a factor of the number of latents. Whether figure 3 of the
    paper was made with that code is not known. Use it for comparison only: log_prob is then not a
    density.

    Args:
        means: (component, latent) centres.
        variance: variance of each component.
        legacy: whether the log-density is counted as in the released code.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.priors.MixturePrior(torch.tensor([[2.0, 0.0], [-2.0, 0.0]]))().mean.tolist()
        [[0.0, 0.0]]
    """

    means: Tensor
    log_weights: Tensor
    log_variance: Tensor

    def __init__(self, means: Tensor, *, variance: float = 0.03, legacy: bool = False) -> None:
        super().__init__()
        components, latent = means.shape
        self.counted = latent if legacy else 1
        constants = {
            "means": means.clone(),
            "log_weights": torch.full((components,), -math.log(components)),
            "log_variance": torch.full((components, latent), math.log(variance)),
        }
        for name, constant in constants.items():
            self.register_buffer(name, constant, persistent=False)

    def forward(self, u: Tensor | None = None) -> GaussianMixture:
        del u
        return GaussianMixture(self.log_weights, self.means, self.log_variance, self.counted)

    def density(self, u: Tensor | None = None) -> MixtureDensity:
        """The mixture itself, of a legacy prior too: only its rate counts the density twice."""
        del u
        weights, means, variances = (
            own.double().cpu().numpy()
            for own in (
                self.log_weights.double().exp(),
                self.means,
                self.log_variance.double().exp(),
            )
        )
        return MixtureDensity(weights / weights.sum(), means, variances)
