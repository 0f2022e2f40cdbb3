"""Decomposition of the latent space: overlap, match with the prior, sparsity. mathieu2019."""

from vaescope.decomposition.aggregate import Aggregate, aggregate, inclusive_kl, mmd, mmd_joint
from vaescope.decomposition.decompose import DecompositionMeasures, decomposition
from vaescope.decomposition.overlap import Overlap, bhattacharyya, overlap, overlap_of_densities
from vaescope.decomposition.sparsity import Sparsity, hoyer

__all__ = [
    "Aggregate",
    "DecompositionMeasures",
    "Overlap",
    "Sparsity",
    "aggregate",
    "bhattacharyya",
    "decomposition",
    "hoyer",
    "inclusive_kl",
    "mmd",
    "mmd_joint",
    "overlap",
    "overlap_of_densities",
]
