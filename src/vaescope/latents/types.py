"""Types of latents from codes: active, passive, mixed. Papers 000 to 003.

001's rule, the default for N(0, I), is in `vaescope.regime`. Where the prior is another one the
posterior variance of a passive latent need not be near 1 (in 000 it is near 0), so latents are
typed by their KL to the model's own prior, or to the Gaussian nearest to it where it is none:
that is what a posterior becomes that ignores x.
"""

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.errors import UsageError
from vaescope.latents.kl import has_standard_prior, in_prior_units, kl_of_rows
from vaescope.latents.moments import chunks, moments
from vaescope.regime import LatentType, Typed, types_of

__all__ = ["CRITERIA", "PASSIVE_KL_NATS", "Criterion", "Types", "types"]

Criterion = Literal["001", "kl", "002-chapter-3", "002-chapter-4", "003"]

#: Below this a posterior counts as its prior, on one example or in the mean over all: about what
#: 001's thresholds allow (a mean of 0.1 and a variance of 0.9 have 0.008 nats).
PASSIVE_KL_NATS = 0.01


@dataclass(frozen=True, eq=False)
class Types(Typed):
    """What each latent is, and the statistics that decide it, over the examples."""

    names: tuple[LatentType, ...]
    mean_variance: NDArray[np.float64]
    variance_of_variance: NDArray[np.float64]
    kl: NDArray[np.float64]  # mean KL to the prior, nats
    variance_of_mean: NDArray[np.float64]
    passive_fraction: NDArray[np.float64]  # of examples, by 001's Definition 2
    criterion: Criterion
    n: int

    def summary(self) -> str:
        """One line, e.g. `3 active (0, 4, 7), 0 mixed, 7 passive (1, 2, 3, 5, 6, 8, 9)`."""
        return self.listed()

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None for a KL that is infinite."""
        return {
            "types": list(self.names),
            "mean_variance": self.mean_variance.tolist(),
            "variance_of_variance": self.variance_of_variance.tolist(),
            "kl": [float(value) if np.isfinite(value) else None for value in self.kl],
            "variance_of_mean": self.variance_of_mean.tolist(),
            "passive_fraction": self.passive_fraction.tolist(),
            "criterion": self.criterion,
        }

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(self.summary())}</code>"


@dataclass(frozen=True, eq=False)
class _Statistics:
    mean_variance: NDArray[np.float64]
    variance_of_variance: NDArray[np.float64]
    variance_of_mean: NDArray[np.float64]
    kl: NDArray[np.float64]
    passive_fraction: NDArray[np.float64]
    mean_ratio: NDArray[np.float64]  # of the posterior variance to the prior's
    variance_of_ratio: NDArray[np.float64]


def _statistics(codes: Codes) -> _Statistics:
    variance, mean = moments(codes.variance), moments(codes.mean)
    ratio = variance
    if codes.prior_variance is not None:
        ratio = moments(in_prior_units(codes)[1])
    kl, passive = np.zeros(codes.d), np.zeros(codes.d)
    for rows in chunks(codes.n):
        nats = kl_of_rows(codes, rows)
        ones = np.ones(len(nats))  # a product sums long columns three times as fast as `sum` does
        kl += ones @ nats
        passive += ones @ (nats < PASSIVE_KL_NATS)
    return _Statistics(
        variance.mean, variance.variance, mean.variance, kl / codes.n, passive / codes.n,
        ratio.mean, ratio.variance,
    )  # fmt: skip


def _by_variance(s: _Statistics) -> list[LatentType]:
    return types_of(s.mean_variance, s.variance_of_variance)


def _by_kl(s: _Statistics) -> list[LatentType]:
    """Passive by KL; active as in 001 with the variance in units of the prior's; else mixed."""
    active = types_of(s.mean_ratio, s.variance_of_ratio)
    return [
        "passive" if nats < PASSIVE_KL_NATS else "active" if name == "active" else "mixed"
        for nats, name in zip(s.kl, active, strict=True)
    ]


def _two(active: NDArray[np.bool_]) -> list[LatentType]:
    return ["active" if own else "passive" for own in active]


#: Each paper's rule. Those of 002 and 003 know only active latents and others, here called passive.
CRITERIA: dict[Criterion, Callable[[_Statistics], list[LatentType]]] = {
    "001": _by_variance,
    "kl": _by_kl,
    "002-chapter-3": lambda s: _two(np.sqrt(s.variance_of_mean) > 0.5),
    "002-chapter-4": lambda s: _two(s.mean_variance < 0.8),
    "003": lambda s: _two(s.variance_of_mean > 0.01),
}


def types(codes: Codes, *, criterion: Criterion | None = None) -> Types:
    """Active, passive or mixed, over the examples.

    By default `001` for N(0, I) priors and diagonal posteriors (mean and population variance of the
    posterior variance, as the paper's code has it), and `kl` otherwise: passive if the mean KL to
    the prior is below 0.01 nats, active if the posterior variance in units of the prior's meets
    001's rule. Full-covariance posteriors are typed by their marginals. `passive_fraction` counts
    the examples on which a latent's KL is below 0.01 nats: 001's Definition 2 calls a latent mixed
    wherever it is neither 0 nor 1, the thresholds do not.
    """
    if criterion is None:
        standard = has_standard_prior(codes) and codes.covariance is None
        criterion = "001" if standard else "kl"
    if criterion not in CRITERIA:
        raise UsageError(
            f"There is no criterion {criterion!r}; there are {', '.join(CRITERIA)}.",
            "Use one of those, or leave it out.",
        )
    s = _statistics(codes)
    return Types(
        tuple(CRITERIA[criterion](s)),
        s.mean_variance,
        s.variance_of_variance,
        s.kl,
        s.variance_of_mean,
        s.passive_fraction,
        criterion,
        codes.n,
    )
