"""beta-TCVAE: the total correlation of the aggregate posterior weighs more than the rest.

Chen et al. 2018, Isolating Sources of Disentanglement in VAEs, https://arxiv.org/abs/1802.04942,
eq. (4).
"""

from dataclasses import dataclass, field, replace

from torch import Tensor

from vaescope.aggregate_posterior import Weights, log_densities, weighted
from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.schedules import Constant, Schedule, value_at
from vaescope.vae import VAE, Batch

__all__ = ["BetaTCVAE", "with_total_correlation"]


@dataclass(frozen=True)
class BetaTCVAE(Objective):
    """-E log p(x|z) + rate KL(q(z|x) || p(z)) + (beta - rate) TC.

    Chen et al. write it as -E log p(x|z) + I(n; z) + beta TC + sum_l KL(q(z_l) || p(z_l)); the
    three add up to log q(z|x) - log p(z) at the sample, whatever the estimate of q(z). Here, as in
    disentanglement_lib, that sum is the rate in closed form: the same expectation with less
    variance, and exactly the ELBO at beta = 1. `rate` is the weight of its other two parts (Chen et
    al. call it alpha and gamma, and have it 1): at beta = rate it is a beta-VAE.

    `estimator`: how a batch stands for the data, from `vaescope.aggregate_posterior`. `weighted`
    has the gradients of disentanglement_lib and Chen's default; `stratified` is Chen's better one.
    The last part is a sum of divergences of single latents only if the prior is a product.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.BetaTCVAE().draws
        1
    """

    beta: Schedule = field(default_factory=lambda: Constant(6.0))
    estimator: Weights = weighted
    rate: Schedule = field(default_factory=lambda: Constant(1.0))

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        elbo = BetaVAE(self.rate)(vae, batch, step, noise)
        q = elbo.posterior
        z = q.at(noise[0])
        found = log_densities(q, z, self.estimator(z, batch.dataset_size))
        correlation = found.total_correlation
        parts = {
            **elbo.parts,
            "index_code_information": found.index_code_information,
            "total_correlation": correlation,
            "dimension_wise_kl": (found.marginals - vae.prior(batch.u).log_prob(z)).mean(),
        }
        return Terms(elbo.loss + (self.beta(step) - self.rate(step)) * correlation, parts, q)

    def pull(self, step: float) -> Pull:
        """A latent that ignores x changes no total correlation: it has what the rate gives it. The
        widths of others have no one weight (`with_total_correlation`), but at beta = rate."""
        rated = BetaVAE(self.rate).pull(step)
        beta, rate = value_at(self.beta, step), value_at(self.rate, step)
        return rated if beta == rate else with_total_correlation(rated)


def with_total_correlation(rated: Pull) -> Pull:
    """What a penalty on the total correlation of q(z) leaves of the law of the rate.

    TC = E log q(z) - sum_j E log q(z_j). Where the aggregate is a product it is flat in posterior
    variances. Where the codes of no two examples overlap, but their single latents do, q(z) is
    q(z|x) / n, so that TC has -1/2 log v_j of each, as the rate has, and widens posteriors with it.
    """
    if rated.weight is None:
        return rated
    why = (
        "the total correlation acts on posterior variances beside the rate, more the less the "
        "codes of examples overlap"
    )
    return replace(rated, weight=None, no_weight=why)
