"""`Save this view`: what the runs page shows, as one HTML file that needs no server."""

from pathlib import Path
from typing import Any

import numpy as np

from vaescope import __version__
from vaescope.report.page import (
    Column,
    Fact,
    Figure,
    Page,
    PageTable,
    Part,
    Picture,
    Pictures,
    Prose,
    Section,
)
from vaescope.report.render import render
from vaescope.serving.listing import Listed, listed
from vaescope.serving.site import Site
from vaescope.serving.view import View
from vaescope.tables import Value

__all__ = ["saved_view"]

#: Strips of a file, and bytes of all of them.
STRIPS, BUDGET = 200, 3_000_000


def saved_view(site: Site, view: View) -> str:
    """All rows of a view, with the filter that chose them, its scatter, and the traversals that the
    page has drawn."""
    snapshot = site.snapshot()
    stars = frozenset(path for path, one in site.notes.read().items() if one.star)
    found = listed(snapshot, view, stars, rows=None)
    what = f"Filter: {view.q}." if view.q else "All runs."
    sections = [*_scatter(found), _runs(site, found)]
    if found.damaged:
        names = "; ".join(f"{entry.path}: {entry.error}" for entry in found.damaged[:50])
        lead = f"{len(found.damaged):,} in all."
        sections.append(
            Section("damaged", "Folders that cannot be read", lead, (Prose(names, aside=True),))
        )
    page = Page(
        site.root.name or "runs",
        f"{what} {found.problem}".strip(),
        (Fact("runs", f"{found.runs:,}"), Fact("rows", f"{found.total:,}")),
        (),
        (*sections, *_strips(site, found)),
        (f"Made by vaescope {__version__}. This file loads nothing from the network.",),
    )  # fmt: skip
    return render(page)


def _runs(site: Site, found: Listed) -> Section:
    parts: list[Part] = [_table(found)]
    if opened := [group for group in found.groups if group.key in found.view.open]:
        snapshot = site.index.snapshot
        names = found.measures
        rows = tuple(
            (entry.path, entry.seed, entry.state,
             *(snapshot.results(entry).get(name) for name in names))
            for group in opened
            for entry in group.entries
        )  # fmt: skip
        columns = (Column("run"), Column("seed", "number", 0), Column("state"),
                   *(Column(name, "number", 4) for name in names))  # fmt: skip
        parts.append(PageTable("seeds", "Seeds of the settings that were open.", columns, rows))
    if found.view.sel:
        parts.append(Prose(f"Basket: {', '.join(found.view.sel)}.", aside=True))
    parts.append(Prose(f"The view was {found.view.query()}", aside=True))
    lead = "One row for each run." if found.view.seeds else (
        "Means over seeds and their 95% t intervals."
    )  # fmt: skip
    return Section("runs", "Runs", lead, tuple(parts))


def _table(found: Listed) -> PageTable:
    columns = [Column("run"), Column("n", "number", 0)]
    for name in found.columns:
        if name in found.measures:
            columns.append(Column(name, "number", 4))
            if not found.view.seeds:
                columns += [Column(f"{name} low", "number", 4), Column(f"{name} high", "number", 4)]
        else:
            columns.append(Column(name))
    rows: list[tuple[Value, ...]] = []
    for group in found.groups:
        row: list[Value] = [group.shown.path, len(group.counted)]
        for name in found.columns:
            if name in found.measures:
                mean = group.means[name]
                row.append(mean.value if np.isfinite(mean.value) else None)
                if not found.view.seeds:
                    row += (None, None) if mean.interval is None else mean.interval
            else:
                value = group.settings.get(name, getattr(group.shown, name, None))
                row.append(None if value is None else str(value))
        rows.append(tuple(row))
    return PageTable("view", "Runs of this view.", tuple(columns), tuple(rows), sortable=True)


def _scatter(found: Listed) -> list[Section]:
    """The scatter of the page, if it has one."""
    if not found.points:
        return []
    view = found.view

    def axis(field: str, title: str) -> dict[str, Any]:
        scale = {"zero": False, "nice": True}
        return {"field": field, "title": title, "type": "quantitative", "scale": scale}

    on = "datum.front == 'yes'"
    dots = {
        "mark": {"type": "circle", "size": 60, "opacity": 1},
        "encoding": {
            "color": {"condition": {"test": "datum.basket == 'yes'", "value": "var(--warning)"},
                      "value": "var(--accent)"},
            "tooltip": [{"field": name} for name in ("run", "across", "up", "n")],
        },
    }  # fmt: skip
    line = {
        "transform": [{"filter": on}],
        "mark": {"type": "line", "color": "var(--ink-2)", "strokeDash": [4, 3]},
        "encoding": {"order": {"field": "across"}},
    }
    spec = {
        "usermeta": {"cell": 640, "most": 1},
        "height": 300,
        "encoding": {"x": axis("across", view.x), "y": axis("up", view.y)},
        "layer": [line, dots] if view.front else [dots],
    }
    rows = tuple(
        (p["run"], p["x"], p["y"], p["n"], "yes" if p.get("front") else "no",
         "yes" if p["run"] in view.sel else "no")
        for p in found.points
    )  # fmt: skip
    columns = (Column("run"), Column("across", "number", 4), Column("up", "number", 4),
               Column("n", "number", 0), Column("front"), Column("basket"))  # fmt: skip
    what = "each run" if view.seeds else "each setting, means over seeds"
    caption = f"{view.y} against {view.x} of {what}."
    caption += " The dashed line is the Pareto front." if view.front else ""
    table = PageTable("points", caption, columns, rows)
    figure = Figure(caption, f"{caption} {len(rows)} points.", spec, table)
    return [Section("scatter", "Scatter", "", (figure,))]


def _strips(site: Site, found: Listed) -> list[Section]:
    """Traversals that the page has drawn already: making them all would take minutes."""
    pictures: list[Picture] = []
    room = BUDGET
    shown = [group.shown for group in found.groups if group.shown.state == "done"]
    for entry in shown:
        try:
            content = Path(site.strip_file(entry)).read_bytes()
        except OSError:
            continue
        room -= len(content)
        if room < 0 or len(pictures) == STRIPS:
            break
        alt = f"Outputs of {entry.path} as latents go from low to high."
        pictures.append(Picture(content, alt, label=entry.path))
    if not pictures:
        return []
    caption = "The latents that change the output most, from low to high."
    lead = f"{len(pictures):,} of {len(shown):,} finished rows: those that the page had drawn."
    return [Section("strips", "Traversals", lead, (Pictures(caption, tuple(pictures), "rows"),))]
