"""Priors over the latents."""

from vaescope.priors.anisotropic import AnisotropicPrior
from vaescope.priors.as_prior import as_prior
from vaescope.priors.conditional import ConditionalPrior
from vaescope.priors.fixed import FixedPrior
from vaescope.priors.gaussian import StandardNormal
from vaescope.priors.mixture import MixturePrior
from vaescope.priors.sparse import SparsePrior
from vaescope.priors.stated import StatedPrior
from vaescope.priors.student_t import StudentTPrior
from vaescope.priors.subspaces import SubspacesPrior

__all__ = [
    "AnisotropicPrior",
    "ConditionalPrior",
    "FixedPrior",
    "MixturePrior",
    "SparsePrior",
    "StandardNormal",
    "StatedPrior",
    "StudentTPrior",
    "SubspacesPrior",
    "as_prior",
]
