"""Priors over the latents."""

from vaescope.priors.gaussian import StandardNormal

__all__ = ["PRIORS", "StandardNormal"]

PRIORS = {"normal": StandardNormal}
