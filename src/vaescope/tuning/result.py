"""What came of a tune."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaescope.notebook_card import bars_of, card_of
from vaescope.tuning.curve import By, CurvePoint, CurveReading, Event, Needed
from vaescope.tuning.overlap import END, OverlapReading

__all__ = ["Tuning", "tuning_of"]


@dataclass(frozen=True, eq=False)
class Tuning:
    """The strength to use, the range it lies in, and the curve that says so."""

    beta: float | None
    onset: float | None  # the first passive latent
    over_pruning: float | None  # fewer in use than needed, or a jump in reconstruction
    reading: CurveReading
    curve: tuple[CurvePoint, ...]
    check: CurvePoint | None  # a run from scratch at `beta`
    by: By
    notes: tuple[str, ...]
    folder: Path
    overlap: OverlapReading | None = None  # by overlap only

    @property
    def needed(self) -> Needed:
        return self.reading.needed

    def summary(self) -> str:
        """A few lines: the value, the two ends, and what to know about them."""
        found = self.reading
        first = (
            "No beta is recommended."
            if self.beta is None
            else f"Use objective.beta={self.beta:g}, {self._place(self.beta)}."
        )
        ends = (
            f"Onset (first passive latent): {_told(found.onset)}. Over-pruning, "
            f"{_cause(found)}: {_told(found.over_pruning)}."
        )
        if self.overlap is not None:
            return "\n".join([first, *_shared(self.overlap), *self.notes])
        return "\n".join([first, ends, found.needed.summary(), *self.notes])

    def _place(self, beta: float) -> str:
        """Where the value lies, in words."""
        if self.by == "dto":
            return "where the distance to orthogonality is least"
        if self.overlap is not None:
            number = f"{self.overlap.target:,.4g} of {self.overlap.n:,} data points"
            return f"where {number} share a code (not calibrated)"
        if self.onset is not None and self.onset <= beta:
            return "between onset and over-pruning"
        return "below over-pruning" + (" and onset" if self.onset is not None else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the curve in order of beta."""
        found = self.reading
        return {
            "beta": self.beta,
            "onset": self.onset,
            "over_pruning": self.over_pruning,
            "by": self.by,
            "needed": found.needed.latents,
            "needed_from": found.needed.source,
            "over_pruning_by": found.over_pruning_by,
            "onset_between": _ends(found.onset),
            "over_pruning_between": _ends(found.over_pruning),
            "overlap": None if self.overlap is None else self.overlap.to_dict(),
            "notes": list(self.notes),
            "check": None if self.check is None else self.check.to_dict(),
            "curve": [point.to_dict() for point in self.curve],
            "folder": str(self.folder),
        }

    def _repr_html_(self) -> str:
        return card_of(
            self,
            bars_of(
                {f"beta {point.beta:.3g}": float(point.active) for point in self.curve},
                "latents in use",
            ),
        )


def _shared(found: OverlapReading) -> list[str]:
    lookup = f"A lookup table, fewer than {END:g} data points to a code, until"
    return [
        f"{lookup}: {_told(found.lookup)}. Lost, more than one in {END:g} of all, from: "
        f"{_told(found.lost)}.",
        found.reason,
    ]


def _ends(event: Event | None) -> list[float | None] | None:
    return None if event is None else [event.below, event.above]


def _told(event: Event | None) -> str:
    if event is None:
        return "not found"
    if event.below is None:
        return f"at or below beta {event.above:g}"
    return f"beta {event.beta:.3g} (between {event.below:.3g} and {event.above:.3g})"


def _cause(found: CurveReading) -> str:
    if found.over_pruning_by == "reconstruction":
        return "a jump in reconstruction"
    return f"fewer latents in use than the {found.needed.latents} needed"


def tuning_of(
    curve: Sequence[CurvePoint],
    reading: CurveReading,
    check: CurvePoint | None,
    by: By,
    folder: Path,
    *,
    overlap: OverlapReading | None = None,
) -> Tuning:
    """The result of a curve that is complete."""
    notes = list(reading.notes)
    if overlap is not None:
        notes += overlap.notes
    if check is not None and overlap is not None:
        notes.append(_checked_overlap(check, overlap))
    elif check is not None:
        notes.append(_checked(check, reading.needed.latents))
    return Tuning(
        reading.beta if overlap is None else overlap.beta,
        None if reading.onset is None else reading.onset.beta,
        None if reading.over_pruning is None else reading.over_pruning.beta,
        reading, tuple(curve), check, by, tuple(notes), folder, overlap,
    )  # fmt: skip


def _checked(check: CurvePoint, needed: int) -> str:
    count = f"{check.active} latent{'s' * (check.active != 1)} in use"
    found = f"a run from scratch at beta {check.beta:g} has {count}"
    if check.active == needed:
        return f"Checked: {found}."
    return (
        f"Doubt: {found}, not {needed}. Runs of the curve begin with the weights of the beta "
        "below; train a few seeds in full before relying on this value."
    )


def _checked_overlap(check: CurvePoint, wanted: OverlapReading) -> str:
    number = check.effective_number or 0.0
    found = f"in a run from scratch at beta {check.beta:g} {number:,.4g} data points share a code"
    if wanted.target / END <= number <= wanted.target * END:
        return f"Checked: {found}."
    return (
        f"Doubt: {found}, not {wanted.target:,.4g}. Runs of the curve begin with the weights of "
        "the beta below; train a few seeds in full before relying on this value."
    )
