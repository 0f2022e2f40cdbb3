"""How far the aggregate posterior q(z) = 1/n sum_j q(z|x_j) is from the prior, and from a product.

mathieu2019 (Disentangling Disentanglement, https://arxiv.org/abs/1812.02833),
section 5 and appendix C; total correlation: Chen et al. 2018, https://arxiv.org/abs/1802.04942;
maximum mean discrepancy: Tolstikhin et al. 2018, Wasserstein Auto-Encoders,
https://arxiv.org/abs/1711.01558.

On a dataset of a few thousand rows q(z) is a finite mixture whose density is exact (`exact`). From
a batch it is estimated, and the estimators say how.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vaescope.distributions import DiagonalGaussian, Distribution, Reparameterised
from vaescope.errors import UsageError

__all__ = [
    "SCALES",
    "LogDensities",
    "Weights",
    "chen_stratified",
    "chen_weighted",
    "exact",
    "exclusive_kl",
    "inclusive_kl",
    "log_components",
    "log_densities",
    "log_marginals",
    "mmd",
    "mmd_per_latent",
    "stratified",
    "weighted",
]

_LOG_2PI = math.log(2.0 * math.pi)

#: Scales of the inverse multiquadric kernel in mathieu2019's code; their kernels are added up.
SCALES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

#: (samples z, n) -> log w_ij, broadcastable to (sample, component): log q(z_i) is estimated by
#: log sum_j w_ij q(z_i|x_j), where z_i came from x_i and n is the size of the dataset.
Weights = Callable[[Tensor, int], Tensor]


def weighted(z: Tensor, size: int) -> Tensor:
    """1/B for every component: the aggregate of the batch instead of the data's.

    The gradients are those of Chen et al.'s minibatch weighted sampling (and dlib's), whose weights
    1/(nB) add up to 1/n instead of 1: see `chen_weighted`. Exact if the batch is the dataset;
    of a smaller one each z_i's own component counts n/B times too much.
    """
    del size
    return torch.full((1, 1), -math.log(len(z)), dtype=z.dtype, device=z.device)


def stratified(z: Tensor, size: int) -> Tensor:
    """1/n for the component that z_i came from, (n-1)/n shared by the others:
    mathieu2019 eq. (10b).

    sum_j w_ij q(z_i|x_j) is then unbiased for q(z_i), exact if the batch is the dataset. Chen et
    al.'s minibatch stratified sampling gives one of the others a weight of its own; this is its
    mean over which one, so it has less variance and does not depend on the order of the batch.

    >>> stratified(torch.zeros(2, 1), 4).exp()
    tensor([[0.2500, 0.7500],
            [0.7500, 0.2500]])
    """
    _need_others("stratified", len(z), size)
    own = torch.eye(len(z), dtype=z.dtype, device=z.device)
    other = math.log((size - 1) / (size * (len(z) - 1)))
    return own * -math.log(size) + (1.0 - own) * other


def chen_weighted(z: Tensor, size: int) -> Tensor:
    """1/(nB) for every component, as Chen et al. and bhowal2024 have it. For comparison with their
    values.

    The weights add up to 1/n, so log q(z) is log n too low: on top of `weighted`, the information
    of index and code is log n higher and the total correlation of d latents (d-1) log n.
    """
    return torch.full((1, 1), -math.log(len(z) * size), dtype=z.dtype, device=z.device)


def chen_stratified(z: Tensor, size: int) -> Tensor:
    """Chen et al.'s stratified weights where their code puts them. For comparison with its values.

    The stride in the code fills column 0 instead of the diagonal, and column 1 beside it: the
    weight 1/n goes to the first row of the batch, whichever row z_i came from. Copied by others.
    """
    batch = len(z)
    _need_others("chen_stratified", batch, size)
    if size < batch:
        raise UsageError(
            f"Chen's stratified weights need n >= batch; got n = {size} and batch = {batch}.",
            "Use a smaller batch, or objective.estimator=stratified.",
        )
    last = (size - batch + 1) / (size * (batch - 1))
    weights = torch.full((batch, batch), 1.0 / (batch - 1), dtype=z.dtype, device=z.device)
    weights[:, 0] = 1.0 / size
    weights[:, 1] = last
    weights[batch - 2, 0] = last
    return weights.log()


def _need_others(name: str, batch: int, size: int) -> None:
    if batch < 2 or size < 2:
        raise UsageError(
            f"{name} needs at least two rows in the batch and in the data; got {batch} and {size}.",
            "Use batch=2 or more.",
        )


def log_components(q: Distribution, z: Tensor) -> Tensor:
    """log q(z_i|x_j) of every sample under every component: shape (sample, component)."""
    return torch.func.vmap(lambda one: q.log_prob(one.unsqueeze(0)))(z)


def log_marginals(q: Reparameterised, z: Tensor) -> Tensor:
    """log q(z_il|x_j), shape (sample, component, latent), of Gaussians of any covariance."""
    variance = q.variance
    distance = (z.unsqueeze(1) - q.mean) ** 2 / variance
    return -0.5 * (distance + variance.log() + _LOG_2PI)


@dataclass(frozen=True, eq=False)
class LogDensities:
    """What is known of samples z_i ~ q(z|x_i), nats: each of shape (sample,)."""

    conditional: Tensor  # log q(z_i|x_i)
    joint: Tensor  # log q(z_i)
    marginals: Tensor  # sum_l log q(z_il)

    @property
    def index_code_information(self) -> Tensor:
        """I(n; z): how much a code tells of the row it came from."""
        return (self.conditional - self.joint).mean()

    @property
    def total_correlation(self) -> Tensor:
        """KL(q(z) || prod_l q(z_l))."""
        return (self.joint - self.marginals).mean()

    @property
    def entropy(self) -> Tensor:
        """H[q(z)]. Estimated from a small batch it tends to log n + E H[q(z|x)]:
        mathieu2019 app. C."""
        return -self.joint.mean()


def _mixtures(q: Reparameterised, z: Tensor, log_weights: Tensor) -> tuple[Tensor, Tensor]:
    """log q(z_i) and sum_l log q(z_il) of the mixture with these weights: shape (sample,)."""
    each = log_marginals(q, z)  # (sample, component, latent)
    together = each.sum(-1) if isinstance(q, DiagonalGaussian) else log_components(q, z)
    # log-sum-exp over the components: the densities themselves underflow beyond 20 latents.
    joint = torch.logsumexp(together + log_weights, 1)
    marginals = torch.logsumexp(each + log_weights.unsqueeze(-1), 1).sum(-1)
    return joint, marginals


def log_densities(q: Reparameterised, z: Tensor, log_weights: Tensor) -> LogDensities:
    """Densities at z_i ~ q(z|x_i) with weights log w_ij of the components, for Gaussian q."""
    return LogDensities(q.log_prob(z), *_mixtures(q, z, log_weights))


@torch.no_grad()
def exact(q: Reparameterised, z: Tensor, *, chunk: int = 128) -> LogDensities:
    """The same with q the posteriors of the whole dataset: no estimate, the mixture itself.

    Time and memory grow as n^2 and chunk * n; for grids of a few thousand rows.
    """
    uniform = torch.full((1, 1), -math.log(len(z)), dtype=z.dtype, device=z.device)
    parts = [_mixtures(q, part, uniform) for part in torch.split(z, chunk)]
    joint, marginals = (torch.cat(side) for side in zip(*parts, strict=True))
    return LogDensities(q.log_prob(z), joint, marginals)


def exclusive_kl(q: Reparameterised, p: Distribution, z: Tensor, size: int) -> Tensor:
    """KL(q(z) || p(z)) by mathieu2019 eq. (10): mean log q(z_i) - log p(z_i), q(z_i) by
    `stratified`.

    Biased: log of an unbiased estimate. If the batch is much smaller than the data and codes do not
    overlap, it is the mean rate minus log n, negative as a rule, and acts like more beta.
    """
    together = log_components(q, z) + stratified(z, size)
    return (torch.logsumexp(together, 1) - p.log_prob(z)).mean()


def inclusive_kl(q: Distribution, p: Distribution, w: Tensor) -> Tensor:
    """KL(p(z) || q(z)) at samples w of the prior: mean log p(w_i) - log 1/B sum_j q(w_i|x_j).

    Exact aggregation if the batch is the dataset; mathieu2019's formula lacks both 1/B. From a
    smaller batch it is biased upwards, since q(z) misses what the absent rows would cover.
    """
    joint = torch.logsumexp(log_components(q, w), 1) - math.log(len(q.mean))
    return (p.log_prob(w) - joint).mean()


def _kernel(squared: Tensor, scales: Sequence[float], latent: int) -> Tensor:
    """sum_s C / (C + squared) with C = 2 * latent * s."""
    widths = [2.0 * latent * scale for scale in scales]
    return torch.stack([width / (width + squared) for width in widths]).sum(0)


def _u_statistic(xx: Tensor, yy: Tensor, xy: Tensor) -> Tensor:
    """E k(x, x') + E k(y, y') - 2 E k(x, y) without the diagonals of the first two: unbiased."""

    def off_diagonal_mean(k: Tensor) -> Tensor:
        return (k.sum() - k.diagonal().sum()) / (len(k) * (len(k) - 1))

    if len(xx) < 2 or len(yy) < 2:
        raise UsageError(
            f"The maximum mean discrepancy needs two samples of each side; got {len(xx)} and "
            f"{len(yy)}.",
            "Use batch=2 or more.",
        )
    return off_diagonal_mean(xx) + off_diagonal_mean(yy) - 2.0 * xy.mean()


def mmd(x: Tensor, y: Tensor, *, scales: Sequence[float] = SCALES) -> Tensor:
    """Squared maximum mean discrepancy of two samples (n, d) and (m, d), inverse multiquadric.

    k = sum_s C/(C + ||x - y||^2), C = 2 d s (Tolstikhin et al.; mathieu2019 prints the norm
    unsquared). Unbiased, so it may be negative when the two distributions are close.

    >>> mmd(torch.zeros(2, 1), torch.ones(2, 1), scales=[0.5]).item()  # 1 + 1 - 2 / (1 + 1)
    1.0
    """

    def k(a: Tensor, b: Tensor) -> Tensor:
        return _kernel(((a.unsqueeze(1) - b) ** 2).sum(-1), scales, a.shape[-1])

    return _u_statistic(k(x, x), k(y, y), k(x, y))


def mmd_per_latent(x: Tensor, y: Tensor, *, scales: Sequence[float] = SCALES) -> Tensor:
    """Sum over latents of the squared discrepancies of their marginals: what mathieu2019's code
    computes.

    k = sum_s sum_l C/(C + (x_l - y_l)^2), C = 2 s. Sees marginals only: codes with the prior's
    marginals and any dependence between latents have zero.
    """

    def k(a: Tensor, b: Tensor) -> Tensor:
        return _kernel((a.unsqueeze(1) - b) ** 2, scales, 1).sum(-1)

    return _u_statistic(k(x, x), k(y, y), k(x, y))
