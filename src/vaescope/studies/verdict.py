"""Whether a claim holds: one rule for all of them, with intervals over seeds.

Holm 1979, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from scipy import stats

from vaescope.studies.effects import Effect
from vaescope.tables import Table
from vaescope.types import Floats

__all__ = ["Claim", "Judgement", "Verdict", "decide", "holm"]

#: Chance of even one false verdict over the whole catalogue.
ALPHA = 0.05
#: Chance to decide a true effect that the seeds asked for shall give.
POWER = 0.8
#: More seeds than this are not asked for: the effect is too close to its threshold.
MOST_SEEDS = 10_000

Judgement = Literal["supported", "contradicted", "undecided"]


@final
@dataclass(frozen=True)
class Claim:
    """One sentence of a paper as a check: on which side of a threshold an effect lies."""

    says: str
    where: str  # in the paper: "zietlow2022 Tab. 3.3"
    effect: Effect
    side: Literal["above", "below"]
    threshold: float
    paper: str = ""  # its own number, in words
    substituted: str = ""  # data that stand for the paper's, where they do

    def words(self) -> str:
        """What is measured and what is wanted of it."""
        return f"{self.effect.words()}, {self.side} {self.threshold:g}"


@final
@dataclass(frozen=True)
class Verdict:
    """What a table of runs says of a claim."""

    claim: Claim
    verdict: Judgement
    effect: float | None  # the mean over seeds; None where no seed has one
    interval: tuple[float, float] | None
    level: float  # share of such intervals that hold the truth
    seeds: int  # values behind the mean
    p_value: float  # of an effect at the threshold, uncorrected
    needed: int | None  # seeds that would decide it with power 0.8; None where it is decided

    def to_dict(self) -> dict[str, Any]:
        return {
            "says": self.claim.says,
            "where": self.claim.where,
            "verdict": self.verdict,
            "effect": self.effect,
            "interval": None if self.interval is None else list(self.interval),
            "level": self.level,
            "seeds": self.seeds,
            "paper": self.claim.paper,
            "substituted": self.claim.substituted,
            "measured": self.claim.words(),
            "p_value": self.p_value,
            "needed_seeds": self.needed,
        }

    def summary(self) -> str:
        number = "no number" if self.effect is None else f"{self.effect:.3g}"
        spread = "" if self.interval is None else " ({:.3g} to {:.3g})".format(*self.interval)
        more = "" if self.needed is None else f"; about {self.needed} seeds would decide it"
        return (
            f"{self.verdict}: {self.claim.says} [{self.claim.where}] {self.claim.words()}: "
            f"{number}{spread}, {self.seeds} seeds{more}"
        )


def holm(p_values: Sequence[float], total: int) -> list[float]:
    """The level of error that each claim is held to, with `total` claims in the catalogue.

    Claims that are not among these count as undecided: the k-th smallest p-value is held to
    alpha / (total - k), until one fails; the rest are held to what that one was.

    >>> holm([0.001, 0.5, 0.02], 3)
    [0.016666666666666666, 0.05, 0.025]
    """
    levels = [0.0] * len(p_values)
    level, failed = 0.0, False
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        if not failed:
            level = ALPHA / (total - rank)
            failed = p_values[place] >= level
        levels[place] = level
    return levels


def _p_value(values: Floats, threshold: float) -> float:
    """Student's, two-sided, of a mean at the threshold."""
    if values.size < 2:
        return 1.0
    distance = abs(float(values.mean()) - threshold)
    error = float(values.std(ddof=1)) / np.sqrt(values.size)
    if error == 0.0:
        return 0.0 if distance > 0.0 else 1.0
    return float(2.0 * stats.t.sf(distance / error, values.size - 1))


def _needed(values: Floats, threshold: float, alpha: float) -> int | None:
    """The fewest seeds with which an effect and a spread like these are decided."""
    if values.size < 2:
        return None
    distance, spread = abs(float(values.mean()) - threshold), float(values.std(ddof=1))
    if distance == 0.0:
        return None
    n = np.arange(2, MOST_SEEDS + 1)
    reach = (stats.t.isf(alpha / 2, n - 1) + stats.t.ppf(POWER, n - 1)) * spread / np.sqrt(n)
    enough = np.flatnonzero(reach <= distance)
    return max(int(n[enough[0]]), values.size + 1) if enough.size else None


def decide(claims: Sequence[tuple[Claim, Table]], *, total: int) -> list[Verdict]:
    """The verdict of each claim over its table, corrected for `total` claims in all."""
    effects = [claim.effect.of(table) for claim, table in claims]
    known = [values[np.isfinite(values)] for values in effects]
    p_values = [_p_value(v, c.threshold) for v, (c, _) in zip(known, claims, strict=True)]
    alphas = holm(p_values, total)
    return [
        _verdict(claim, values, p, alpha)
        for (claim, _), values, p, alpha in zip(claims, known, p_values, alphas, strict=True)
    ]


def _verdict(claim: Claim, values: Floats, p: float, alpha: float) -> Verdict:
    n = values.size
    mean = float(values.mean()) if n else None
    interval = None
    if n >= 2 and mean is not None:
        half = float(stats.t.isf(alpha / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))
        interval = (mean - half, mean + half)
    judgement: Judgement = "undecided"
    if p < alpha and mean is not None:
        above = mean > claim.threshold
        judgement = "supported" if above == (claim.side == "above") else "contradicted"
    needed = _needed(values, claim.threshold, alpha) if judgement == "undecided" else None
    return Verdict(claim, judgement, mean, interval, 1.0 - alpha, n, p, needed)
