"""Objectives: what is minimised, as values."""

from vaescope.objectives.elbo import Autoencoder, BetaVAE
from vaescope.objectives.terms import Objective, Terms

__all__ = ["Autoencoder", "BetaVAE", "Objective", "Terms"]
