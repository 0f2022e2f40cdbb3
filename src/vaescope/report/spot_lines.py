"""How near a study's table is to the paper's own settings, and what a few units of those say."""

from collections.abc import Sequence

from vaescope.studies.likeness import ASPECTS, likeness
from vaescope.studies.running import Outcome
from vaescope.studies.study import Study

__all__ = ["spot_section", "spot_sentence"]

_MARKS = {"all": "yes", "some": "in part", "none": ""}


def spot_sentence(study: Study, spot: Outcome | None) -> str:
    """For a study's page: which settings are those of paper scale, and whether it was tried."""
    like = likeness(study)
    checked = f"Spot check at paper scale: {_checked(spot)}."
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


def spot_section(studies: Sequence[tuple[Study, Outcome | None]]) -> list[str]:
    """For the scoreboard: every study of trained models whose table is of its present settings."""
    names = list(ASPECTS)
    lines = [
        "## How near to the papers' own settings",
        "",
        "Which settings of one unit are those of the study's `paper` scale, compared as numbers: "
        "the same strength has less weight on larger images. Data and networks are the same only "
        "if images and layers are. What a paper leaves open is our choice at that scale too, as "
        "is everything in our own questions. A spot check is a few units at that scale, which do "
        "not vote. A question mark: the study trains within its computations.",
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
        said = "the table itself" if same else _checked(spot)
        lines.append(f"| {study.id} | {' | '.join(marks)} | {said} |")
    checked = sum(spot is not None for _, spot in studies)
    lines += [
        "",
        f"Of {len(studies)} studies {whole} have all of these settings, {checked} have a spot "
        f"check, and {len(studies) - whole - checked} have neither: we do not know what they "
        "would show at the paper's scale.",
        "",
    ]
    return lines


def _checked(spot: Outcome | None) -> str:
    """The votes of a few units for and against the primary claim."""
    if spot is None:
        return "none"
    found = [v for v in spot.verdicts() if v.claim.primary]
    said = []
    for verdict in found:
        count, effect = verdict.count, verdict.effect
        number = "" if effect is None else f", {effect:.3g} on average"
        said.append(
            f"{count.votes_for} for and {count.against} against of {count.units} units{number}"
        )
    return "; ".join(said)
