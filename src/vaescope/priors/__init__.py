"""Priors over the latents."""

from vaescope.priors.anisotropic import AnisotropicPrior
from vaescope.priors.conditional import ConditionalPrior
from vaescope.priors.gaussian import StandardNormal
from vaescope.priors.mixture import MixturePrior
from vaescope.priors.nearest import nearest_gaussian, unused_variance
from vaescope.priors.sparse import SparsePrior
from vaescope.priors.student_t import StudentTPrior

__all__ = [
    "AnisotropicPrior",
    "ConditionalPrior",
    "MixturePrior",
    "SparsePrior",
    "StandardNormal",
    "StudentTPrior",
    "nearest_gaussian",
    "unused_variance",
]
