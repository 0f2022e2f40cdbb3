"""Studies as Markdown: a page for each, and the scoreboard of all claims."""

from collections.abc import Sequence

from vaescope.studies.catalogue import OUTDATED
from vaescope.studies.running import Outcome
from vaescope.studies.study import Study
from vaescope.studies.verdict import ALPHA, Judgement, Verdict

__all__ = ["Judged", "scoreboard", "study_text"]

#: A study, what was found, and the verdicts of its claims.
Judged = tuple[Study, Outcome, Sequence[Verdict]]

_KINDS: tuple[Judgement, ...] = ("supported", "contradicted", "undecided")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _effect(verdict: Verdict) -> str:
    if verdict.effect is None:
        return "none"
    spread = "" if verdict.interval is None else " ({:.3g} to {:.3g})".format(*verdict.interval)
    return f"{verdict.effect:.3g}{spread}"


def _seeds(verdict: Verdict) -> str:
    if verdict.verdict != "undecided":
        return str(verdict.seeds)
    wanted = "over 10,000" if verdict.needed is None else f"{verdict.needed:,}"
    return f"{verdict.seeds} (would take {wanted})"


def _claims(verdicts: Sequence[Verdict]) -> list[str]:
    lines = [
        "| verdict | claim | place | measured | effect | seeds | the paper | substituted |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for v in verdicts:
        cells = (
            f"**{v.verdict}**", v.claim.says, v.claim.where, v.claim.words(), _effect(v),
            _seeds(v), v.claim.paper, v.claim.substituted,
        )  # fmt: skip
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return lines


def _outdated(study: Study, outcome: Outcome) -> list[str]:
    """What changed since the table was made."""
    if outcome.digest == study.digest(outcome.scale):
        return []
    return [f"**To be run again**: since this table was made, {OUTDATED[study.id]}.", ""]


def study_text(study: Study, outcome: Outcome, verdicts: Sequence[Verdict]) -> str:
    """The page of one study; its figure lies beside it under the same name."""
    stem = study.id.replace("/", "-")
    versions = ", ".join(f"{name} {number}" for name, number in outcome.versions.items())
    lines = [
        f"# {study.id}: {study.title}",
        "",
        f"Made by `python scripts/studies.py --run {study.id}` at {outcome.scale} scale: "
        f"{len(outcome.table):,} rows, work {outcome.digest[:16]}; {versions}; {outcome.machine}. "
        f"The table is [{stem}.json]({stem}.json).",
        "",
        *_outdated(study, outcome),
        study.about,
        "",
        f"![{stem}]({stem}.png)",
        "",
        *_claims(verdicts),
        "",
    ]
    if study.found:
        lines += ["## What was found", "", study.found, ""]
    return "\n".join(lines)


def scoreboard(judged: Sequence[Judged], missing: Sequence[Study]) -> str:
    """All claims with their verdicts, and the studies that have not run."""
    verdicts = [verdict for _, _, own in judged for verdict in own]
    counts = {kind: sum(v.verdict == kind for v in verdicts) for kind in _KINDS}
    machines = "; ".join(sorted({outcome.machine for _, outcome, _ in judged}))
    claims = len(verdicts) + sum(len(study.claims) for study in missing)
    lines = [
        "# Do the papers' claims hold?",
        "",
        "Made by `python scripts/studies.py` from the tables in `studies/`, at laptop scale on CPU",
        f"({machines}). A claim is supported where the whole interval of its effect over seeds",
        "lies on the claimed side of a threshold that was committed before the run, contradicted",
        "where it lies on the other side, else undecided. Intervals are Student's; the chance of",
        f"even one false verdict among all {claims} claims is kept below {ALPHA:g} by Holm's",
        "levels. What holds at this scale need not hold at the papers', nor the reverse.",
        "",
        ", ".join(f"**{count} {kind}**" for kind, count in counts.items())
        + f" of {claims} claims in {len(judged) + len(missing)} studies"
        + (f"; {len(missing)} studies have not run." if missing else "."),
        "",
        "| study | supported | contradicted | undecided |",
        "|---|---|---|---|",
    ]
    for study, outcome, own in judged:
        numbers = " | ".join(str(sum(v.verdict == kind for v in own)) for kind in _KINDS)
        stem = study.id.replace("/", "-")
        mark = " (to be run again)" if outcome.digest != study.digest(outcome.scale) else ""
        lines.append(f"| [{study.id}](studies/{stem}.md) {_cell(study.title)}{mark} | {numbers} |")
    for kind in ("contradicted", "undecided", "supported"):
        own_kind = [v for v in verdicts if v.verdict == kind]
        if own_kind:
            lines += ["", f"## {kind.capitalize()}", "", *_claims(own_kind)]
    if missing:
        lines += ["", "## Not run", "", *(f"- {study.id}: {study.title}" for study in missing)]
    return "\n".join([*lines, ""])
