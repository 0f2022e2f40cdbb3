"""Which beta to try next: a function of the points so far, so that a tune resumes where it was.

Runs go upwards only. A latent that died does not come back when beta falls again, or late; one that
should die does so when beta rises.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vaescope.tuning.curve import (
    RESOLUTION,
    CurvePoint,
    Event,
    jumps,
    loses_a_tenth,
    read_curve,
)
from vaescope.tuning.overlap import read_overlap

__all__ = ["Next", "Range", "next_overlap_run", "next_run"]

#: Ratio of neighbours before events are narrowed down.
COARSE = math.sqrt(10.0)
#: How far a range lowers itself where too few latents are in use at its low end.
LOWER = 10.0


@dataclass(frozen=True)
class Range:
    """Where to look."""

    low: float
    high: float
    floor: float  # the lowest beta if too few latents are in use at `low`

    def within(self, curve: Sequence[CurvePoint]) -> list[CurvePoint]:
        """Points that this range may have asked for: a folder may hold those of other ranges."""
        return [p for p in curve if _short(self.floor) <= p.beta <= _short(self.high)]


@dataclass(frozen=True)
class Next:
    """A short run at `beta` from the weights at `start`, or from scratch."""

    beta: float
    start: float | None


def next_run(
    curve: Sequence[CurvePoint], where: Range, *, given: int | None, factors: int | None
) -> Next | None:
    """The next run of a curve in order of beta; None when all events are narrow."""
    if not curve or curve[0].beta > _short(where.low):
        return _next(where.low, None)
    top = curve[-1]
    if top.active and top.beta < _short(where.high):
        return _next(min(COARSE * top.beta, where.high), top.beta)
    found = read_curve(curve, by="onset", given=given, factors=factors)
    lowest = curve[0].beta
    if max(point.active for point in curve) < found.needed.latents and lowest > _short(where.floor):
        return _next(max(lowest / LOWER, where.floor), None)
    events = [found.over_pruning, *_early_jumps(curve, found.over_pruning)]
    events += [found.only_needed, found.onset]
    if found.needed.source == "curve":
        events.append(loses_a_tenth(curve))
    return _narrower(events)


def next_overlap_run(
    curve: Sequence[CurvePoint], where: Range, *, share: float | None
) -> Next | None:
    """The same where overlap is looked for: upwards until codes are lost, downwards until they are
    a lookup table, then towards the ends and what is between them."""
    if not curve or curve[0].beta > _short(where.low):
        return _next(where.low, None)
    found, lowest, top = read_overlap(curve, share), curve[0].beta, curve[-1].beta
    if found.lost is None and top < _short(where.high):
        return _next(min(COARSE * top, where.high), top)
    at_all = found.lookup is not None and found.lookup.below is None
    if at_all and lowest > _short(where.floor):
        return _next(max(lowest / LOWER, where.floor), None)
    return _narrower([found.middle, found.lookup, found.lost])


def _narrower(events: Sequence[Event | None]) -> Next | None:
    """A run amid the first event that is not narrow."""
    for event in events:
        if event is None or event.below is None:
            continue
        if event.above > RESOLUTION * event.below:
            return _next(event.beta, event.below)
    return None


def _early_jumps(curve: Sequence[CurvePoint], over: Event | None) -> list[Event]:
    """After over-pruning nothing is to be found."""
    return [jump for jump in jumps(curve) if over is None or jump.above <= over.above]


def _next(beta: float, start: float | None) -> Next:
    return Next(_short(beta), start)


def _short(beta: float) -> float:
    """Short enough to name a file, and to be typed."""
    return float(f"{beta:.6g}")
