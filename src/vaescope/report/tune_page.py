"""The curve of a tune as one offline page."""

from pathlib import Path
from typing import Any

from vaescope import __version__
from vaescope.report.page import (
    Column,
    Fact,
    Figure,
    Page,
    PageStatement,
    PageTable,
    Prose,
    Section,
)
from vaescope.report.render import write_page
from vaescope.tuning import Tuning
from vaescope.tuning.overlap import END

__all__ = ["save_tuning", "tuning_page"]

_COLOURS = ["var(--mixed)", "var(--warning)", "var(--active)"]
_DASHES = [[2, 3], [8, 4], [1, 0]]


def save_tuning(found: Tuning, path: Path) -> None:
    """Writes the page."""
    write_page(tuning_page(found), path)


def tuning_page(found: Tuning) -> Page:
    """Curves over beta, the choice, and what to know of them."""
    why = found.needed.summary() if found.overlap is None else found.overlap.reason
    sections = (
        Section(
            "variance", "Latents",
            "Mean posterior variance of each latent: near 0 the latent is used, at 1 its "
            "posterior is the prior.",
            (_variances(found),),
        ),
        Section(
            "curve", "Curve",
            "Distortion, latents in use (not passive), distance to orthogonality, and how many "
            "data points share a code.",
            (_measures(found),),
        ),
        Section(
            "notes", "What to know", "How to read these numbers.",
            tuple(Prose(note) for note in (why, *found.notes)),
        ),
    )  # fmt: skip
    steps = sum(point.steps for point in found.curve)
    return Page(
        "Which beta",
        f"{len(found.curve)} short runs upwards over beta, {steps:,} steps in all, one seed.",
        _facts(found), (_statement(found),), sections,
        (f"Made by vaescope {__version__}. This file loads nothing from the network.",),
    )  # fmt: skip


def _number(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else f"{value:.3g}"


def _marks(found: Tuning) -> dict[str, float | None]:
    """The two ends that the rule looks at, and the value."""
    if found.overlap is None:
        ends = {"onset": found.onset, "over-pruning": found.over_pruning}
    else:
        lookup, lost = found.overlap.lookup, found.overlap.lost
        ends = {
            "end of the lookup table": None if lookup is None else lookup.beta,
            "lost": None if lost is None else lost.beta,
        }
    return {**ends, "recommended": found.beta}


def _facts(found: Tuning) -> tuple[Fact, ...]:
    if found.overlap is not None:
        first, second, _ = _marks(found).values()
        shared = f"{found.overlap.target:,.4g} of {found.overlap.n:,} share a code"
        return (
            Fact("recommended beta", _number(found.beta), "by overlap, not calibrated"),
            Fact("lookup table", _number(first), f"until {END:g} share a code"),
            Fact("lost", _number(second), f"1 in {END:g} of all share a code"),
            Fact("wanted", f"{found.overlap.target:,.4g}", shared),
        )
    onset = found.reading.onset
    bound = "or below: " if onset is not None and onset.below is None else ""
    return (
        Fact("recommended beta", _number(found.beta), f"by {found.by}"),
        Fact("onset", _number(found.onset), f"{bound}first passive latent"),
        Fact("over-pruning", _number(found.over_pruning), f"fewer than {found.needed.latents}"),
        Fact("latents", str(len(found.curve[0].mean_variance)), f"{found.needed.latents} needed"),
    )


def _statement(found: Tuning) -> PageStatement:
    doubt = found.beta is None or any(note.startswith("Doubt") for note in found.notes)
    first, ends, *_ = found.summary().splitlines()
    within = "has that overlap within a factor of two"
    uses = "uses the needed latents" if found.overlap is None else within
    return PageStatement(
        "warning" if doubt else "good", _number(found.beta), first,
        f"Good if a run from scratch there {uses}", ends, "notes",
    )  # fmt: skip


def _rules(found: Tuning) -> dict[str, Any]:
    """Vertical lines at the three strengths, those that there are."""
    marks = _marks(found)
    there = [{"mark": name, "at": beta} for name, beta in marks.items() if beta is not None]
    return {
        "data": {"values": there},
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "color": {
                "field": "mark", "type": "nominal",
                "legend": {"title": None, "symbolType": "stroke", "symbolStrokeWidth": 3},
                "scale": {"domain": list(marks), "range": _COLOURS},
            },
            "strokeDash": {
                "field": "mark", "type": "nominal",
                "scale": {"domain": list(marks), "range": _DASHES},
            },
        },
    }  # fmt: skip


_X = {
    "field": "beta", "type": "quantitative", "title": "beta", "scale": {"type": "log"},
    "axis": {"grid": False, "tickCount": 5, "format": "~g"},
}  # fmt: skip


def _line(field: str, **more: Any) -> dict[str, Any]:
    y = {"field": field, "type": "quantitative", "title": None, "axis": {"tickCount": 4}, **more}
    return {
        "mark": {
            "type": "line",
            "strokeWidth": 1.5,
            "color": "var(--accent)",
            "point": {"size": 18, "color": "var(--accent)"},
        },
        "encoding": {"x": _X, "y": y},
    }


def _variances(found: Tuning) -> Figure:
    line = _line("mean variance")
    line["encoding"]["detail"] = {"field": "latent", "type": "nominal"}
    spec = {
        "usermeta": {"cell": 640, "most": 1},
        "height": 240,
        "layer": [line, _rules(found)],
    }
    rows = tuple(
        (point.beta, latent, variance)
        for point in found.curve
        for latent, variance in enumerate(point.mean_variance)
    )
    columns = (Column("beta", "number", 5), Column("latent", "text"))
    caption = "Mean posterior variance of each latent along beta."
    table = PageTable("variances", caption, (*columns, Column("mean variance", "number")), rows)
    return Figure(caption, f"Line chart. {found.summary()}", spec, table)


_SCALES = {"active": {"zero": True}, "effective_number": {"type": "log"}}


def _measures(found: Tuning) -> Figure:
    panels = {
        "Distortion (nats)": "distortion", "Latents in use": "active", "DtO": "dto",
        "Data points that share a code": "effective_number",
    }  # fmt: skip
    spec = {
        "usermeta": {"cell": 230, "most": 3, "axis": 46},
        "concat": [
            {
                "title": title,
                "height": 150,
                "layer": [_line(field, scale=_SCALES.get(field, {"zero": False})), _rules(found)],
            }
            for title, field in panels.items()
        ],
    }
    names = ("beta", "distortion", "active", "mixed", "dto", "effective_number", "steps")
    rows = tuple(tuple(getattr(point, name) for name in names) for point in found.curve)
    columns = tuple(Column(name, "number", 5 if name == "beta" else 3) for name in names)
    caption = "Distortion, latents in use, DtO and overlap along beta."
    return Figure(caption, caption, spec, PageTable("curve", caption, columns, rows))
