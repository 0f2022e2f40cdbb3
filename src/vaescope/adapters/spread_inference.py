"""What a spread is where the model draws nothing: by what noise costs and what it saves.

Of two kinds, the one with less noise has the smaller distortion D and the larger rate R. Training
with weight beta on the rate prefers it where beta < (D' - D) / (R - R'), the price at which both
are equally good. Training also makes the aggregate posterior's second moment the prior's. A kind is
taken where price and moment agree; log variances, which nearly everybody returns, unless both speak
against them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from vaescope.adapters.posterior_format import Parts, posterior_of
from vaescope.distributions import Distribution

__all__ = ["Cost", "costs_of", "preferred"]

#: Draws of the noise under which distortions are taken.
DRAWS = 4
#: Kinds whose rates differ by less, in nats, are the same for these data.
SAME = 0.05
#: Prices between these decide nothing, since beta is not known.
CHEAP, DEAR = 0.5, 3.0

Density = Callable[[Tensor], Distribution]


@dataclass(frozen=True)
class Cost:
    """Of one kind of spread, nats of an image."""

    kind: str
    distortion: float
    rate: float
    misfit: float  # of the aggregate posterior's second moment

    def __str__(self) -> str:
        return f"posterior={self.kind} (distortion {self.distortion:.1f}, rate {self.rate:.1f})"


def costs_of(parts: Parts, x: Tensor, decode: Density) -> list[Cost]:
    """Of every kind that the values allow, logarithms where some are below 0."""
    assert parts.spread is not None
    negative = float(parts.spread.min()) < 0
    found = []
    for kind in ("logvar", "logstd") if negative else ("std", "variance", "logvar"):
        q = posterior_of(parts, kind)
        m, v = q.mean.double(), q.variance.double().clamp_min(1e-30)
        generator = torch.Generator().manual_seed(0)
        nats = []
        for _ in range(DRAWS):
            noise = torch.randn(q.mean.shape, generator=generator).to(q.mean)
            nats.append(-decode(q.mean + q.variance.sqrt() * noise).log_prob(x).double().mean())
        rate = float(0.5 * (m.square() + v - 1 - v.log()).flatten(1).sum(1).mean())
        distortion = float(torch.stack(nats).mean())
        if math.isfinite(rate) and math.isfinite(distortion):
            found.append(Cost(kind, distortion, rate, _misfit(parts, kind)))
    return found


def preferred(costs: list[Cost]) -> tuple[Cost | None, list[Cost]]:
    """The kind that is taken, None where none can be, and those that compete with it."""
    apart: list[Cost] = []
    for one in sorted(costs, key=lambda cost: cost.kind != "logvar"):
        if all(abs(one.rate - other.rate) > SAME for other in apart):
            apart.append(one)
    first, *others = apart
    if not others:
        return first, []
    if all(one.kind in ("logvar", "logstd") for one in apart):
        against = _better(others[0], first) and others[0].misfit < first.misfit
        return (None, apart) if against else (first, others)
    for one in apart:
        rivals = [other for other in apart if other is not one]
        if all(_better(one, other, sure=True) and one.misfit < other.misfit for other in rivals):
            return one, rivals
    return None, apart


def _better(one: Cost, two: Cost, *, sure: bool = False) -> bool:
    """Whether one kind is better than another at beta 1, or at every beta that is likely."""
    saved, paid = two.distortion - one.distortion, one.rate - two.rate
    if paid <= 0:  # more noise: it pays in distortion
        return -saved < (CHEAP if sure else 1.0) * -paid
    return saved > (DEAR if sure else 1.0) * paid


def _misfit(parts: Parts, kind: str) -> float:
    """KL(N(0, v) || N(0, 1)) summed over latents, v the aggregate posterior's second moment."""
    posterior = posterior_of(parts, kind)
    v = (posterior.mean.square() + posterior.variance).mean(0).double().clamp_min(1e-12)
    return float((0.5 * (v - 1 - v.log())).sum())
