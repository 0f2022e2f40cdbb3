"""Posteriors in units of the one that a latent has that ignores x."""

import numpy as np

from vaescope.codes import Codes
from vaescope.latents.kl import kl_of_rows
from vaescope.prior_density import GaussianDensity, gaussian_kl
from vaescope.types import Double, Floats, Long

__all__ = [
    "PASSIVE_KL_NATS",
    "excess_of_rows",
    "in_unused_units",
    "unused_is_prior",
    "unused_units",
]

#: Below this a posterior counts as an unused one, on one example or in the mean over all: about
#: what bonheme2023's thresholds allow (a mean of 0.1 and a variance of 0.9 have 0.008 nats).
PASSIVE_KL_NATS = 0.01

_ALL = slice(None)


def unused_units(codes: Codes) -> Floats:
    """Variance of an unused posterior, (d,) or (n, d); where the codes have none, what the ELBO
    would have made of it, or else the prior's."""
    units = codes.unused_variance
    for other in (codes.prior.unused_variance, lambda: codes.prior.variance):
        if np.isnan(units).any():
            units = np.where(np.isnan(units), other(), units)
    return units


def unused_is_prior(codes: Codes) -> bool:
    """Whether an unused posterior is the prior itself: so it is under a Gaussian and the ELBO."""
    prior, unused = codes.prior, codes.unused
    return isinstance(prior, GaussianDensity) and (
        unused is None or np.array_equal(unused, prior.variance)
    )


def in_unused_units(
    codes: Codes, units: Floats, rows: slice | Long = _ALL
) -> tuple[Floats, Floats]:
    """Posterior mean, from the prior's, and variance, in the unused standard deviation and
    variance."""
    mean, variance = codes.mean[rows], codes.variance[rows]
    if codes.prior.standard and np.all(units == 1.0):
        return mean, variance
    scale = units.astype(np.float64) if units.ndim == 1 else units[rows].astype(np.float64)
    centre = codes.prior.take(rows).mean
    return (mean - centre) / np.sqrt(scale), variance / scale


def excess_of_rows(codes: Codes, units: Floats, rows: slice | Long = _ALL) -> Double:
    """KL of each posterior to an unused one, nats: (rows, d). Under a Gaussian prior and the ELBO
    that is the KL to the prior; under others the unused posterior too has a rate."""
    if unused_is_prior(codes):
        return kl_of_rows(codes, rows)
    scale = units if units.ndim == 1 else units[rows]
    centre = codes.prior.nearest_centre(codes.mean[rows], rows)
    return gaussian_kl(codes.mean[rows], codes.variance[rows], centre, scale)
