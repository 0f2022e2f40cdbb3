"""DIP-VAE: the covariance of the codes is drawn to the identity.

Kumar et al. 2018, Variational Inference of Disentangled Latent Concepts from Unlabeled
Observations, https://arxiv.org/abs/1711.00848, eq. (6) and (7).
"""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from vaescope.distributions import FullGaussian, Reparameterised
from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = ["DIPI", "DIPII", "covariance_of_means", "covariance_of_samples"]


def covariance_of_means(q: Reparameterised) -> Tensor:
    """Cov_x[mean(x)] over the batch, divided by B as in disentanglement_lib: (latent, latent)."""
    centred = q.mean - q.mean.mean(0)
    # A product of vectors, not of matrices: autocast would round the latter to bf16.
    return (centred.unsqueeze(2) * centred.unsqueeze(1)).mean(0)


def covariance_of_samples(q: Reparameterised) -> Tensor:
    """Cov_x[mean(x)] + E_x Cov[z|x]: the covariance of the aggregate posterior."""
    if isinstance(q, FullGaussian):
        within = q.covariance.mean(0)
    else:
        within = torch.diag_embed(q.variance.expand_as(q.mean).mean(0))
    return covariance_of_means(q) + within


def _penalties(covariance: Tensor) -> tuple[Tensor, Tensor]:
    """sum_{i != j} c_ij^2 and sum_i (c_ii - 1)^2."""
    diagonal = covariance.diagonal()
    off = covariance - torch.diag_embed(diagonal)
    return (off**2).sum(), ((diagonal - 1.0) ** 2).sum()


def _terms(elbo: Terms, covariance: Tensor, off_weight: Tensor, diagonal_weight: Tensor) -> Terms:
    off, diagonal = _penalties(covariance)
    parts = {**elbo.parts, "off_diagonal": off, "diagonal": diagonal}
    loss = elbo.loss + off_weight * off + diagonal_weight * diagonal
    return Terms(loss, parts, elbo.posterior)


@dataclass(frozen=True)
class DIPI(Objective):
    """ELBO loss + off_diagonal sum_{i != j} c_ij^2 + diagonal sum_i (c_ii - 1)^2, c = Cov[mean].

    The target is the identity, so the prior should be N(0, I). The paper uses diagonal = 10
    off_diagonal. With both weights 0 it is the ELBO loss.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.DIPI().rate_weight(0)
        1.0
    """

    off_diagonal: Schedule = field(default_factory=lambda: Constant(10.0))
    diagonal: Schedule = field(default_factory=lambda: Constant(100.0))

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        elbo = BetaVAE()(vae, batch, step, noise)
        covariance = covariance_of_means(elbo.posterior)
        return _terms(elbo, covariance, self.off_diagonal(step), self.diagonal(step))

    def pull(self, step: float) -> Pull:
        """Posterior variances are the ELBO's, as the penalty sees means only; but it presses the
        variance of every latent's mean towards 1."""
        if value_at(self.diagonal, step) == 0.0:
            return Pull(1.0, 1.0)
        why = "the penalty draws the variance of each latent's mean to 1, so none ignores x"
        return Pull(1.0, no_unused=why)


@dataclass(frozen=True)
class DIPII(Objective):
    """DIP-VAE I's loss with c the covariance of samples, Cov[mean] + E Cov[z|x], usually with
    equal weights. `rate` is the weight of the ELBO's rate.

    A diagonal posterior's noise adds to c's diagonal only, so means may stay correlated where it
    is large: bonheme2023 section 2.2.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.DIPII().rate_weight(0)
        1.0
    """

    off_diagonal: Schedule = field(default_factory=lambda: Constant(10.0))
    diagonal: Schedule = field(default_factory=lambda: Constant(10.0))
    rate: Schedule = field(default_factory=lambda: Constant(1.0))

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        elbo = BetaVAE(self.rate)(vae, batch, step, noise)
        covariance = covariance_of_samples(elbo.posterior)
        return _terms(elbo, covariance, self.off_diagonal(step), self.diagonal(step))

    def pull(self, step: float) -> Pull:
        """That of the rate where c_jj = 1, as the penalty is flat there; it adds
        4 diagonal (c_jj - 1) to the inverse variance. A latent that ignores x has c_jj = v."""
        rated = BetaVAE(self.rate).pull(step)
        if rated.weight is None:
            return rated
        return replace(rated, spread=value_at(self.diagonal, step) / rated.weight)
