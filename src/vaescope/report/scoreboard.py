"""Studies as Markdown: a page for each, and the scoreboard of all claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from vaescope.report.spot_lines import Spot, spot_section, spot_sentence
from vaescope.studies.catalogue import LOOKED, OUTDATED, REVISED
from vaescope.studies.claim_verdict import ALPHA, ClaimVerdict, Judgement
from vaescope.studies.claims import Claim
from vaescope.studies.coverage import COVERAGE, Covered
from vaescope.studies.registry import Registration, voting_units
from vaescope.studies.running import Outcome
from vaescope.studies.study import Study

__all__ = ["Judged", "coverage_lines", "scoreboard", "study_text"]

_KINDS: tuple[Judgement, ...] = ("supported", "contradicted", "not specific", "undecided")
_RULE = (
    "A claim is about the majority of units, usually seeds. Each unit is for it, against it or "
    "neither (a tie, no number). The votes are weighed by an e-process, valid at any number of "
    "units and for any distribution: e = 600 means that such votes are 600 times as likely if "
    "most units agree with the claim (averaged over the shares above one half) as if half do. A "
    "claim is **supported** or **contradicted** if its e is large enough for its family, **not "
    "specific** if a control, in which the mechanism is absent, shows the same, and otherwise "
    "**undecided**. Support also requires a stronger effect than in the control, unit by unit. A "
    "unit is against a claim of several parts if it is against any part; the claim's e is that of "
    "its weakest part for support, and the mean of its parts' e for contradiction."
)


@final
@dataclass(frozen=True)
class Judged:
    """A study, its table, how that was registered, and the verdicts of its claims."""

    study: Study
    outcome: Outcome | None
    registered: str
    verdicts: Sequence[ClaimVerdict]
    listed: bool = True  # in the registry, in this version or an earlier one
    spot: Spot | None = None  # at the paper's own scale

    @property
    def present(self) -> bool:
        """Whether its table is of the study's present settings."""
        return self.outcome is not None and self.outcome.digest == self.study.digest("laptop")

    @property
    def units_of_cap(self) -> str:
        """How many units were run, where an undecided claim may still have more."""
        if self.outcome is None:
            return ""
        ran, cap = len(voting_units(self.study, self.outcome.table)), self.study.cap
        return f"; {ran} of at most {cap} units were run" if ran < cap else f"; at its cap of {cap}"

    @property
    def counts(self) -> bool:
        """Whether its claims are evidence: registered before their units were run."""
        return self.outcome is not None and self.registered != "re-analysed"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _line(*cells: str) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _header(*names: str) -> list[str]:
    return [_line(*names), "|" + "---|" * len(names)]


def _stem(study: Study) -> str:
    return study.id.replace("/", "-")


def _link(study: Study) -> str:
    return f"[{study.id}](studies/{_stem(study)}.md)"


def _number(verdict: ClaimVerdict) -> str:
    if verdict.effect is None:
        return "none"
    spread = "" if verdict.interval is None else " ({:.3g} to {:.3g})".format(*verdict.interval)
    part = "first part: " if len(verdict.claim.tests) > 1 else ""
    return f"{part}{verdict.effect:.3g}{spread}"


def _says(claim: Claim) -> str:
    return f"{claim.says} *{claim.remark}*" if claim.remark else claim.says


def _control(verdict: ClaimVerdict) -> str:
    claim, votes = verdict.claim, verdict.control
    if claim.control is None:
        return "none"
    if votes is None or votes.units == 0 or "lacks its control" in verdict.why:
        return f"{claim.control.shown}: not measured"
    if votes.votes_for + votes.against == 0:  # equal arms, or no number in any unit
        return (
            f"{claim.control.shown}: neither for nor against in all {votes.units}, so that it "
            "tests nothing"
        )
    return f"{claim.control.shown}: {votes.votes_for} for, {votes.against} against"


def _claims(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    lines = _header(
        "verdict", "votes", "claim", "place", "measured", "effect", "control", "the paper",
        "substituted",
    )  # fmt: skip
    for v in verdicts:
        mark = " (primary)" if v.claim.primary else ""
        word = f"**{v.verdict}**{mark}" + (f": {v.why}" if v.why else "")
        lines.append(
            _line(
                word,
                v.votes(),
                _says(v.claim),
                v.claim.where,
                v.claim.words(),
                _number(v),
                _control(v),
                v.claim.paper,
                v.claim.substituted,
            )
        )
    return lines


def _formulas(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    lines = _header("formula", "place", "checked", "holds in")
    for v in verdicts:
        holds = f"{v.count.votes_for} of {v.seeds}" if v.seeds else "not run"
        lines.append(_line(v.claim.says, v.claim.where, v.claim.words(), holds))
    return lines


def _older(judged: Judged) -> list[str]:
    """What to know about a table that was made before its claims were registered."""
    if judged.registered != "re-analysed" or judged.study.formulas_only:
        return []
    changed = OUTDATED.get(judged.study.id)
    since = f" Since it was made, {changed}." if changed else ""
    made = (
        "this table was made before the claims below were registered"
        if judged.listed
        else "the claims below are not registered yet"
    )
    return [
        f"**Re-analysed**: {made}, so its verdicts are not evidence, and columns that the "
        "verdicts need may be missing. The text below describes the present version of the "
        f"study.{since} The study has not been run again yet.",
        "",
    ]


def _registered(status: str) -> str:
    if status == "re-analysed":
        return "Re-analysed."
    revised = f" ({status})" if status.startswith("revised") else ""
    return f"Registered before the units were run{revised}."


def study_text(judged: Judged) -> str:
    """The page of one study; its figure lies beside it under the same name."""
    study, outcome = judged.study, judged.outcome
    assert outcome is not None
    stem = _stem(study)
    versions = ", ".join(f"{name} {number}" for name, number in outcome.versions.items())
    evidence = [v for v in judged.verdicts if v.claim.kind != "identity"]
    formulas = [v for v in judged.verdicts if v.claim.kind == "identity"]
    lines = [
        f"# {study.id}: {study.title}",
        "",
        f"![{stem}]({stem}.svg)",
        "",
        *_older(judged),
        *(line for v in evidence if v.claim.quote for line in (f"> {v.claim.quote}", "")),
        study.about,
        "",
    ]
    if evidence and judged.present:
        lines += [spot_sentence(study, judged.spot or Spot()), ""]
    if evidence:
        lines += ["## Claims", "", _registered(judged.registered), "", *_claims(evidence), ""]
    if formulas:
        lines += ["## Formulas checked", "", *_formulas(formulas), ""]
    if study.found:
        lines += ["## What was found", "", study.found, ""]
    return "\n".join(
        [
            *lines,
            f"Made by `python scripts/studies.py --run {study.id}` at {outcome.scale} scale: "
            f"{len(outcome.table):,} rows, work {outcome.digest[:16]}; {versions}; "
            f"{outcome.machine}. The table is [{stem}.json]({stem}.json).",
            "",
        ]
    )


def scoreboard(
    judged: Sequence[Judged], lines: Sequence[Registration], gone: Sequence[ClaimVerdict]
) -> str:
    """All claims with their verdicts: what counts, what was re-analysed, and what has not run."""
    trained = [j for j in judged if not j.study.formulas_only]
    older = sum(j.registered == "re-analysed" for j in trained)
    machines = "; ".join(sorted({j.outcome.machine for j in judged if j.outcome is not None}))
    text = [
        "# Do the papers' claims hold?",
        "",
        "![Primary claims by paper and verdict](index.svg)",
        "",
        f"{_headline(trained, own=False)} {_headline(trained, own=True)}{_optima(trained)} The "
        f"others have not: {older} of {len(trained)} studies show an older table, re-analysed by "
        "the same rule and not counted."
        + (f" {len(gone)} more {'was' if len(gone) == 1 else 'were'} withdrawn." if gone else ""),
        "",
        _RULE,
        "",
        f"The primary claims of a paper together have a chance of {ALPHA:.0%} of even one wrong "
        f"verdict, its other claims a false discovery rate of {ALPHA:.0%}; each of the five "
        f"papers is such a family, and so are our own claims. Laptop scale on CPU ({machines}): "
        "results may differ at the papers' scale. Made by `python scripts/studies.py` from the "
        "tables in `studies/` and the [registry](registry.jsonl).",
        "",
    ]
    for family in dict.fromkeys(v.family for j in trained for v in j.verdicts):
        text += [f"## {_HEADINGS.get(family, family)}", "", *_primaries(trained, family), ""]
    if gone:
        text += ["## Withdrawn", "", "Registered, then withdrawn; they stay undecided.", ""]
        text += [f"- {v.claim.says} [{v.claim.where}]" for v in gone] + [""]
    others = [v for j in trained if j.counts for v in j.verdicts if not v.claim.primary]
    others = [v for v in others if v.claim.kind != "identity"]
    if others:
        text += ["## Other claims, registered", "", *_claims(others), ""]
    text += spot_section([(j.study, j.spot or Spot()) for j in trained if j.present])
    text += ["## Re-analysed tables", "", *_reanalysed(trained), ""]
    formulas = [v for j in judged for v in j.verdicts if v.claim.kind == "identity"]
    text += ["## Formulas checked", "", "These are equations, not evidence.", ""]
    text += [*_formulas(formulas), ""]
    text += [*coverage_lines(), ""]
    text += ["## What was registered", "", *_registrations(lines), ""]
    known = {line.study for line in lines}
    text += [f"- {name}, revised: {why}." for name, why in REVISED.items() if name in known]
    stated = "Units of earlier registrations do not vote; they had no results unless stated."
    text += ["", stated, ""]
    text += ["## What was changed after looking at results", "", _LOOKED, ""]
    text += [f"- {name}: {what}." for name, what in LOOKED.items()]
    return "\n".join([*text, ""])


def coverage_lines() -> list[str]:
    """What nothing tests yet, or not wholly; then every other row with what tests it."""
    left, whole = (
        [one for one in COVERAGE if bool(one.missing) == lacking] for lacking in (True, False)
    )
    untried = sum(not one.studies and not one.tests for one in left)
    return [
        "## What is missing",
        "",
        f"Of {len(COVERAGE)} tables, figures, theorems and questions of the papers {len(whole)} "
        f"have a study or a test for all that they show, {len(left) - untried} for a part of it, "
        f"and {untried} have none. A study that is listed here need not have run: see the tables "
        "above.",
        "",
        *_header("row", "tested by", "missing"),
        *(_line(one.name, _tried(one), one.missing) for one in left),
        "",
        "## What has a study or a test",
        "",
        *_header("row", "tested by"),
        *(_line(one.name, _tried(one)) for one in whole),
    ]


def _tried(one: Covered) -> str:
    return ", ".join([*one.studies, *(f"`{name}`" for name in one.tests)]) or "nothing"


#: Families that are not papers.
_HEADINGS = {"our own": "Our own claims"}
_LOOKED = (
    "These changes were made in tables from before registration, and are the reason why none of "
    "those tables counts. Registered studies have units of their own."
)


def _counted(verdicts: Sequence[ClaimVerdict]) -> str:
    counts = {kind: sum(v.verdict == kind for v in verdicts) for kind in _KINDS}
    return ", ".join(f"**{count} {kind}**" for kind, count in counts.items() if count)


def _optima(judged: Sequence[Judged]) -> str:
    """Primary claims about objectives and linear models at their optimum, counted apart."""
    run = [
        v for j in judged if j.study.at_optimum and j.counts for v in j.verdicts if v.claim.primary
    ]
    if not run:
        return ""
    return (
        f" {len(run)} more are about objectives and linear models at their optimum, where no "
        f"network is trained: {_counted(run)}."
    )


def _headline(judged: Sequence[Judged], *, own: bool) -> str:
    """How primary claims came out, of the papers or our own."""
    primary = [
        (j, v)
        for j in judged
        for v in j.verdicts
        if v.claim.primary and (v.family in _HEADINGS) == own and not j.study.at_optimum
    ]
    run = [v for j, v in primary if j.counts]
    said = _counted(run)
    whose = (
        f"Of our own {len(primary)}"
        if own
        else f"Of the papers' {len(primary)} primary claims about trained models"
    )
    have = "has" if len(run) == 1 else "have"
    defined = sum(v.claim.by_definition and v.verdict == "supported" for v in run)
    partly = f" (of the supported {defined} are partly definitions)" if defined else ""
    counted = f": {said}{partly}." if run else "."
    return f"{whose}, {len(run)} {have} run after registration{counted}"


def _primaries(judged: Sequence[Judged], family: str) -> list[str]:
    lines = _header(
        "study", "the sentence", "verdict", "our number", "the paper's", "registered", "scale",
        "substituted",
    )  # fmt: skip
    for j in judged:
        for v in j.verdicts:
            if v.family != family or not v.claim.primary:
                continue
            sentence = f'"{v.claim.quote}" ({v.claim.where})' if v.claim.quote else v.claim.says
            if v.claim.remark:
                sentence += f" *{v.claim.remark}*"
            word, number = "not run", ""
            if j.outcome is not None:
                word = f"**{v.verdict}**: {v.votes()}" + (f"; {v.why}" if v.why else "")
                word += j.units_of_cap if v.verdict == "undecided" and j.counts else ""
                word = word if j.counts else f"older table: {word.replace('**', '')}"
                number = f"{v.claim.words()}: {_number(v)}"
            scale = "laptop" if j.outcome is None else j.outcome.scale
            lines.append(
                _line(
                    _link(j.study) if j.outcome is not None else j.study.id,
                    sentence,
                    word,
                    number,
                    v.claim.paper,
                    "registered, not run" if j.outcome is None and j.listed else j.registered,
                    scale,
                    v.claim.substituted,
                )
            )
    return lines


def _reanalysed(judged: Sequence[Judged]) -> list[str]:
    lines = [
        "These tables were made before registration, some with settings that have been corrected "
        "since, most without controls. Their verdicts follow the same rule, in separate families:",
        "",
        *_header("study", *_KINDS, "since then"),
    ]
    for j in judged:
        if j.registered != "re-analysed":
            continue
        own = [v for v in j.verdicts if v.claim.kind != "identity"]
        counts = [str(sum(v.verdict == kind for v in own)) for kind in _KINDS]
        lines.append(_line(_link(j.study), *counts, OUTDATED.get(j.study.id, "")))
    return lines


def _registrations(registered: Sequence[Registration]) -> list[str]:
    if not registered:
        return ["Nothing yet."]
    lines = _header("date", "study", "work", "claims", "first unit", "cap", "primary claims")
    for one in sorted(registered, key=lambda one: one.date):
        lines.append(
            _line(
                one.date,
                one.study,
                one.work[:12],
                one.claims[:12],
                str(one.first),
                str(one.cap),
                str(len(one.primaries)),
            )
        )
    return lines
