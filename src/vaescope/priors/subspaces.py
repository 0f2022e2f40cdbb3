"""Independent subspaces, each with a multivariate Student-t.

The abstract of Mathieu et al. 2019, https://arxiv.org/abs/1812.02833, names independent subspaces
as a decomposition that a prior can ask for.

A rotation inside a group leaves the prior as it is, one across groups does not: groups mean
something, axes within them do not. Stuehmer et al. 2020, https://arxiv.org/abs/1909.05063, have
another family with that property.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from vaescope.distributions import Reparameterised, sum_event
from vaescope.prior_density.subspaces import SubspacesDensity, log_normaliser
from vaescope.priors.hermite import hermite
from vaescope.vae import Prior

__all__ = ["Subspaces", "SubspacesPrior"]

# Radii of the table go to sqrt(size) + 9, past which no generator of 53 bits goes.
_BEYOND = 9
_PER_UNIT = 256


@lru_cache(maxsize=16)
def _knots(df: float, size: int) -> Tensor:
    """log(R / r) at each radius r of normal noise and its slope, R the radius of the Student-t with
    as much mass outside: shape (2, knots).

    R^2 / (df + R^2) is Beta(size / 2, df / 2), taken from the side on which the mass is small.
    """
    from scipy import special  # here: training with other priors leaves scipy out

    end = math.ceil(math.sqrt(size)) + _BEYOND
    r = np.linspace(0.0, end, end * _PER_UNIT + 1)[1:]
    k, v = 0.5 * size, 0.5 * df
    inside, outside = special.gammainc(k, 0.5 * r**2), special.gammaincc(k, 0.5 * r**2)
    near = inside < outside
    share = np.where(near, special.betaincinv(k, v, inside), special.betainccinv(k, v, outside))
    rest = np.where(near, special.betainccinv(v, k, inside), special.betaincinv(v, k, outside))
    radius = np.sqrt(df * share / rest)
    # dR/dr is the ratio of the densities of r and R, whose spheres have areas r^(k-1), R^(k-1).
    log_normal = -0.5 * (r**2 + size * math.log(2.0 * math.pi))
    log_t = log_normaliser(df, size) - 0.5 * (df + size) * np.log1p(radius**2 / df)
    growth = np.exp(log_normal - log_t + (size - 1.0) * np.log(r / radius))
    # At 0 both densities are flat: R^k / r^k is the ratio of their heights.
    start = (-0.5 * size * math.log(2.0 * math.pi) - log_normaliser(df, size)) / size
    values = np.concatenate([[start], np.log(radius / r)])
    slopes = np.concatenate([[0.0], growth / radius - 1.0 / r])
    return torch.from_numpy(np.stack([values, slopes / _PER_UNIT]))


@dataclass(frozen=True, eq=False)
class Subspaces(Reparameterised):
    """Groups of latents, each loc + scale * t with one multivariate Student-t t."""

    df: float
    loc: Tensor
    scale: Tensor
    groups: Tensor  # (latent,) number of each latent's group
    sizes: tuple[int, ...]  # of the groups

    @property
    def mean(self) -> Tensor:
        """The centre; with one degree of freedom or less there is no mean, and this the median."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite with two degrees of freedom or less."""
        factor = self.df / (self.df - 2.0) if self.df > 2.0 else math.inf
        return (factor * self.scale**2).expand_as(self.loc)

    def _squared_norms(self, t: Tensor) -> Tensor:
        """(batch, group). Not a product with a matrix, which autocast would round."""
        empty = t.new_zeros(*t.shape[:-1], len(self.sizes))
        return empty.index_add(-1, self.groups, t * t)

    def at(self, noise: Tensor) -> Tensor:
        """Noise of a group keeps its direction, and its radius becomes that of the Student-t with
        as much mass outside."""
        radius = self._squared_norms(noise.double()).sqrt()
        stretch = torch.stack(
            [
                hermite(_knots(self.df, size).to(noise.device), radius[..., g] * _PER_UNIT).exp()
                for g, size in enumerate(self.sizes)
            ],
            -1,
        )
        return self.loc + self.scale * (noise * stretch[..., self.groups].to(noise.dtype))

    def log_prob(self, x: Tensor) -> Tensor:
        norms = self._squared_norms((x - self.loc) / self.scale)
        sizes = norms.new_tensor(self.sizes)
        heights = sum(log_normaliser(self.df, size) for size in self.sizes)
        tail = 0.5 * (self.df + sizes) * torch.log1p(norms / self.df)
        return heights - sum_event(tail) - sum_event(self.scale.log().expand_as(x))


class SubspacesPrior(Prior):
    """Groups of latents of the given `sizes`, in this order, scaled by the root of `variance`.

    The fewer degrees of freedom, the more the latents of a group depend on each other; with many
    they are independent normals. The variance of a latent is df / (df - 2) times `variance`, as
    that of `StudentTPrior`.

    Args:
        sizes: number of latents of each group; their sum is the number of latents.
        df: degrees of freedom of each group.
        variance: variance of each latent, apart from the factor above.

    Example:
        >>> import vaescope as vs
        >>> prior = vs.priors.SubspacesPrior((2, 2), df=3.0)
        >>> prior.density().says
        '2 independent subspaces of 2 latents, Student-t with 3 degrees of freedom'
    """

    zero: Tensor
    groups: Tensor

    def __init__(self, sizes: Sequence[int], df: float, *, variance: float = 1.0) -> None:
        super().__init__()
        self.sizes, self.df, self.scale = tuple(sizes), df, math.sqrt(variance)
        numbers = torch.arange(len(sizes)).repeat_interleave(torch.tensor(self.sizes))
        self.register_buffer("groups", numbers, persistent=False)
        self.register_buffer("zero", torch.zeros(1, len(numbers)), persistent=False)

    def forward(self, u: Tensor | None = None) -> Subspaces:
        del u
        scale = torch.full_like(self.zero, self.scale)
        return Subspaces(self.df, self.zero, scale, self.groups, self.sizes)

    def density(self, u: Tensor | None = None) -> SubspacesDensity:
        del u
        groups = np.repeat(np.arange(len(self.sizes)), self.sizes)
        d = len(groups)
        return SubspacesDensity(float(self.df), np.zeros(d), np.full(d, self.scale), groups)
