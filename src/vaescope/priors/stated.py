"""A prior that its owner states: a log-density and draws of torch, such as a flow or an energy."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.distributions import Reparameterised
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.prior_density import SampledDensity
from vaescope.types import Matrix, Vector
from vaescope.vae import Prior

__all__ = ["StatedPrior", "part_of_the_line", "stated_prior"]

#: Draws that marginals are taken of, and points at a time.
DRAWS, BLOCK = 2**16, 4096
#: Draws around which points are proposed to integrate a density, and points.
_KERNELS, _POINTS = 2000, 4000
#: An integral is known if its logarithm has a smaller standard error and so large a share of the
#: points counts, and is 1 within so many standard errors and so much beside.
_ERROR, _SHARE, _SIGMAS, _SLACK = 0.05, 0.05, 4.0, 0.02
#: By so many standard deviations, or so large a factor of variances, draws and density may differ.
_MEAN, _VARIANCE = 0.25, 1.3

LogDensity = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Stated(Reparameterised):
    """p(z) by its log-density, drawn by choosing among known draws."""

    draws: Tensor  # (draws, latent)
    log_density: LogDensity

    @property
    def mean(self) -> Tensor:
        return self.draws.mean(0, keepdim=True)

    @property
    def variance(self) -> Tensor:
        return self.draws.var(0, keepdim=True)

    def at(self, noise: Tensor) -> Tensor:
        """The first latent's noise chooses the draw."""
        uniform = torch.special.ndtr(noise[:, 0].double())
        chosen = (uniform * len(self.draws)).long().clamp_max(len(self.draws) - 1)
        return self.draws[chosen].to(noise)

    def log_prob(self, x: Tensor) -> Tensor:
        return self.log_density(x.to(self.draws)).to(x)


class StatedPrior(Prior):
    """A prior given by its log-density and by draws from it; it has no learnt parameters.

    Args:
        log_density: a function of points (n, latent) that returns log p(z) of each in nats.
        draws: (draws, latent) points drawn from the prior.
        title: its name in messages and reports.
        note: remark on the density; may be empty.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> drawn = torch.randn(1000, 2)
        >>> density = torch.distributions.Normal(0.0, 1.0).log_prob
        >>> vs.priors.as_prior((density, drawn, "my flow"), 2).density().says
        'my flow'
    """

    draws: Tensor

    def __init__(self, log_density: LogDensity, draws: Tensor, title: str, note: str = "") -> None:
        super().__init__()
        self.register_buffer("draws", draws, persistent=False)
        self.title, self.note = title, note
        # In a tuple, so that a module's method does not make the module a part of this one.
        self._held = (log_density,)

    def forward(self, u: Tensor | None = None) -> Stated:
        del u
        return Stated(self.draws, self._held[0])

    def density(self, u: Tensor | None = None) -> SampledDensity:
        del u
        log_density, draws = self._held[0], self.draws

        def of_points(z: Matrix) -> Vector:
            return _in_blocks(log_density, z, draws)

        return SampledDensity(draws.double().cpu().numpy(), of_points, self.title)


def stated_prior(log_density: Any, draws: Any, latent: int, title: str) -> StatedPrior:
    """The prior of a function of points, and of draws: points, or a function of their number.

    A density that does not integrate to one is divided by its integral, where that can be
    estimated by importance sampling around the draws.

    Raises ShapeError, RangeError or UsageError where these do not fit each other or the model.
    """
    with torch.no_grad():
        points = torch.as_tensor(draws(DRAWS) if callable(draws) else draws).detach()
    points = points.reshape(len(points), -1) if points.ndim > 2 else points
    if points.ndim != 2 or points.shape[1] != latent or not points.is_floating_point():
        raise ShapeError(
            f"Draws from the prior have shape {tuple(points.shape)}; the model has {latent} "
            "latents.",
            "Give points of shape (draws, latents), or a function of their number that draws them.",
        )

    def summed(z: Tensor) -> Tensor:
        value: Tensor = log_density(z)
        return value.reshape(len(z), -1).sum(1)

    known = points.double().cpu().numpy()
    found = _in_blocks(summed, known[:BLOCK], points)
    if found.shape != (min(len(known), BLOCK),) or not np.isfinite(found).all():
        raise RangeError(
            "The prior's log-density is not finite at its own draws.",
            "Give one number, log p(z) in nats, for each point.",
        )
    log_integral, note = _integral(lambda z: _in_blocks(summed, z, points), known)

    def normalised(z: Tensor) -> Tensor:
        return summed(z) - log_integral

    return StatedPrior(normalised if log_integral else summed, points, title, note)


def part_of_the_line() -> UsageError:
    return UsageError(
        "The prior's support is a part of the line, so a Gaussian posterior has no finite KL to "
        "it.",
        "Give a prior that has a density at every point.",
    )


def _in_blocks(log_density: LogDensity, z: Matrix, like: Tensor) -> Vector:
    parts = []
    with torch.no_grad():
        for start in range(0, len(z), BLOCK):
            some = torch.from_numpy(z[start : start + BLOCK]).to(like)
            parts.append(log_density(some).double().cpu().numpy())
    return np.concatenate(parts)


def _integral(log_density: Callable[[Matrix], Vector], draws: Matrix) -> tuple[float, str]:
    """Logarithm of the integral, 0 where it is one or is not known, and what is to be said of it.

    Points are proposed from a kernel density of the draws. Raises UsageError where the density
    is one of other points than the draws."""
    rng = np.random.default_rng(0)
    kernels = draws[rng.choice(len(draws), min(len(draws), _KERNELS), replace=False)]
    n, d = kernels.shape
    covariance = np.atleast_2d(np.cov(kernels.T)) + 1e-9 * np.eye(d)
    width = (4.0 / (d + 2.0)) ** (1.0 / (d + 4.0)) * n ** (-1.0 / (d + 4.0))
    factor = width * np.linalg.cholesky(covariance)
    z = kernels[rng.integers(n, size=_POINTS)] + rng.standard_normal((_POINTS, d)) @ factor.T
    try:
        log_ratio = log_density(z) - _log_kernels(z, kernels, factor)
    except ValueError as error:  # distributions of torch check their support
        raise part_of_the_line() from error
    log_ratio = np.where(np.isfinite(log_ratio), log_ratio, -np.inf)
    largest = log_ratio.max()
    weight = np.exp(log_ratio - largest)
    share = float(weight.sum() ** 2 / np.square(weight).sum() / _POINTS)
    off = float(weight.std() / weight.mean() / math.sqrt(_POINTS))
    if not (share > _SHARE and off < _ERROR):
        return 0.0, "; whether its density integrates to one could not be checked"
    weight = weight / weight.sum()
    mean = weight @ z
    variance = weight @ np.square(z - mean)
    scale = draws.std(axis=0)
    ratio = variance / np.square(scale)
    if np.abs(mean - draws.mean(axis=0)).max() > _MEAN * scale.max() or not (
        ratio.min() > 1 / _VARIANCE and ratio.max() < _VARIANCE
    ):
        raise UsageError(
            "The prior's draws are not from its log-density: the mean of latent 0 is "
            f"{draws[:, 0].mean():.2f} by the draws and {mean[0]:.2f} by the density, variances "
            f"differ by factors from {ratio.min():.2f} to {ratio.max():.2f}.",
            "Give draws of the same distribution as the log-density.",
        )
    log_integral = float(largest + np.log(np.exp(log_ratio - largest).mean()))
    if abs(log_integral) < _SIGMAS * off + _SLACK:
        return 0.0, ""
    return log_integral, (
        f"; its density integrates to e^{log_integral:.2f}, by which it was divided "
        f"(standard error {off:.2f} nats)"
    )


def _log_kernels(z: Matrix, kernels: Matrix, factor: Matrix) -> Vector:
    """Log of the mean of N(kernel, factor factor') at each point."""
    from scipy import linalg, special

    a = linalg.solve_triangular(factor, z.T, lower=True).T
    b = linalg.solve_triangular(factor, kernels.T, lower=True).T
    logs = np.log(np.diagonal(factor)).sum() + 0.5 * z.shape[1] * math.log(2.0 * math.pi)
    parts = []
    for start in range(0, len(a), 500):
        some = a[start : start + 500]
        squares = (
            np.square(some).sum(1)[:, None] + np.square(b).sum(1)[None] - 2.0 * some @ b.T
        )  # fmt: skip
        parts.append(special.logsumexp(-0.5 * squares, axis=1))
    return np.asarray(np.concatenate(parts) - logs - math.log(len(kernels)))
