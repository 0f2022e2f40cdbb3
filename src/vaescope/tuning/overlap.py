"""Overlap along beta: from a lookup table to codes that all data share. mathieu2019 section 3.

Mathieu et al. 2019, https://arxiv.org/abs/1812.02833: too little overlap "and the latents
effectively become a lookup table; too much, and the data and latents don't convey information about
each other". Overlap is the effective number of data points that share a code
(`decomposition.overlap`). The paper prints no number for either end and none for what is best. The
ends below were tested (mathieu2019/overlap), the value between them is a convention.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vaescope.decomposition.overlap import END
from vaescope.errors import UsageError
from vaescope.tuning.curve import CurvePoint, Event, event_of, rounded

__all__ = ["DRIFT", "END", "OverlapReading", "drift_of", "read_overlap"]

#: A run has converged when the effective number moves by no more than this from one round to the
#: next, as a share: narrow posteriors may still halve where their variances hardly move.
DRIFT = 0.05


@dataclass(frozen=True)
class OverlapReading:
    """The two ends of a curve's overlap and the strength between them; None for what was not
    found."""

    n: int  # data points among which codes are shared
    target: float  # how many of these shall share a code
    given: bool  # whether the user said so; else it is the geometric mean of 1 and n
    lookup: Event | None  # from here on codes are more than a lookup table
    middle: Event | None  # from here on as many as wanted share a code
    lost: Event | None  # from here on more than half of all share a code
    beta: float | None
    notes: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why this number, and that nobody has shown it to be good."""
        middle = f"{self.target:,.4g} is the geometric mean of 1 and {self.n:,}, a convention"
        chosen = f"{self.target:,.4g} of {self.n:,} was given" if self.given else middle
        return (
            f"Not calibrated: no experiment says how many data points should share a code. {chosen}"
            f"{'' if self.given else ' (--overlap-share sets another)'}. The ends, {END:g} data "
            f"points and one in {END:g}, were tested on small models (study mathieu2019/overlap)."
        )

    def to_dict(self) -> dict[str, Any]:
        def ends(event: Event | None) -> list[float | None] | None:
            return None if event is None else [event.below, event.above]

        return {
            "lookup_table_until": None if self.lookup is None else self.lookup.beta,
            "lookup_table_until_between": ends(self.lookup),
            "lost_from": None if self.lost is None else self.lost.beta,
            "lost_from_between": ends(self.lost),
            "target": self.target,
            "share": self.target / self.n,
            "share_from": "given" if self.given else "geometric mean",
            "n": self.n,
            "verdict": "not calibrated",
            "says": self.reason,
        }


def drift_of(before: Sequence[float], after: Sequence[float]) -> float:
    """How far the logarithm of the effective number moved, from mean variances of each latent: it
    is the sum of the logarithms of the deviations, but for a constant."""
    tiny = 1e-300
    moved = (math.log(max(b, tiny) / max(a, tiny)) for a, b in zip(before, after, strict=True))
    return abs(0.5 * math.fsum(moved))


def read_overlap(curve: Sequence[CurvePoint], share: float | None) -> OverlapReading:
    """What the points say, in order of beta. `share` of the data points shall share a code.

    Raises:
        UsageError: the points are without their overlap.
    """
    n = curve[0].rows
    if n is None or any(point.effective_number is None for point in curve):
        raise UsageError(
            "These points were measured by an older vaescope, without their overlap.",
            "Give another --out, or delete the folder of this tune.",
        )
    target = math.sqrt(n) if share is None else share * n

    def shared_by(least: float) -> Event | None:
        return event_of(curve, lambda point: _number(point) >= least)

    lookup, middle, lost = shared_by(END), shared_by(target), shared_by(n / END)
    beta = None if middle is None or middle.below is None else rounded(middle.beta)
    notes = _remarks(curve, n, target, middle, lookup, lost)
    return OverlapReading(n, target, share is not None, lookup, middle, lost, beta, tuple(notes))


def _number(point: CurvePoint) -> float:
    assert point.effective_number is not None
    return point.effective_number


def _remarks(
    curve: Sequence[CurvePoint],
    n: int,
    target: float,
    middle: Event | None,
    lookup: Event | None,
    lost: Event | None,
) -> list[str]:
    notes = []
    low, high = curve[0], curve[-1]
    if middle is None:
        notes.append(
            f"Up to beta {high.beta:g} no more than {_number(high):,.4g} of {n:,} data points "
            f"share a code, not {target:,.4g}: go higher with --between."
        )
    elif middle.below is None:
        notes.append(
            f"At the lowest beta, {low.beta:g}, {_number(low):,.4g} of {n:,} data points share a "
            f"code, more than {target:,.4g}: go lower with --between, or train longer with --steps."
        )
    elif lookup is not None and lookup.below is None:
        notes.append(
            f"At the lowest beta, {low.beta:g}, {_number(low):,.4g} data points share a code: a "
            "lookup table ends below, or the runs are too short for it (--steps): narrow "
            "posteriors take long."
        )
    moving = [point for point in curve if point.drift is None or point.drift > DRIFT]
    if moving:
        listed = ", ".join(f"{point.beta:g}" for point in moving)
        notes.append(
            f"At beta {listed} overlap still changed by more than {DRIFT:.0%} from round to round "
            "when the run ended, or was not followed: raise --steps to be sure."
        )
    if middle is not None and lost is None:
        notes.append(f"Codes are not lost up to beta {high.beta:g}: go higher with --between.")
    return notes
