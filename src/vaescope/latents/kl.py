"""KL(q(z_j|x) || p(z_j)) of each latent and the rate of all, in nats: to the prior in the codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.latents.mixture import Components, MonteCarloEstimate, posteriors_of
from vaescope.latents.moments import chunks
from vaescope.notebook_card import bars_of, card_of
from vaescope.seeds import rng
from vaescope.types import Double, Long

__all__ = ["LatentKL", "kl", "kl_of_rows", "rate", "rate_of_rows"]

_ALL = slice(None)
#: Draws from each posterior where a rate has no closed form.
_DRAWS = 4


@dataclass(frozen=True, eq=False)
class LatentKL:
    """Mean KL of each latent over n examples."""

    nats: Double  # (d,); infinite where a posterior variance is 0
    prior: str
    marginal: bool  # whether KLs are of marginals, which do not add up to the rate
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
        return card_of(
            self, bars_of({str(j): float(nats) for j, nats in enumerate(self.nats)}, "nats")
        )


def kl_of_rows(codes: Codes, rows: slice | Long = _ALL) -> Double:
    """KL of each example and latent: shape (rows, d); infinite at posterior variance 0.

    In closed form for Gaussian and Laplace priors, else by quadrature to 1e-5 nats. Of posteriors
    with full covariance and of mixture priors it is the KL between the marginals of each latent.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        rows: rows whose KL is computed.

    Returns:
        (rows, latent) nats.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.latents.kl_of_rows(codes, slice(0, 3)).shape
        (3, 5)
    """
    return codes.prior.kl(codes.mean[rows], codes.variance[rows], rows)


def kl(codes: Codes) -> LatentKL:
    """Mean KL of each latent over the examples.

    If q or p is not the product of its marginals, this is the KL of each marginal, and the result
    says so; `rate` has the KL of all latents together.

    >>> kl(Codes(np.ones((4, 1)), np.ones((4, 1)), np.ones((4, 1)))).nats
    array([0.5])

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.

    Returns:
        `LatentKL`: mean KL of each latent over n examples.
    """
    total = np.zeros(codes.d)
    for rows in chunks(codes.n):
        total += kl_of_rows(codes, rows).sum(axis=0)
    prior = "N(0, 1)" if codes.prior.standard else codes.prior.says
    return LatentKL(total / codes.n, prior, not _adds_up(codes), codes.n)


def _adds_up(codes: Codes) -> bool:
    return codes.covariance is None and codes.prior.independent


def rate_of_rows(
    codes: Codes, rows: slice | Long = _ALL, *, draws: int = _DRAWS, seed: int = 0
) -> Double:
    """KL(q(z|x) || p(z)) of each example: (draws, rows), or (1, rows) where it needs no draws.

    Against a product of marginals it is the sum over the latents and the total correlation of q;
    else log q(z|x) - log p(z) at draws from q.
    """
    if _adds_up(codes):
        return np.asarray(kl_of_rows(codes, rows).sum(axis=1)[None])
    q = posteriors_of(codes, np.arange(codes.n)[rows])
    if codes.prior.independent:
        assert q.factor is not None
        correlation = np.log(q.scale) - np.log(np.diagonal(q.factor, axis1=1, axis2=2))
        return np.asarray((kl_of_rows(codes, rows) + correlation).sum(axis=1)[None])
    stream = rng(seed, "rate")
    return np.stack([_log_ratio(codes, q, rows, stream) for _ in range(draws)])


def _log_ratio(
    codes: Codes, q: Components, rows: slice | Long, stream: np.random.Generator
) -> Double:
    noise = stream.standard_normal(q.mean.shape)
    log_q = -q.log_volume() - 0.5 * np.square(noise).sum(axis=1)
    return np.asarray(log_q - codes.prior.log_prob(q.at(noise), rows))


def rate(codes: Codes, *, seed: int = 0) -> MonteCarloEstimate:
    """Mean over the examples of KL(q(z|x) || p(z)), and the standard error of its draws: 0 where it
    needs none."""
    nats = rate_of_rows(codes, seed=seed)
    value = float(nats.mean())
    if len(nats) == 1:
        return MonteCarloEstimate(value, 0.0)
    within = nats.var(axis=0, ddof=1) / len(nats)
    return MonteCarloEstimate(value, float(np.sqrt(within.sum()) / codes.n))
