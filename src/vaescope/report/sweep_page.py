"""A sweep as one page: any two columns against each other, strength curves, rank correlations.

The runs stand in the file column by column, as numbers in base64: ten thousand of them with sixty
columns stay below five megabytes, and the browser takes them as they are.
"""

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from vaescope import __version__
from vaescope.paths import disk_errors, replace_file
from vaescope.report.collapse_spectrum import spectrum_section
from vaescope.report.page import Fact, Listing, Page, Prose, Section
from vaescope.report.render import asset, render, script_json
from vaescope.report.sweep_parts import (
    correlations_figure,
    curves_figure,
    front_figure,
    means_table,
    pareto,
    settings_of,
    shares_table,
    unit_of,
)
from vaescope.report.sweep_pictures import strips_section
from vaescope.report.sweep_verdicts import sweep_statements
from vaescope.settings import dump_yaml
from vaescope.statistics import Shares, variance_shares
from vaescope.tables import Table as Runs

__all__ = ["save_sweep", "sweep_page"]

#: Bytes that the columns of runs may take; those that do not fit are named on the page.
ROOM = 3_200_000
#: Measures in the curves and in the correlations: more cannot be read.
MEASURES = 16


@dataclass(frozen=True)
class Explorer:
    """A part of the page: a scatter of any two columns, and a list of the runs chosen in it."""

    kind: ClassVar[str] = "explorer"
    caption: str
    content: Markup


def save_sweep(runs: Runs, path: Path, *, folder: Path) -> None:
    """Writes the page of the runs in `folder`, with links to those reports that are there."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, sweep_page(runs, path, folder=folder).encode())


def sweep_page(runs: Runs, path: Path, *, folder: Path) -> str:
    """The page as one HTML document that lies at `path`."""
    measures = runs.measures()
    shown = measures[:MEASURES]
    shares = {name: found for name in shown if (found := variance_shares(runs, name)) is not None}
    sections = [
        strips_section(runs, folder),
        _front(runs),
        spectrum_section(runs),
        _explore(runs, measures, path, folder),
        _curves(runs, shown),
        _means(runs, shown),
        _correlations(runs, shown),
        _variance(shares),
        _fixed(runs),
    ]
    page = Page(
        folder.resolve().name,
        _lead(runs),
        _facts(runs, measures),
        tuple(sweep_statements(runs, shares)),
        tuple(section for section in sections if section is not None),
        (f"Made by vaescope {__version__}. This file loads nothing from the network.",),
    )
    return _with_script(render(page), asset("templates", "explorer.js"))


def _with_script(html: str, script: str) -> str:
    """The document with one more script at its end, which its content policy allows by hash."""
    assert "</script" not in script.lower() and "<!--" not in script
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The policy stands above all text of users, the end of the body below it.
    before, mark, after = html.partition("script-src ")
    body, end, rest = after.rpartition("</body>")
    assert mark and end
    allowed = f"{mark}&#39;sha256-{digest}&#39; "
    return f"{before}{allowed}{body}<script>{script}</script>\n{end}{rest}"


def _lead(runs: Runs) -> str:
    varied = [name for name in runs.varying() if name != "seed"]
    what = ", ".join(varied) if varied else "nothing but the seed"
    return f"{len(runs):,} runs. Varied: {what}."


def _facts(runs: Runs, measures: Sequence[str]) -> tuple[Fact, ...]:
    counts = [len(places) for places in settings_of(runs).values()]
    least, most = min(counts), max(counts)
    return (
        Fact("runs", f"{len(runs):,}", f"{sum(map(bool, runs.settings['done'])):,} done"),
        Fact("settings", f"{len(counts):,}", "without seeds"),
        Fact("runs per setting", str(least) if least == most else f"{least} to {most}"),
        Fact("measures", str(len(measures)), "that differ between runs"),
    )


def _explore(runs: Runs, measures: Sequence[str], path: Path, folder: Path) -> Section | None:
    settings = [name for name in runs.varying() if name != "seed"] + ["seed"]
    names = [*dict.fromkeys([*settings, *measures])]
    fit = max(4, ROOM // (6 * len(runs)))
    left, names = names[fit:], names[:fit]
    reports = [(folder / str(run) / "report.html").exists() for run in runs.settings["run"]]
    way = os.path.relpath(folder.resolve(), path.resolve().parent)
    content = {
        "names": list(runs.settings["run"]),
        "columns": {name: _column(runs, name) for name in names},
        "measures": [name for name in names if name in measures],
        "units": {name: unit for name in names if (unit := unit_of(name))},
        "reports": base64.b64encode(np.array(reports, np.uint8).tobytes()).decode(),
        "prefix": "" if way == "." else f"{quote(way)}/",
        **_axes(runs, settings, measures),
    }
    if not measures:
        return Section(
            "explore", "Runs", "No measure differs between runs: there is nothing to draw yet.", ()
        )
    parts: list[Any] = [
        Explorer(
            "Each point is a run: point at it to see its settings, click it for its report, drag "
            "over several to list them.",
            script_json(content),
        )
    ]
    if left:
        parts.append(Prose(f"Left out to keep this file small: {', '.join(left)}.", aside=True))
    return Section("explore", "Runs", "Any two columns against each other.", tuple(parts))


def _axes(runs: Runs, settings: Sequence[str], measures: Sequence[str]) -> dict[str, str]:
    """What is drawn before the reader chooses."""
    if not measures:
        return {}
    if {"rate", "distortion"} <= set(measures):
        return {"x": "rate", "y": "distortion", "colour": settings[0]}
    numbers = [name for name in settings if np.isfinite(runs.numbers(name)).any()]
    return {"x": numbers[0], "y": measures[0], "colour": settings[0]}


def _column(runs: Runs, name: str) -> dict[str, Any]:
    values = runs.columns[name]
    numbers = runs.numbers(name)
    if not any(isinstance(value, str) for value in values):
        most = np.finfo(np.float32).max  # a loss that ran away is drawn at the edge
        data = np.clip(numbers, -most, most).astype("<f4").tobytes()
        return {"kind": "number", "data": base64.b64encode(data).decode()}
    words = sorted({str(value) for value in values})
    places = {word: place for place, word in enumerate(words)}
    index = np.array([places[str(value)] for value in values], dtype="<u2")
    return {"kind": "text", "words": words, "data": base64.b64encode(index.tobytes()).decode()}


def _front(runs: Runs) -> Section | None:
    found = pareto(runs)
    if found is None or len(found.names) < 2:
        return None
    lead = "The rate of each setting, and its distortion."
    return Section("front", "Rate and distortion", lead, (front_figure(found),))


def _curves(runs: Runs, measures: Sequence[str]) -> Section | None:
    figure = curves_figure(runs, measures)
    if figure is None:
        return None
    lead = "Means over seeds. Bands are 95% t intervals; one seed has none."
    return Section("curves", "Strengths", lead, (figure,))


def _means(runs: Runs, measures: Sequence[str]) -> Section | None:
    if not measures:
        return None
    lead = "The mean of each measure over the seeds of each setting."
    return Section("means", "Means", lead, (means_table(runs, measures),), open=False)


def _correlations(runs: Runs, measures: Sequence[str]) -> Section | None:
    if len(measures) < 2 or len(runs) < 3:
        return None
    lead = "Spearman's correlation of each pair of measures over all runs that have both."
    return Section(
        "correlations", "Do measures agree?", lead, (correlations_figure(runs, measures),)
    )


def _variance(shares: dict[str, Shares]) -> Section | None:
    if not shares:
        return None
    lead = (
        "Nested shares: objectives, then strengths and other settings within them, then seeds. In "
        "brackets: the share from noise alone."
    )
    return Section("variance", "What explains the variance?", lead, (shares_table(shares),))


def _fixed(runs: Runs) -> Section:
    varied = {"run", "seed", "done", *runs.varying()}
    same = {name: values[0] for name, values in runs.settings.items() if name not in varied}
    listing = Listing("The same in all runs", dump_yaml(same))
    return Section("settings", "Settings", "What was not varied.", (listing,), open=False)
