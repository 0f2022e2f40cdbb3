"""A prior with known parameters, of any family that codes can hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.distributions import DiagonalGaussian, Reparameterised, sum_event
from vaescope.errors import UsageError
from vaescope.prior_density import (
    GaussianDensity,
    LaplaceDensity,
    MixtureDensity,
    PriorDensity,
    SparseDensity,
    StudentTDensity,
    SubspacesDensity,
)
from vaescope.priors.mixture import GaussianMixture
from vaescope.priors.sparse import SpikeAndSlab
from vaescope.priors.student_t import StudentT
from vaescope.priors.subspaces import Subspaces
from vaescope.types import Floats
from vaescope.vae import Prior

__all__ = ["FixedPrior", "LaplaceVariable"]


@dataclass(frozen=True, eq=False)
class LaplaceVariable(Reparameterised):
    """Independent loc + scale * e, with density exp(-|e|) / 2."""

    loc: Tensor
    scale: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2.0 * self.scale**2

    def at(self, noise: Tensor) -> Tensor:
        outside: Tensor = 2.0 * torch.special.ndtr(-noise.abs().double())  # of the mass
        return self.loc - self.scale * (outside.log() * noise.sign()).to(noise.dtype)

    def log_prob(self, x: Tensor) -> Tensor:
        t = (x - self.loc) / self.scale
        return -sum_event(t.abs() + (2.0 * self.scale).log())


class FixedPrior(Prior):
    """The prior that a NumPy density describes; it has no learnt parameters.

    Args:
        known: a density of `vaescope.prior_density`.

    Example:
        >>> import vaescope as vs
        >>> from vaescope.prior_density import standard_normal
        >>> vs.priors.FixedPrior(standard_normal(2)).density().says
        'N(0, I)'
    """

    anchor: Tensor

    def __init__(self, known: PriorDensity) -> None:
        super().__init__()
        if known.per_row:
            raise UsageError(
                "This prior has one density for each example, which new examples do not have.",
                "Give a prior that is the same for all, or a ConditionalPrior.",
            )
        self.known = known
        # Follows the module, so that the distribution is on its device and of its type.
        self.register_buffer("anchor", torch.zeros(()), persistent=False)

    def forward(self, u: Tensor | None = None) -> Reparameterised:
        del u

        def tensor(values: Floats) -> Tensor:
            return torch.from_numpy(np.atleast_2d(values)).to(self.anchor)

        return _DISTRIBUTIONS[type(self.known)](self.known, tensor)

    def density(self, u: Tensor | None = None) -> PriorDensity:
        del u
        return self.known


_Tensors = Callable[[Floats], Tensor]


def _gaussian(p: GaussianDensity, tensor: _Tensors) -> DiagonalGaussian:
    return DiagonalGaussian(tensor(p.mean), tensor(p.variance).log())


def _student_t(p: StudentTDensity, tensor: _Tensors) -> StudentT:
    return StudentT(p.df, tensor(p.location), tensor(p.scale))


def _sparse(p: SparseDensity, tensor: _Tensors) -> SpikeAndSlab:
    return SpikeAndSlab(tensor(p.location), p.gamma, p.spike_std, p.slab_std)


def _mixture(p: MixtureDensity, tensor: _Tensors) -> GaussianMixture:
    return GaussianMixture(tensor(p.weights)[0].log(), tensor(p.means), tensor(p.variances).log())


def _laplace(p: LaplaceDensity, tensor: _Tensors) -> LaplaceVariable:
    return LaplaceVariable(tensor(p.location), tensor(p.scale))


def _subspaces(p: SubspacesDensity, tensor: _Tensors) -> Subspaces:
    location, sizes = tensor(p.location), tuple(p.sizes.tolist())
    groups = torch.from_numpy(p.group_of).to(location.device)
    return Subspaces(p.df, location, tensor(p.scale), groups, sizes)


_DISTRIBUTIONS: Mapping[type[PriorDensity], Callable[[Any, _Tensors], Reparameterised]] = {
    GaussianDensity: _gaussian,
    StudentTDensity: _student_t,
    SparseDensity: _sparse,
    MixtureDensity: _mixture,
    LaplaceDensity: _laplace,
    SubspacesDensity: _subspaces,
}
