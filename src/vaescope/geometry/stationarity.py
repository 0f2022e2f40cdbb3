"""What the slopes of a loss are at a model's posteriors, latent by latent: zero sums at rest.

With loss = distortion + beta * rate, and sums over the training rows, three identities hold:

    widths   E_q[(z_j - m_j) d/dz_j (-log p(x|z))] = beta (1 + E_q[(z_j - m_j) d/dz_j log p(z)])
    means    m_j E_q[d/dz_j (-log p(x|z))]         = beta m_j E_q[d/dz_j log p(z)]
    metric   v_j E_q[G_jj(z)]                      = beta (1 + E_q[(z_j - m_j) d/dz_j log p(z)])

The first is exact where the head of log sigma has a bias, the second where means are a linear
function of the last features, both for any prior and likelihood. The third is the first by Stein's
lemma with the decoder's Fisher metric G in the place of the Hessian (Gauss-Newton): it leaves out
residuals times the decoder's curvature.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from vaescope.adapters.likelihoods import InUnits
from vaescope.distributions import Bernoulli, DiagonalGaussian, Distribution
from vaescope.models import OpenModel
from vaescope.seeds import rng
from vaescope.types import Integers, Matrix, Vector

__all__ = ["Slopes", "slopes_of"]


#: Draws of the posterior at which the metric is estimated, of all that are made.
_METRIC_DRAWS = 2


@dataclass(frozen=True, eq=False)
class Slopes:
    """Of each row and latent: (rows, latents)."""

    pull: Matrix  # of the distortion on log sigma
    bracket: Matrix  # of the rate on it, with a minus
    drive: Matrix  # of the distortion on the mean
    slope: Matrix  # of the rate on it, with a minus
    mean: Matrix
    metric: Matrix | None  # v_j G_jj; None where the likelihood has no form for it here
    squared: float  # error of a value, at posterior means
    variance: float | None  # of a Gaussian likelihood that has one for all values

    def of(self, latents: list[int]) -> "Slopes":
        """Of some latents."""
        metric = None if self.metric is None else self.metric[:, latents]
        return Slopes(
            self.pull[:, latents], self.bracket[:, latents], self.drive[:, latents],
            self.slope[:, latents], self.mean[:, latents], metric, self.squared, self.variance,
        )  # fmt: skip

    def with_prior(self, weight: float) -> "Slopes":
        """Of a loss whose prior weighs so much in the rate, beside the posterior's entropy."""
        return replace(self, bracket=1.0 + weight * (self.bracket - 1.0), slope=weight * self.slope)

    def by_widths(self) -> Vector:
        """The weight of the rate that each latent's width obeys."""
        return np.asarray(self.pull.sum(0) / self.bracket.sum(0))


def slopes_of(model: OpenModel, places: Integers, draws: int, *, batch: int = 128) -> Slopes:
    """By `draws` antithetic pairs of posterior noise at rows `places` of the codes."""
    parts: list[list[Tensor]] = []
    squared, variance = 0.0, None
    noise = rng(0, "effective-beta").standard_normal((draws, len(places), model.codes.d))
    signs = rng(0, "effective-beta-metric")
    with_metric = True
    with model.evaluating(gradients=True):
        for start in range(0, len(places), batch):
            some = places[start : start + batch]
            rows = model.rows[some]
            x, u = model.x(rows), model.u(rows)
            q = model.posterior(some)
            pull, bracket, drive, slope, metric = torch.zeros(5, *q.mean.shape, device=x.device)
            metric_draws = min(_METRIC_DRAWS, draws)
            for k, eps in enumerate(noise[:, start : start + batch]):
                for sign in (1.0, -1.0):
                    at = torch.from_numpy(sign * eps).to(q.mean)
                    z = q.at(at).detach().requires_grad_(True)
                    moved = z.detach() - q.mean
                    decoded = model.decode(z, u)
                    if k < metric_draws and with_metric:
                        projected = _projected(decoded, signs)
                        with_metric = projected is not None
                        if projected is not None:
                            along = _gradient(projected, z, keep=True)
                            metric += q.variance * along.square() / (2 * metric_draws)
                    down = _gradient(-decoded.log_prob(x), z)
                    prior = _gradient(model.prior(u).log_prob(z), z)
                    pull += moved * down / (2 * draws)
                    bracket += moved * prior / (2 * draws)
                    drive += down / (2 * draws)
                    slope += prior / (2 * draws)
            with torch.no_grad():
                centre = model.decode(q.mean, u)
                variance = _variance(centre)
                if variance is not None:
                    squared += float((centre.mean - x).square().mean()) * len(some)
            parts.append([pull, 1.0 + bracket, drive, slope, q.mean, metric])
    joined = [torch.cat(own).detach().double().cpu().numpy() for own in zip(*parts, strict=True)]
    pulls, brackets, drives, slopes, means, metrics = joined
    return Slopes(
        pulls, brackets, drives, slopes, means, metrics if with_metric else None,
        squared / len(places), variance,
    )  # fmt: skip


def _gradient(value: Tensor, z: Tensor, *, keep: bool = False) -> Tensor:
    return torch.autograd.grad(value.sum(), z, retain_graph=keep)[0]


def _projected(decoded: Distribution, signs: np.random.Generator) -> Tensor | None:
    """A number of each row whose squared slope in z has the mean G_jj: the decoder's outputs times
    the root of their Fisher information and a random sign each."""
    if isinstance(decoded, InUnits):
        return _projected(decoded.inner, signs)
    if isinstance(decoded, Bernoulli):
        mean = decoded.mean.detach()
        return _signed(decoded.logits, (mean * (1.0 - mean)).sqrt(), signs)
    if isinstance(decoded, DiagonalGaussian):
        root = (-0.5 * decoded.log_variance).exp().detach()
        found = _signed(decoded.loc, root, signs)
        if decoded.log_variance.requires_grad and decoded.log_variance.shape == decoded.loc.shape:
            found = found + _signed(decoded.log_variance, torch.tensor(0.5**0.5), signs)
        return found
    return None


def _signed(output: Tensor, root: Tensor, signs: np.random.Generator) -> Tensor:
    drawn = signs.integers(2, size=tuple(output.shape)).astype(np.float32) * 2.0 - 1.0
    return (output * root * torch.from_numpy(drawn).to(output)).flatten(1).sum(1)


def _variance(decoded: Distribution) -> float | None:
    """That of a Gaussian likelihood that has one for all pixels."""
    if not isinstance(decoded, DiagonalGaussian):
        return None
    variance = decoded.variance
    if float(variance.max() - variance.min()) > 1e-6 * float(variance.max()):
        return None
    return float(variance.flatten()[0])
