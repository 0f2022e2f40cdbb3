"""What the latents are: types, rates, correlation of means and samples, and what follows."""

from vaescope.latents.correlation import (
    Correlation,
    MeanAgainstSample,
    effective_rank,
    mean_against_sample,
    shuffled_information,
    total_correlation,
)
from vaescope.latents.downstream import Downstream, downstream
from vaescope.latents.group_results import FactorShare, LatentGroup, LatentGroups
from vaescope.latents.groups import groups
from vaescope.latents.kl import LatentKL, kl, kl_of_rows
from vaescope.latents.mixture import Mixture, mixture
from vaescope.latents.polarised import DeltaKL, Polarised, delta_kl, polarised
from vaescope.latents.stability import Stability, stability
from vaescope.latents.types import CRITERIA, Criterion, Types, types

__all__ = [
    "CRITERIA",
    "Correlation",
    "Criterion",
    "DeltaKL",
    "Downstream",
    "FactorShare",
    "LatentGroup",
    "LatentGroups",
    "LatentKL",
    "MeanAgainstSample",
    "Mixture",
    "Polarised",
    "Stability",
    "Types",
    "delta_kl",
    "downstream",
    "effective_rank",
    "groups",
    "kl",
    "kl_of_rows",
    "mean_against_sample",
    "mixture",
    "polarised",
    "shuffled_information",
    "stability",
    "total_correlation",
    "types",
]
