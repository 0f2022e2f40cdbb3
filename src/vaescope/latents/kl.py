"""KL(q(z_j|x) || p(z_j)) of each latent, in nats, against N(0, 1) or the model's own prior."""

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.errors import RangeError
from vaescope.latents.moments import chunks

__all__ = ["LatentKL", "has_standard_prior", "in_prior_units", "kl", "kl_of_rows"]

_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class LatentKL:
    """Mean KL of each latent over n examples."""

    nats: NDArray[np.float64]  # (d,); infinite where a posterior variance is 0
    prior: str
    marginal: bool  # of full-covariance posteriors: the marginals, which do not add up to the rate
    n: int

    def summary(self) -> str:
        """One line, e.g. `4.2 nats in 10 latents against N(0, 1), n = 1,000`."""
        total = f"{self.nats.sum():.3g} nats in {len(self.nats)} latents against {self.prior}"
        return f"{total}{' (marginals)' if self.marginal else ''}, n = {self.n:,}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None for what is infinite."""
        nats = [float(value) if np.isfinite(value) else None for value in self.nats]
        return {"kl": nats, "prior": self.prior, "marginal": self.marginal, "n": self.n}

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(self.summary())}</code>"


def has_standard_prior(codes: Codes) -> bool:
    """Whether the prior is N(0, I): none was given, or the one given is that."""
    return (codes.prior_mean is None or not np.any(codes.prior_mean)) and (
        codes.prior_variance is None or bool(np.all(codes.prior_variance == 1.0))
    )


def _prior(codes: Codes) -> str:
    if codes.prior_nearest:
        return "the Gaussian nearest to the prior"
    return "N(0, 1)" if has_standard_prior(codes) else "the prior in the codes"


def in_prior_units(
    codes: Codes, rows: slice | NDArray[np.int64] = _ALL
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Posterior mean and variance as distances from the prior's, in its standard deviations."""
    mean, variance = codes.mean[rows].astype(np.float64), codes.variance[rows].astype(np.float64)
    if codes.prior_mean is not None:
        mean = mean - codes.prior_mean[rows]
    if codes.prior_variance is not None:
        prior = codes.prior_variance[rows].astype(np.float64)
        if not prior.min() > 0:
            raise RangeError(
                f"prior_variance has the value {prior.min():g}; wanted positive variances.",
                "A KL to a point does not exist: look at the prior network's output.",
            )
        mean, variance = mean / np.sqrt(prior), variance / prior
    return mean, variance


def kl_of_rows(codes: Codes, rows: slice | NDArray[np.int64] = _ALL) -> NDArray[np.float64]:
    """KL of each example and latent: shape (rows, d); infinite at posterior variance 0.

    0.5 (m^2 + v - 1 - log v), with mean m and variance v measured in units of the prior.
    """
    nats, variance = in_prior_units(codes, rows)  # fresh arrays: the mean becomes the result
    nats *= nats
    nats += variance
    nats -= 1.0
    with np.errstate(divide="ignore"):
        nats -= np.log(variance, out=variance)
    nats *= 0.5
    return np.maximum(nats, 0.0, out=nats)  # rounding may leave -1e-17 where q is the prior


def kl(codes: Codes) -> LatentKL:
    """Mean KL of each latent over the examples.

    For full-covariance posteriors it is the KL of each marginal, and says so.

    >>> kl(Codes(np.ones((4, 1)), np.ones((4, 1)), np.ones((4, 1)))).nats
    array([0.5])
    """
    total = np.zeros(codes.d)
    for rows in chunks(codes.n):
        total += kl_of_rows(codes, rows).sum(axis=0)
    return LatentKL(total / codes.n, _prior(codes), codes.covariance is not None, codes.n)
