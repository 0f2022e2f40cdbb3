"""A study as one page: its verdicts, its figure, its runs."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from matplotlib import rc_context

from vaescope.figures.palette import INK, MUTED, SERIES, SERIES_DARK
from vaescope.figures.studies import draw_study
from vaescope.report.page import (
    Column,
    Fact,
    Page,
    PageStatement,
    PageTable,
    Picture,
    Pictures,
    Prose,
    Section,
)
from vaescope.report.render import write_page
from vaescope.studies.claim_verdict import ClaimVerdict, Judgement
from vaescope.studies.running import Outcome
from vaescope.studies.study import Study
from vaescope.tables import Table as Runs

__all__ = ["figure_png", "figure_svg", "save_study", "study_page"]

_TONES: dict[Judgement, Literal["good", "note", "warning"]] = {
    "supported": "good", "undecided": "note", "contradicted": "warning", "not specific": "note",
}  # fmt: skip


def save_study(
    study: Study, outcome: Outcome, verdicts: Sequence[ClaimVerdict], path: Path
) -> None:
    """Writes the page of a study."""
    write_page(study_page(study, outcome, verdicts), path)


def figure_png(study: Study, outcome: Outcome, *, dpi: int = 200) -> bytes:
    """The study's figure."""
    buffer = io.BytesIO()
    figure = draw_study(study.panels, outcome.table, outcome.pictures, study.claims)
    figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    return buffer.getvalue()


#: Colours of a figure in the dark, by what they are in the light; its style sheet names them.
_DARK = {
    INK: "#E6E9EE", MUTED: "#98A1AB", "#FFFFFF": "#14181D",
    **dict(zip(SERIES, SERIES_DARK, strict=True)),
}  # fmt: skip
_NAMES = ("ink", "muted", "paper", *(f"series-{i}" for i in range(len(SERIES))))


def _variables(colours: Iterable[str]) -> str:
    return ";".join(f"--{name}:{one.lower()}" for name, one in zip(_NAMES, colours, strict=True))


_STYLE = (
    f"<style>:root{{{_variables(_DARK)}}}"
    f"@media(prefers-color-scheme:dark){{:root{{{_variables(_DARK.values())}}}}}"
    "text{font-family:sans-serif}</style>"
)


def figure_svg(study: Study, outcome: Outcome) -> str:
    """The study's figure for the web: it follows light and dark, and its words are text."""
    buffer = io.StringIO()
    figure = draw_study(study.panels, outcome.table, outcome.pictures, study.claims)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": study.id}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    for name, colour in zip(_NAMES, map(str.lower, _DARK), strict=True):
        text = text.replace(colour, f"var(--{name},{colour})")
    head, mark, body = text.partition("<defs>")
    return f"{head}{_STYLE}{mark}{body}"


def study_page(study: Study, outcome: Outcome, verdicts: Sequence[ClaimVerdict]) -> Page:
    """All that a study shows."""
    counts = {kind: sum(v.verdict == kind for v in verdicts) for kind in _TONES}
    runs = outcome.table
    seeds = max((v.seeds for v in verdicts), default=0)
    facts = (
        *(Fact(kind, str(count), f"of {len(verdicts)} claims") for kind, count in counts.items()),
        Fact("rows", f"{len(runs):,}", f"up to {seeds} {'seed' if seeds == 1 else 'seeds'}"),
    )
    said = "About the laptop-scale run whose table is in docs/results, not about this run."
    found = (Section("found", "What we found", said, (Prose(study.found),)),)
    versions = ", ".join(f"{name} {number}" for name, number in outcome.versions.items())
    return Page(
        f"{study.id}: {study.title}",
        f"{study.paper}, {outcome.scale} scale.",
        facts,
        tuple(_statement(verdict) for verdict in verdicts),
        (
            Section("figure", "Figure", "Redrawn from our runs.", (_figure(study, outcome),)),
            Section("about", "What was run", "", (Prose(study.about),)),
            *(found if study.found else ()),
            Section("claims", "Claims as a table", _RULE, (_claims(verdicts),), open=False),
            Section("runs", "Rows", "One for each cell.", (_rows(study, runs),), open=False),
        ),
        (
            f"Work {outcome.digest[:16]}; {versions}; {outcome.machine}. This file loads nothing "
            "from the network.",
        ),
    )  # fmt: skip


_RULE = (
    "A claim is about the majority of units, usually seeds. Votes are weighed by an e-process "
    "that is valid at any number of units; docs/studies.md has the rule. Intervals describe the "
    "mean effect; verdicts do not depend on them."
)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def _spread(verdict: ClaimVerdict) -> str:
    if verdict.interval is None:
        return "No interval of the mean effect"
    ends = " to ".join(_number(end) for end in verdict.interval)
    return f"95% interval of the mean effect: {ends}"


def _statement(verdict: ClaimVerdict) -> PageStatement:
    claim = verdict.claim
    more = f"{verdict.why.capitalize()}." if verdict.why else ""
    if claim.substituted:
        more = f"{more} Substituted: {claim.substituted}.".strip()
    paper = f". The paper: {claim.paper}" if claim.paper else ""
    return PageStatement(
        _TONES[verdict.verdict],
        _number(verdict.effect),
        f"{verdict.verdict.capitalize()}: {claim.says} [{claim.where}]",
        f"{verdict.votes()}; {verdict.registered}. {claim.words()}. {_spread(verdict)}{paper}",
        more,
        "figure",
    )


def _claims(verdicts: Sequence[ClaimVerdict]) -> PageTable:
    columns = (
        Column("claim"), Column("place"), Column("verdict"), Column("measured"),
        Column("votes"), Column("e", "number", 4), Column("effect", "number", 4),
        Column("low", "number", 4), Column("high", "number", 4), Column("paper"),
        Column("substituted"),
    )  # fmt: skip
    rows = tuple(
        (
            v.claim.says, v.claim.where, v.verdict, v.claim.words(), v.votes(), v.e, v.effect,
            *(v.interval or (None, None)), v.claim.paper, v.claim.substituted,
        )
        for v in verdicts
    )  # fmt: skip
    return PageTable("claims", "Every claim with its effect and interval.", columns, rows)


_CAPTION = (
    "Dots are runs, lines means over seeds with 95% intervals; diamonds are the paper's numbers, "
    "dashed lines thresholds of claims."
)


def _figure(study: Study, outcome: Outcome) -> Pictures:
    titles = "; ".join(panel.title for panel in study.panels)
    picture = Picture(figure_png(study, outcome), f"Panels: {titles}.")
    return Pictures(_CAPTION, (picture,), "wide")


def _rows(study: Study, runs: Runs) -> PageTable:
    numbers = {
        name: any(isinstance(v, int | float) for v in values)
        for name, values in runs.columns.items()
    }
    columns = tuple(
        Column(name, "number" if number else "text", 4) for name, number in numbers.items()
    )
    rows = tuple(tuple(row.values()) for row in runs.rows())
    return PageTable(study.id.replace("/", "-"), "Settings and results.", columns, rows)
