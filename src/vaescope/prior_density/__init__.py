"""Priors as NumPy densities: what codes are compared with, and what travels in their files.

Families of mathieu2019, https://arxiv.org/abs/1812.02833, section 6, and those that others use. The
tests compare them with `torch.distributions` and with the priors of `vaescope.priors`.
"""

from vaescope.prior_density.density import PriorDensity
from vaescope.prior_density.divergence import gaussian_kl
from vaescope.prior_density.gaussian import GaussianDensity, standard_normal
from vaescope.prior_density.json_text import FAMILIES, from_json
from vaescope.prior_density.laplace import LaplaceDensity
from vaescope.prior_density.mixture import MixtureDensity
from vaescope.prior_density.sampled import SampledDensity
from vaescope.prior_density.sparse import SparseDensity
from vaescope.prior_density.student_t import StudentTDensity
from vaescope.prior_density.subspaces import SubspacesDensity

__all__ = [
    "FAMILIES",
    "GaussianDensity",
    "LaplaceDensity",
    "MixtureDensity",
    "PriorDensity",
    "SampledDensity",
    "SparseDensity",
    "StudentTDensity",
    "SubspacesDensity",
    "from_json",
    "gaussian_kl",
    "standard_normal",
]
