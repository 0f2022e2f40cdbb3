"""How near a study's table is to the paper's own settings, and what a few units of those say or
would cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from vaescope.studies.likeness import ASPECTS, likeness
from vaescope.studies.running import Outcome
from vaescope.studies.study import Study

__all__ = ["Spot", "spot_section", "spot_sentence"]

_MARKS = {"all": "yes", "some": "in part", "none": ""}


@final
@dataclass(frozen=True)
class Spot:
    """A few units at the paper's own scale, if they were run, and what one of them costs."""

    outcome: Outcome | None = None
    core_hours: float | None = None  # of one unit, its runs trained one by one

    def words(self) -> str:
        if self.outcome is not None:
            return _checked(self.outcome)
        if self.core_hours is None:
            return "none, and what one unit would cost is not known"
        if not self.core_hours:
            return "none: it trains no network"
        return f"none: one unit would take about {_hours(self.core_hours)}"


def _hours(core_hours: float) -> str:
    if core_hours < 1.0:
        return f"{60.0 * core_hours:.0f} minutes of a core"
    return f"{core_hours:.0f} hours of a core" if core_hours >= 1.5 else "an hour of a core"


def spot_sentence(study: Study, spot: Spot) -> str:
    """For a study's page: which settings are those of paper scale, and whether it was tried."""
    like = likeness(study)
    checked = f"Spot check at paper scale: {spot.words()}."
    if like is None:
        inside = "because the study trains within its computations"
        return f"Not compared with `paper` scale by settings, {inside}. {checked}"
    if set(like.values()) == {"all"}:
        return "These are the settings of the `paper` scale."
    parts = []
    for words, wanted in (("As at `paper` scale", "all"), ("in part", "some"), ("not", "none")):
        names = [name for name, found in like.items() if found == wanted]
        if names:
            parts.append(f"{words}: {', '.join(names)}")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}. {checked}"


def spot_section(studies: Sequence[tuple[Study, Spot]]) -> list[str]:
    """For the scoreboard: every study of trained models whose table is of its present settings."""
    names = list(ASPECTS)
    lines = [
        "## How near to the papers' own settings",
        "",
        "Which settings of one unit are those of the study's `paper` scale, compared as numbers: "
        "the same strength has less weight on larger images. Data and networks are the same only "
        "if images and layers are. What a paper leaves open is our choice at that scale too, as "
        "is everything in our own questions. A spot check is a few units at that scale, which do "
        "not vote. Costs are estimated on the machine of the tables from a few timed steps, for "
        "runs that train one by one, without the time for measuring. A question mark: the study "
        "trains "
        "within its computations.",
        "",
        f"| study | {' | '.join(names)} | spot check |",
        "|" + "---|" * (len(names) + 2),
    ]
    whole = 0
    for study, spot in studies:
        like = likeness(study)
        same = like is not None and set(like.values()) == {"all"}
        whole += same
        marks = ["?" if like is None else _MARKS[like.get(name, "none")] for name in names]
        said = "the table itself" if same else spot.words()
        lines.append(f"| {study.id} | {' | '.join(marks)} | {said} |")
    checked = sum(spot.outcome is not None for _, spot in studies)
    lines += [
        "",
        f"Of {len(studies)} studies {whole} have all of these settings, {checked} have a spot "
        f"check, and {len(studies) - whole - checked} have neither: we do not know what they "
        "would show at the paper's scale.",
        "",
    ]
    return lines


def _checked(spot: Outcome) -> str:
    """The votes of a few units for and against the primary claim."""
    found = [v for v in spot.verdicts() if v.claim.primary]
    said = []
    for verdict in found:
        count, effect = verdict.count, verdict.effect
        number = "" if effect is None else f", {effect:.3g} on average"
        said.append(
            f"{count.votes_for} for and {count.against} against of {count.units} units{number}"
        )
    return "; ".join(said)
