"""What a curve over beta shows: onset, over-pruning, and a strength between them.

Onset is the first passive latent; over-pruning is fewer latents in use than needed, or a jump in
reconstruction. They are not the same: spare latents should go, needed ones should not. Everything
here is a function of points that were measured.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

__all__ = [
    "JUMP",
    "RESOLUTION",
    "By",
    "CurvePoint",
    "CurveReading",
    "Event",
    "Needed",
    "event_of",
    "jumps",
    "loses_a_tenth",
    "needed_of",
    "read_curve",
    "rounded",
]

By = Literal["onset", "dto", "overlap"]

#: Neighbouring strengths around an event are at most this far apart.
RESOLUTION = 1.05
#: A rise of distortion between two such neighbours, as a share of all that the model explains. In a
#: linear VAE each kept latent adds beta / 2 to the distortion, which rises by at most ln 1.05.
JUMP = 0.2
#: Latents that go before the model has lost this share of what it explains were not needed.
SPARE_LOSS = 0.1
#: With spare latents that are gone at any beta, look this far below over-pruning. The geometric
#: middle is then a tenth of it, where the weakest needed latent of a linear VAE has posterior
#: variance 0.1: just active by bonheme2023's rule.
REACH = 100.0
#: Without spare latents, one decade: zietlow2022 section 3.3.6 has the best beta in the order of
#: magnitude of the onset, and onset is over-pruning then, so that it must stay below.
DECADE = 10.0


@dataclass(frozen=True)
class CurvePoint:
    """A model after its short run at one beta."""

    beta: float
    mean_variance: tuple[float, ...]  # of each latent's posterior, over the examples
    active: int  # latents in use: all that are not passive, as in zietlow2022's closed form
    mixed: int  # of these, how many bonheme2023's rule calls mixed
    distortion: float
    distortion_error: float  # standard error of that over the examples
    dto: float | None  # over the latents in use; None for fewer than two
    steps: int
    settled: bool
    start: float | None  # the beta whose weights it began with; None: from scratch
    effective_number: float | None = None  # of examples that share a code: `decomposition.overlap`
    rows: int | None = None  # examples that were measured; None in folders of older versions
    drift: float | None = None  # of log effective_number, by the variances, in the last round

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "mean_variance": list(self.mean_variance)}


@dataclass(frozen=True)
class Event:
    """Something that has happened at `above` and not yet at `below`."""

    below: float | None  # None: at the lowest beta that was tried it had happened already
    above: float

    @property
    def beta(self) -> float:
        """The geometric mean of the two, or the lowest beta, which is then an upper bound."""
        return self.above if self.below is None else math.sqrt(self.below * self.above)


@dataclass(frozen=True)
class Needed:
    """How many latents the data need, and how that is known."""

    latents: int
    source: Literal["given", "factors", "curve"]

    def summary(self) -> str:
        are = "1 latent is" if self.latents == 1 else f"{self.latents} latents are"
        return {
            "given": f"{are} needed, as given.",
            "factors": f"{are} needed, one for each factor of the data.",
            "curve": f"{are} needed: with fewer, the model loses more than {SPARE_LOSS:.0%} of "
            "what it explains.",
        }[self.source]


@dataclass(frozen=True)
class CurveReading:
    """The events of a curve and the strength to use; None for what was not found."""

    needed: Needed
    onset: Event | None
    over_pruning: Event | None
    over_pruning_by: Literal["latents", "reconstruction"] | None
    only_needed: Event | None  # from here on no spare latent is in use
    beta: float | None
    notes: tuple[str, ...]


def _span(curve: Sequence[CurvePoint]) -> float:
    """All the distortion that the model can save."""
    values = [point.distortion for point in curve]
    return max(values) - min(values)


def event_of(curve: Sequence[CurvePoint], happened: Callable[[CurvePoint], bool]) -> Event | None:
    """After the last point where it had not: a latent that is dead does not come back, one that
    is not yet there at a low beta has not been learnt."""
    before = [place for place, point in enumerate(curve) if not happened(point)]
    if not before:
        return Event(None, curve[0].beta)
    if before[-1] == len(curve) - 1:
        return None
    return Event(curve[before[-1]].beta, curve[before[-1] + 1].beta)


def loses_a_tenth(curve: Sequence[CurvePoint]) -> Event | None:
    """Where the model has lost `SPARE_LOSS` of what it explains."""
    limit = min(point.distortion for point in curve) + SPARE_LOSS * _span(curve)
    return event_of(curve, lambda point: point.distortion > limit)


def needed_of(curve: Sequence[CurvePoint], *, given: int | None, factors: int | None) -> Needed:
    """As given; else one latent for each factor that the data are known to have; else as many as
    are in use before reconstruction suffers."""
    latent = len(curve[0].mean_variance)
    if given is not None:
        return Needed(min(given, latent), "given")
    if factors is not None:
        return Needed(min(factors, latent), "factors")
    limit = min(point.distortion for point in curve) + SPARE_LOSS * _span(curve)
    good = [point.active for point in curve if point.distortion <= limit]
    return Needed(max(1, min(good)), "curve")


def jumps(curve: Sequence[CurvePoint]) -> list[Event]:
    """Neighbours between which distortion rises by more than `JUMP` of what the model explains,
    and by more than chance."""
    least = JUMP * _span(curve)
    return [
        Event(low.beta, high.beta)
        for low, high in pairwise(curve)
        if high.distortion - low.distortion > max(least, 3.0 * high.distortion_error)
    ]


def read_curve(
    curve: Sequence[CurvePoint], *, by: By, given: int | None, factors: int | None
) -> CurveReading:
    """What the points say, in order of beta."""
    latent = len(curve[0].mean_variance)
    needed = needed_of(curve, given=given, factors=factors)
    onset = event_of(curve, lambda point: point.active < latent)
    lost = event_of(curve, lambda point: point.active < needed.latents)
    only_needed = event_of(curve, lambda point: point.active <= needed.latents)
    narrow = [
        jump
        for jump in jumps(curve)
        if jump.above <= RESOLUTION * _below(jump) and (lost is None or jump.above < lost.above)
    ]
    over = narrow[0] if narrow else lost
    beta, reasons = _RULES[by](curve, needed.latents, only_needed, over)
    # Overlap is looked for elsewhere than passive latents are: their absence then says nothing.
    remarks = [] if by == "overlap" else _remarks(curve, latent, needed, onset, over)
    return CurveReading(
        needed, onset, over,
        None if over is None else "reconstruction" if narrow else "latents",
        only_needed, beta,
        (*remarks, *_unsettled(curve), *reasons),
    )  # fmt: skip


def _below(event: Event) -> float:
    assert event.below is not None
    return event.below


def _remarks(
    curve: Sequence[CurvePoint],
    latent: int,
    needed: Needed,
    onset: Event | None,
    over: Event | None,
) -> list[str]:
    """What a reader must know to read the numbers."""
    notes = []
    if needed.latents >= latent:
        notes.append(
            f"latent={latent} leaves no spare latent: the first passive one was needed, so onset "
            "is over-pruning. Raise latent to see spare ones become passive first."
        )
    elif onset is not None and onset.below is None:
        notes.append(
            f"At the lowest beta, {onset.above:g}, a latent is already passive: onset is there or "
            "below."
        )
    if over is not None and over.below is None:
        notes.append(
            f"Even at the lowest beta, {over.above:g}, fewer latents are in use than the "
            f"{needed.latents} needed. Go lower with --between, train longer with --steps, or set "
            "how many are needed with --needed."
        )
    if over is None:
        notes.append(
            f"Nothing was over-pruned up to beta {curve[-1].beta:g}: go higher with --between."
        )
    return notes


def _unsettled(curve: Sequence[CurvePoint]) -> list[str]:
    moving = [point for point in curve if not point.settled]
    if not moving:
        return []
    listed = ", ".join(f"{point.beta:g}" for point in moving)
    return [f"At beta {listed} latents still changed when the run ended: raise --steps to be sure."]


Chosen = tuple[float | None, list[str]]


def _between(
    curve: Sequence[CurvePoint], needed: int, only_needed: Event | None, over: Event | None
) -> Chosen:
    """The geometric mean of the lowest and highest strength that leave just the needed latents."""
    if over is None or over.below is None:
        return None, []
    spare = len(curve[0].mean_variance) > needed
    reach = max(curve[0].beta, over.beta / (REACH if spare else DECADE))
    if only_needed is None or only_needed.above >= over.above:
        note = f"No beta was found that leaves exactly {needed} latents; the one given leaves more."
        return rounded(math.sqrt(reach * over.below)), [note]
    return rounded(math.sqrt(max(only_needed.above, reach) * over.below)), []


def _least_dto(
    curve: Sequence[CurvePoint], needed: int, only_needed: Event | None, over: Event | None
) -> Chosen:
    """The point of least DtO among those with just the needed latents: DtO grows with their
    number, so that it cannot be compared between numbers."""
    end = math.inf if over is None else over.above
    fit = {
        point.dto: point.beta
        for point in curve
        if point.active == needed and point.beta < end and point.dto is not None
    }
    if fit:
        return fit[min(fit)], []
    beta, reasons = _between(curve, needed, only_needed, over)
    note = f"No point with {needed} latents has a DtO, so the middle is taken."
    return beta, [*reasons, note]


def _elsewhere(*_: Any) -> Chosen:
    """Overlap knows nothing of latents in use: `tuning.overlap.read_overlap` chooses."""
    return None, []


_RULES: dict[By, Callable[..., Chosen]] = {
    "onset": _between,
    "dto": _least_dto,
    "overlap": _elsewhere,
}


def rounded(beta: float) -> float:
    return float(f"{beta:.3g}")
