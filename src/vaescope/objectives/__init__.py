"""Objectives: values that turn a model and a batch into a loss and its parts."""

from vaescope.objectives.adversarial import WeakGAN
from vaescope.objectives.capacity import CapacityVAE
from vaescope.objectives.contrastive import PermutationContrast
from vaescope.objectives.decomposition import Decomposition
from vaescope.objectives.dip import DIPI, DIPII
from vaescope.objectives.elbo import Autoencoder, BetaVAE
from vaescope.objectives.entropy import EntropyVAE
from vaescope.objectives.factor import FactorVAE
from vaescope.objectives.free_bits import FreeBits
from vaescope.objectives.orthogonal import Orthogonal
from vaescope.objectives.slow import SlowVAE
from vaescope.objectives.terms import Objective, Pull, Terms
from vaescope.objectives.total_correlation import BetaTCVAE
from vaescope.objectives.unused import UnusedPosterior, rate_law, unused_posterior

__all__ = [
    "DIPI",
    "DIPII",
    "Autoencoder",
    "BetaTCVAE",
    "BetaVAE",
    "CapacityVAE",
    "Decomposition",
    "EntropyVAE",
    "FactorVAE",
    "FreeBits",
    "Objective",
    "Orthogonal",
    "PermutationContrast",
    "Pull",
    "SlowVAE",
    "Terms",
    "UnusedPosterior",
    "WeakGAN",
    "rate_law",
    "unused_posterior",
]
