"""Types of latents from codes: active, passive, mixed.

A latent is passive where its posterior is the one that a latent has that ignores x. Under N(0, I)
and the ELBO that is N(0, 1) and the rule bonheme2023's (`vaescope.latent_types`); other priors and
objectives have another one, which the codes know.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vaescope import paper_aliases
from vaescope.codes import Codes
from vaescope.errors import UsageError
from vaescope.latent_types import ALPHA, LatentType, Typed, types_of
from vaescope.latents.kl import kl_of_rows
from vaescope.latents.moments import chunks, spreads
from vaescope.latents.unused import (
    PASSIVE_KL_NATS,
    excess_of_rows,
    in_unused_units,
    unused_is_prior,
    unused_units,
)
from vaescope.notebook_card import bars_of, card_of
from vaescope.types import Booleans, Double
from vaescope.wording import listed

__all__ = [
    "CONSTANT",
    "CRITERIA",
    "EVERY",
    "MORE",
    "PASSIVE_KL_NATS",
    "SOME",
    "TRAPPED",
    "Criterion",
    "Types",
    "types",
]

Criterion = Literal[
    "unused", "bonheme2023", "kl", "zietlow2022-chapter-3", "zietlow2022-chapter-4", "bhowal2024"
]

#: Examples of one kind that are too few to name a latent after them.
_FEW = 0.05

#: Share of examples that a passive latent may be used for unsaid, and movement that is none.
_RARE, _CONSTANT = 0.01, 1e-3

#: Steps from a variance to that of an unused latent, and nats that a barrier has at least.
_PATH, _BARRIER = 65, 1e-3

#: Kinds of mixed latents. The first is mixed by Definition 2 of bonheme2023. The last two have the
#: same posterior in every example, which is not that of an unused latent: of the trapped, every
#: way there costs rate at first, as from the slab of a sparse prior into its spike.
SOME = "used for some examples only"
EVERY = "uncertain in every example"
MORE = "more certain in some examples"
CONSTANT = "the same in every example"
TRAPPED = "the same in every example, in a local minimum of the rate"


@dataclass(frozen=True, eq=False)
class Types(Typed):
    """The type of each latent, and the statistics over examples that decide it."""

    names: tuple[LatentType, ...]
    mean_variance: Double
    variance_of_variance: Double
    kl: Double  # mean KL to the prior, nats
    variance_of_mean: Double
    passive_fraction: Double  # share of examples, by Definition 2 of bonheme2023
    criterion: Criterion
    n: int
    mean_ratio: Double  # mean ratio of the posterior variance to an unused latent's
    movement: Double  # variance of the means in the same units
    variance_of_ratio: Double
    kind_of_mixed: tuple[str, ...]  # kind of each mixed latent; empty for active and passive ones
    trapped_nats: Double  # excess rate over an unused latent, for latents of kind `TRAPPED`
    spread: Double | None = None  # spread as in `vaescope.latent_types.types_of`
    why: str = ""  # why some latents cannot be called passive
    borderline: tuple[int, ...] = ()  # latents whose type changes if the threshold moves by a tenth

    @property
    def faint(self) -> tuple[int, ...]:
        """Passive latents that follow the data weakly or now and then: over one example in a
        hundred has a posterior that is not an unused latent's, and they are not all the same."""
        moves = self.movement + self.variance_of_ratio > _CONSTANT
        rarely = self.passive_fraction < 1.0 - _RARE
        return tuple(j for j in self.passive.tolist() if moves[j] and rarely[j])

    def of_faint(self) -> str:
        """What there is to say of them; else empty."""
        if not self.faint:
            return ""
        one = len(self.faint) == 1
        most = 1.0 - min(self.passive_fraction[list(self.faint)])
        return (
            f"Of the passive latents, {listed(self.faint)} {'is' if one else 'are'} not quite "
            f"unused: in {'' if one else 'up to '}{most:.0%} of the examples the posterior is over "
            f"{PASSIVE_KL_NATS:g} nats from that of an unused latent."
        )

    def summary(self) -> str:
        """One line, e.g. `3 active (0, 4, 7), 0 mixed, 7 passive (1, 2, 3, 5, 6, 8, 9)`."""
        return "; ".join(part for part in (self.listed(), self.trapped(), self.why) if part)

    @property
    def rescaled(self) -> bool:
        """Whether ratios are other numbers than the variances: an unused one is not 1."""
        return not np.array_equal(self.mean_ratio, self.mean_variance)

    def trapped(self) -> str:
        """Which latents are in a local minimum of the rate, and what that costs; else empty."""
        which = [j for j, kind in enumerate(self.kind_of_mixed) if kind == TRAPPED]
        if not which:
            return ""
        verb = "ignores x but is" if len(which) == 1 else "ignore x but are"
        nats = self.trapped_nats[which].sum()
        return (
            f"{listed(which)} {verb} in a local minimum of the rate, "
            f"{nats:.3g} nats above that of unused latents"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None for a KL that is infinite."""
        return {
            "types": list(self.names),
            "mean_variance": self.mean_variance.tolist(),
            "variance_of_variance": self.variance_of_variance.tolist(),
            "kl": [float(value) if np.isfinite(value) else None for value in self.kl],
            "variance_of_mean": self.variance_of_mean.tolist(),
            "passive_fraction": self.passive_fraction.tolist(),
            "mean_ratio": self.mean_ratio.tolist(),
            "movement": self.movement.tolist(),
            "kind_of_mixed": list(self.kind_of_mixed),
            "trapped_nats": self.trapped_nats.tolist(),
            "criterion": self.criterion,
            "why": self.why,
            "borderline": list(self.borderline),
        }

    def _repr_html_(self) -> str:
        kl = {f"{j}, {kind}": float(self.kl[j]) for j, kind in enumerate(self.names)}
        return card_of(self, bars_of(kl, "nats"))


@dataclass(frozen=True, eq=False)
class _Statistics:
    mean_variance: Double
    variance_of_variance: Double
    variance_of_mean: Double
    kl: Double
    excess: Double  # mean KL to an unused posterior
    passive_fraction: Double
    mean_ratio: Double  # of the posterior variance to an unused one
    variance_of_ratio: Double
    movement: Double
    spread: Double | None
    narrow: Double  # share of examples that are as certain as an active latent
    wide: Double  # share of examples that are nearly as an unused latent's


def _spread(codes: Codes, units: NDArray[Any]) -> Double | None:
    """An unused variance over the prior's where it sits in a spike, else None: see `types_of`."""
    if not codes.prior.peaked:
        return None
    return np.asarray(units.reshape(-1, codes.d).mean(axis=0) / codes.prior.variance)


def _statistics(codes: Codes) -> _Statistics:
    variance, mean = spreads(codes.variance), spreads(codes.mean)
    units = unused_units(codes)
    scaled_mean, scaled_variance = in_unused_units(codes, units)
    ratio = variance if scaled_variance is codes.variance else spreads(scaled_variance)
    moved = mean if scaled_mean is codes.mean else spreads(scaled_mean)
    spread = _spread(codes, units)
    same = unused_is_prior(codes)
    sums = np.zeros((5, codes.d))  # KL, excess, passive, narrow, wide
    for rows in chunks(codes.n):
        nats = kl_of_rows(codes, rows)
        excess = nats if same else excess_of_rows(codes, units, rows)
        own = scaled_variance[rows]
        narrow = own <= ALPHA if spread is None else own * spread <= ALPHA
        # Wide and where the prior is: a wide posterior that moves tells its example apart.
        with np.errstate(over="ignore"):  # of huge means, which are not near the prior
            wide = (own >= 1.0 - ALPHA) & (np.square(scaled_mean[rows]) < ALPHA)
        ones = np.ones(len(nats))  # a product sums long columns three times as fast as `sum` does
        parts = (nats, excess, excess < PASSIVE_KL_NATS, narrow, wide)
        sums += np.stack([ones @ part for part in parts])
    kl, excess, passive, narrow, wide = sums / codes.n
    return _Statistics(
        variance.mean, variance.variance, mean.variance, kl, excess, passive,
        ratio.mean, ratio.variance, moved.variance, spread, narrow, wide,
    )  # fmt: skip


def _by_unused(s: _Statistics) -> list[LatentType]:
    return types_of(s.mean_ratio, s.variance_of_ratio, s.movement, spread=s.spread)


def _borderline(s: _Statistics) -> tuple[int, ...]:
    """Latents whose type would be another if the threshold were a tenth lower or higher."""
    by_limit = [
        types_of(s.mean_ratio, s.variance_of_ratio, s.movement, spread=s.spread, alpha=alpha)
        for alpha in (0.9 * ALPHA, ALPHA, 1.1 * ALPHA)
    ]
    return tuple(j for j, names in enumerate(zip(*by_limit, strict=True)) if len(set(names)) > 1)


def _by_variance(s: _Statistics) -> list[LatentType]:
    return types_of(s.mean_variance, s.variance_of_variance)


def _by_kl(s: _Statistics) -> list[LatentType]:
    """Passive by KL to an unused posterior, active as by default, else mixed."""
    active = types_of(s.mean_ratio, s.variance_of_ratio, spread=s.spread)
    return [
        "passive" if nats < PASSIVE_KL_NATS else "active" if name == "active" else "mixed"
        for nats, name in zip(s.excess, active, strict=True)
    ]


def _two(active: Booleans) -> list[LatentType]:
    return ["active" if own else "passive" for own in active]


#: The default and each paper's rule. Those of zietlow2022 and bhowal2024 know only active latents
#: and others, here called passive. The papers' rules are for N(0, I) and compare with 1.
CRITERIA: dict[Criterion, Callable[[_Statistics], list[LatentType]]] = {
    "unused": _by_unused,
    "bonheme2023": _by_variance,
    "kl": _by_kl,
    "zietlow2022-chapter-3": lambda s: _two(np.sqrt(s.variance_of_mean) > 0.5),
    "zietlow2022-chapter-4": lambda s: _two(s.mean_variance < 0.8),
    "bhowal2024": lambda s: _two(s.variance_of_mean > 0.01),
}


def _kind_of_mixed(narrow: float, wide: float) -> str:
    """By shares of examples as certain as an active latent, and as uncertain as an unused one."""
    if narrow >= _FEW and wide >= _FEW:
        return SOME
    return EVERY if narrow < _FEW else MORE


def _kinds_of_mixed(
    codes: Codes, s: _Statistics, names: list[LatentType]
) -> tuple[list[str], Double]:
    """The kind of each mixed latent, and the excess of rate of those that are trapped."""
    # In units of the latent's own spread: no information goes through a posterior that is constant.
    constant = (s.movement < ALPHA * s.mean_ratio) & (s.variance_of_ratio < ALPHA * s.mean_ratio**2)
    kinds, nats = [], np.zeros(codes.d)
    for j, name in enumerate(names):
        if name != "mixed":
            kinds.append("")
        elif not constant[j]:
            kinds.append(_kind_of_mixed(s.narrow[j], s.wide[j]))
        else:
            nats[j] = _trapped(codes, j, float(s.mean_variance[j]))
            kinds.append(TRAPPED if nats[j] else CONSTANT)
    return kinds, nats


def _trapped(codes: Codes, latent: int, variance: float) -> float:
    """Rate of a constant posterior above an unused one's if a barrier lies between them, else 0.

    Under the ELBO, whose rate is the KL to the prior; other objectives have other barriers."""
    prior, unused = codes.prior, codes.unused_variance
    if prior.per_row or unused.ndim > 1 or not variance > 0 or not np.isfinite(unused[latent]):
        return 0.0
    if not np.allclose(unused[latent], prior.unused_variance()[latent], rtol=0.01):
        return 0.0
    path = np.geomspace(variance, float(unused[latent]), _PATH)
    grid = np.broadcast_to(path[:, None], (_PATH, codes.d))
    centre = np.broadcast_to(prior.mean, grid.shape)
    nats = prior.columns(np.array([latent])).kl(centre[:, [latent]], grid[:, [latent]])[:, 0]
    return float(nats[0] - nats[-1]) if nats.max() > nats[0] + _BARRIER else 0.0


def _why(codes: Codes) -> str:
    if not np.isnan(codes.unused_variance).any():
        return ""
    reason = codes.unused_why or (
        f"{codes.prior.says} has several best posteriors of different variances"
    )
    none = np.flatnonzero(np.isnan(np.atleast_2d(codes.unused_variance)).any(axis=0))
    which = (
        "which latents ignore x"
        if len(none) == codes.d
        else (f"whether {listed(none)} ignore{'s' * (len(none) == 1)} x")
    )
    return f"the types cannot tell {which}: {reason}"


def types(codes: Codes, *, criterion: str | None = None) -> Types:
    """The type of each latent over the examples: active, passive or mixed.

    By default (`unused`) in units of the variance of a latent that ignores x, which the codes take
    from the objective or otherwise from the prior. Passive: the ratio of the posterior variance to
    it has a mean in [0.9, 1.1] and a variance below 0.1, and the means, less the prior's, have a
    variance below 0.1. Active: the ratio has a mean of at most 0.1 and a variance below 0.1; if an
    unused latent lies in a spike of the prior (spike and slab, mixtures), the ratio to the prior's
    own variance is used instead. All others are mixed. Scaling the prior and the codes by a factor
    changes nothing.

    Under N(0, I) and the ELBO this is bonheme2023's rule with the further condition that passive
    means do not move. `kl` calls a latent passive whose mean KL to an unused posterior is below
    0.01 nats. The papers' rules are available by key. Full-covariance posteriors are typed by their
    marginals. `passive_fraction` counts the examples on which a latent's posterior is within 0.01
    nats of an unused one: Definition 2 of bonheme2023 calls a latent mixed wherever that is neither
    0 nor 1.

    Args:
        codes: their prior and `unused` are what posteriors are compared with.
        criterion: a key of `CRITERIA`, or None for the default.

    Returns:
        `Types`: the type of each latent, and the statistics over examples that decide it.

    Raises:
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.latents.types(codes).names
        ('active', 'active', 'active', 'passive', 'passive')
    """
    known = paper_aliases.CRITERIA.get(criterion or "unused", criterion or "unused")
    if known not in CRITERIA:
        raise UsageError(
            f"There is no criterion {criterion!r}; there are {', '.join(CRITERIA)}.",
            "Use one of those, or leave it out.",
        )
    s = _statistics(codes)
    names = CRITERIA[known](s)
    why = _why(codes) if known in ("unused", "kl") else ""
    if why:
        none = np.asarray(np.isnan(np.atleast_2d(codes.unused_variance)).any(axis=0))
        names = [
            "mixed" if name == "passive" and no else name
            for name, no in zip(names, none, strict=True)
        ]
    kinds, trapped = _kinds_of_mixed(codes, s, names)
    return Types(
        tuple(names), s.mean_variance, s.variance_of_variance, s.kl, s.variance_of_mean,
        s.passive_fraction, known, codes.n, s.mean_ratio, s.movement, s.variance_of_ratio,
        tuple(kinds), trapped, s.spread, why, _borderline(s) if known == "unused" else (),
    )  # fmt: skip
