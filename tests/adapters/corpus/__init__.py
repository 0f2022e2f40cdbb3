"""Public styles of VAE classes, written by us, with the truth about each."""

from tests.adapters.corpus import (
    densities,
    layouts,
    likelihoods,
    modes,
    priors,
    ranges,
    returns,
    spreads,
    stated,
    wrappers,
)

__all__ = ["STYLES"]

FAMILIES = (
    returns,
    spreads,
    likelihoods,
    priors,
    ranges,
    layouts,
    wrappers,
    modes,
    densities,
    stated,
)
STYLES = tuple(style for family in FAMILIES for style in family.STYLES)
