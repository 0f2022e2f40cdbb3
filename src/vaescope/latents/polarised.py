"""Does the polarised regime hold? Delta_KL of zietlow2022, and statements of two papers as numbers.

zietlow2022: section 3.3.2, eq. 3.5 and 3.38. bonheme2023: https://arxiv.org/abs/2109.12679,
Propositions 3 and 4, Theorem 5 and Corollary 6. grzes2023: the same for conditional priors,
Propositions 1 to 3 and Theorem 2. The scale of a latent whose prior variance is learnt is free
(docs/papers.md), so that statements of grzes2023 about sigma and mu stand twice: as printed, in
units of the codes, and in units of an unused latent, which no scale changes.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from vaescope.codes import Codes
from vaescope.errors import RangeError
from vaescope.latent_types import ALPHA, LatentType
from vaescope.latents.kl import kl_of_rows
from vaescope.latents.moments import chunks
from vaescope.latents.types import Criterion, Types, types
from vaescope.latents.unused import PASSIVE_KL_NATS, excess_of_rows, in_unused_units, unused_units
from vaescope.notebook_card import card_of
from vaescope.seeds import rng, subset
from vaescope.types import Booleans, Vector

__all__ = ["DeltaKL", "Polarised", "Statement", "delta_kl", "ks_distance", "polarised"]


#: Examples that the distances are measured on.
ROWS = 10_000


@dataclass(frozen=True)
class DeltaKL:
    """The KL term, its approximation in the polarised regime, and their relative difference."""

    kl_nats: float
    approximate_kl_nats: float
    delta: float  # relative difference; below 0.03 in zietlow2022's Table 3.2
    active: int  # number of active latents
    criterion: Criterion
    n: int

    def summary(self) -> str:
        """One line, e.g. `Delta_KL 1.2% (20.1 nats, approximately 19.9 by 5 active latents)`."""
        return (
            f"Delta_KL {100 * self.delta:.2g}% ({self.kl_nats:.3g} nats, approximately "
            f"{self.approximate_kl_nats:.3g} by {self.active} active latents), n = {self.n:,}"
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    _repr_html_ = card_of


def delta_kl(codes: Codes, *, criterion: str = "zietlow2022-chapter-3") -> DeltaKL:
    """|L_KL - L_approx| / L_KL with L_approx = 0.5 sum over active (mu^2 - log sigma^2 - 1).

    Means over the examples. That is what is left of the KL to N(0, 1) where the density of the
    prior is taken at the posterior's mean, -H(q) - log p(mu); so it is for other priors.
    Full-covariance posteriors enter by their marginals.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        criterion: rule by which latents are active.

    Returns:
        `DeltaKL`: the KL term, its approximation in the polarised regime, and their relative
        difference.

    Raises:
        RangeError: a value is out of range.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.latents.delta_kl(codes).active
        3
    """
    if not codes.variance.min() > 0:
        raise RangeError(
            "variance has zeros: a point posterior has no finite KL.",
            "Delta_KL is for variational autoencoders; leave it out for deterministic encoders.",
        )
    kinds = types(codes, criterion=criterion)
    active = kinds.active
    exact = approximate = 0.0
    for rows in chunks(codes.n):
        exact += float(kl_of_rows(codes, rows).sum())
        variance = codes.variance[rows][:, active].astype(np.float64)
        log_prior = codes.prior.log_marginals(codes.mean[rows], rows)[:, active]
        entropy = 0.5 * (np.log(2.0 * np.pi * variance) + 1.0)
        approximate -= float((entropy + log_prior).sum())
    exact, approximate = exact / codes.n, approximate / codes.n
    # Without any KL nothing is active, and the two agree.
    delta = abs(exact - approximate) / exact if exact > 0 else 0.0
    return DeltaKL(exact, approximate, delta, len(active), kinds.criterion, codes.n)


@dataclass(frozen=True)
class Statement:
    """One line of a proposition as a number, and whether it is within its limit.

    `value` and `holds` are None where there is no latent of the type it speaks of.
    """

    where: str
    says: str
    value: float | None
    limit: float
    holds: bool | None
    units: str = "invariant"  # "as printed": it depends on the scale of the latents


@dataclass(frozen=True, eq=False)
class Polarised:
    """Distances between samples, means and prior for each latent, and what the papers state."""

    types: Types
    sample_to_prior: Vector  # Kolmogorov-Smirnov distances
    sample_to_mean: Vector  # distances of samples to means
    mixture_weight: Vector  # c of Theorem 5 (iii): share of examples on which the latent is passive
    #: Distance of samples to the mixture of c prior and (1 - c) means where the latent is not
    #: passive.
    mixture_distance: Vector
    fitted_weight: Vector  # the c that fits best; arbitrary where those means follow the prior
    #: Share of examples and latents that are passive or active, grzes2023 Proposition 1.
    polarised_share: float
    statements: tuple[Statement, ...]  # statements of grzes2023, tested
    n: int
    seed: int

    def summary(self) -> str:
        """One line, e.g. `8 of 10 statements hold; 97% of posteriors are passive or active`. Of
        those that no scale of the latents changes."""
        invariant = [own for own in self.statements if own.units == "invariant"]
        known = [own for own in invariant if own.holds is not None]
        holding = sum(own.holds is True for own in known)
        return (
            f"{holding} of {len(known)} statements hold; {100 * self.polarised_share:.3g}% of "
            f"posteriors are passive or active; n = {self.n:,}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "sample_to_prior": self.sample_to_prior.tolist(),
            "sample_to_mean": self.sample_to_mean.tolist(),
            "mixture_weight": self.mixture_weight.tolist(),
            "mixture_distance": self.mixture_distance.tolist(),
            "fitted_weight": self.fitted_weight.tolist(),
            "polarised_share": self.polarised_share,
            "statements": [asdict(own) for own in self.statements],
            "protocol": {"n": self.n, "seed": self.seed},
        }

    _repr_html_ = card_of


def _below(ascending: Vector, points: Vector) -> Vector:
    """Empirical distribution function of sorted values."""
    return np.searchsorted(ascending, points, side="right") / len(ascending)


def ks_distance(a: Vector, b: Vector) -> float:
    """Largest difference of two empirical distribution functions.

    >>> ks_distance(np.array([0.0, 1.0]), np.array([0.0, 5.0]))
    0.5
    """
    a, b = np.sort(a), np.sort(b)
    points = np.concatenate([a, b])
    return float(np.abs(_below(a, points) - _below(b, points)).max())


def _to_normal(ascending: Vector) -> float:
    """Kolmogorov-Smirnov distance of sorted values to N(0, 1)."""
    n, exact = len(ascending), ndtr(ascending)
    steps = np.arange(n + 1) / n
    return float(max((steps[1:] - exact).max(), (exact - steps[:-1]).max()))


@dataclass(frozen=True, eq=False)
class _Mixture:
    weight: float
    distance: float
    fitted: float


def _mixture(sample: Vector, prior: Vector | None, mean: Vector, passive: Booleans) -> _Mixture:
    """How samples compare with c prior + (1 - c) means of the examples that are not passive.

    The theorem writes the distribution of all means, its proof that of the active examples'.
    """
    c = float(passive.mean())
    points = np.sort(sample)
    of_sample = _below(points, points)
    of_prior = ndtr(points) if prior is None else _below(np.sort(prior), points)
    if passive.all():
        return _Mixture(c, float(np.abs(of_sample - of_prior).max()), 1.0)
    of_mean = _below(np.sort(mean[~passive]), points)
    distance = float(np.abs(of_sample - c * of_prior - (1.0 - c) * of_mean).max())
    apart = of_prior - of_mean
    power = float(apart @ apart)
    # Least squares in the distribution functions; nothing to choose between if they are the same.
    fitted = float(np.clip((of_sample - of_mean) @ apart / power, 0.0, 1.0)) if power > 0 else c
    return _Mixture(c, distance, fitted)


def polarised(codes: Codes, *, kinds: Types | None = None, seed: int = 0) -> Polarised:
    """How far samples are from prior and means, and the papers' statements about them.

    On at most 10,000 examples. "Close to" and "much less than 1" mean within 0.1, as in
    bonheme2023. A mixed latent's share c of passive examples has to lie between 0.05 and 0.95: at
    c = 0 any latent is the mixture of Theorem 5 (iii).
    Against N(0, 1) the distance is to the exact distribution, otherwise to one draw from the prior
    of each example. By chance alone distances are about 0.9 / sqrt(n), between two samples
    1.2 / sqrt(n).

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        kinds: types of the latents, if they are already known.
        seed: seed of all random draws.

    Returns:
        `Polarised`: distances between samples, means and prior for each latent, and what the
        papers state.

    Raises:
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.latents.polarised(codes).polarised_share, 2)
        1.0
    """
    kinds = types(codes) if kinds is None else kinds
    draws = rng(seed, "polarised")
    rows = subset(codes.n, ROWS, draws)
    mean, sample = codes.mean[rows].astype(np.float64), codes.sample[rows].astype(np.float64)
    units = unused_units(codes)
    passive = excess_of_rows(codes, units, rows) < PASSIVE_KL_NATS
    scaled, ratio = (own.astype(np.float64) for own in in_unused_units(codes, units, rows))
    prior_means = np.broadcast_to(codes.prior.take(rows).mean, mean.shape).astype(np.float64)
    prior = None if codes.prior.standard else codes.prior.draw(draws, len(rows), rows)
    to_prior, to_mean, mixtures = np.zeros(codes.d), np.zeros(codes.d), []
    for j in range(codes.d):
        own = None if prior is None else prior[:, j]
        ascending = np.sort(sample[:, j])
        to_prior[j] = _to_normal(ascending) if own is None else ks_distance(ascending, own)
        to_mean[j] = ks_distance(ascending, mean[:, j])
        mixtures.append(_mixture(sample[:, j], own, mean[:, j], passive[:, j]))
    distance = np.array([own.distance for own in mixtures])
    return Polarised(
        kinds,
        to_prior,
        to_mean,
        np.array([own.weight for own in mixtures]),
        distance,
        np.array([own.fitted for own in mixtures]),
        float((passive | (ratio <= ALPHA)).mean()),
        _statements(
            _Moved(mean, codes.variance[rows].astype(np.float64), scaled, ratio, prior_means),
            kinds,
            to_prior,
            to_mean,
            distance,
            passive.mean(axis=0),
        ),
        len(rows),
        seed,
    )


#: A share of passive examples below this, or above one minus this, is that of no mixture.
_FEW = 0.05


@dataclass(frozen=True, eq=False)
class _Moved:
    """Posteriors as they are and in units of an unused latent: (rows, d) each."""

    mean: Vector
    variance: Vector
    scaled: Vector
    ratio: Vector
    prior_mean: Vector


def _both(where: str, says: str, shares: Vector) -> Statement:
    """Whether every mixed latent is passive on some examples and not on others."""
    if not len(shares):
        return Statement(where, says, None, _FEW, None)
    least = float(np.minimum(shares, 1.0 - shares).min())
    return Statement(where, says, least, _FEW, least >= _FEW)


def _statements(
    q: _Moved,
    kinds: Types,
    to_prior: Vector,
    to_mean: Vector,
    to_mixture: Vector,
    passive_share: Vector,
) -> tuple[Statement, ...]:
    """Lines of both papers. Where prior and units are those of N(0, I), grzes2023's are
    bonheme2023's, and only that is said twice which its own paper words otherwise."""

    def most(
        where: str, says: str, values: Vector, *of: LatentType, units: str = "invariant"
    ) -> Statement:
        own = values[kinds.of(*of)]
        if not len(own):
            return Statement(where, says, None, ALPHA, None, units)
        return Statement(where, says, float(own.max()), ALPHA, bool(own.max() <= ALPHA), units)

    def more(
        where: str,
        says: str,
        values: Vector,
        of: tuple[LatentType, ...],
        than: tuple[LatentType, ...],
    ) -> Statement:
        own, other = values[kinds.of(*of)], values[kinds.of(*than)]
        if not len(own) or not len(other):
            return Statement(where, says, None, 0.0, None)
        gap = float(own.min() - other.max())
        return Statement(where, says, gap, 0.0, gap > 0)

    shift, spread = np.abs(q.scaled.mean(axis=0)), q.scaled.var(axis=0)
    ratio, unrest = q.ratio.mean(axis=0), q.ratio.var(axis=0)
    spreads_apart = np.abs(q.mean.var(axis=0) - q.prior_mean.var(axis=0))
    a: tuple[LatentType, ...] = ("active",)
    p: tuple[LatentType, ...] = ("passive",)
    m: tuple[LatentType, ...] = ("mixed",)
    both_mu = "bonheme2023 Prop. 3, grzes2023 Prop. 2"
    both_sigma = "bonheme2023 Prop. 4, grzes2023 Prop. 3"
    z = "bonheme2023 Thm. 5, grzes2023 Thm. 2"
    lines = [
        most(f"{both_mu} (i)", "passive means average to the prior's", shift, *p),
        most("bonheme2023 Prop. 3 (i)", "passive means hardly vary about the prior's", spread, *p),
        most(
            "grzes2023 Prop. 2 (i)", "Var(mu) of passive latents is the prior mean's",
            spreads_apart, *p, units="as printed",
        ),
        *(
            [] if q.prior_mean.var(axis=0).any() else [most(
                "grzes2023 Prop. 2 (ii)", "Var(mu) of passive latents is far below 1",
                q.mean.var(axis=0), *p, units="as printed",
            )]
        ),
        more(
            "bonheme2023 Prop. 3 (ii)", "active means vary more than passive ones", spread, a, p
        ),
        most(f"{both_sigma} (i)", "passive variances are an unused latent's",
             np.abs(ratio - 1.0), *p),
        most(f"{both_sigma} (ii)", "active variances are small", ratio, *a),
        most(
            "grzes2023 Prop. 3 (ii)", "active variances are far below 1",
            q.variance.mean(axis=0), *a, units="as printed",
        ),
        most(
            "grzes2023 Prop. 3 (ii)", "active variances hardly vary, beside 1",
            q.variance.var(axis=0), *a, units="as printed",
        ),
        most(f"{both_sigma} (i, ii)", "active and passive variances hardly vary", unrest, *a, *p),
        more(
            "bonheme2023 Prop. 4 (iii)", "mixed variances vary more than others", unrest, m,
            (*a, *p),
        ),
        most(f"{z} (i)", "passive samples follow the prior", to_prior, *p),
        most(f"{z} (ii)", "active samples follow their means", to_mean, *a),
        most(f"{z} (iii)", "mixed samples follow a mixture of the two", to_mixture, *m),
        _both(f"{z} (iii)", "mixed latents are passive on some examples, 0 < c < 1",
              passive_share[kinds.of(*m)]),
        more(
            "bonheme2023 Cor. 6", "only others differ between mean and sample", to_mean, (*m, *p), a
        ),
    ]  # fmt: skip
    return tuple(lines)
