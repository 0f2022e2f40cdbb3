"""`Save this view`: what the runs page shows, as one HTML file that needs no server."""

import numpy as np

from vaescope import __version__
from vaescope.report.page import Column, Fact, Page, PageTable, Prose, Section
from vaescope.report.render import render
from vaescope.serving.listing import Listed, listed
from vaescope.serving.site import Site
from vaescope.serving.view import View
from vaescope.tables import Value

__all__ = ["saved_view"]


def saved_view(site: Site, view: View) -> str:
    """All rows of a view, with the filter that chose them."""
    snapshot = site.snapshot()
    stars = frozenset(path for path, one in site.notes.read().items() if one.star)
    found = listed(snapshot, view, stars, rows=None)
    what = f"Filter: {view.q}." if view.q else "All runs."
    page = Page(
        site.root.name or "runs",
        f"{what} {found.problem}".strip(),
        (Fact("runs", f"{found.runs:,}"), Fact("rows", f"{found.total:,}")),
        (),
        (
            Section(
                "runs", "Runs", "Means over seeds and their 95% t intervals.",
                (_table(found), Prose(f"The view was {view.query()}", aside=True)),
            ),
        ),
        (f"Made by vaescope {__version__}. This file loads nothing from the network.",),
    )  # fmt: skip
    return render(page)


def _table(found: Listed) -> PageTable:
    columns = [Column("run"), Column("n", "number", 0)]
    for name in found.columns:
        if name in found.measures:
            columns += [Column(name, "number", 4), Column(f"{name} low", "number", 4),
                        Column(f"{name} high", "number", 4)]  # fmt: skip
        else:
            columns.append(Column(name))
    rows: list[tuple[Value, ...]] = []
    for group in found.groups:
        row: list[Value] = [group.shown.path, len(group.counted)]
        for name in found.columns:
            if name in found.measures:
                mean = group.means[name]
                ends = (None, None) if mean.interval is None else mean.interval
                row += [mean.value if np.isfinite(mean.value) else None, *ends]
            else:
                value = group.settings.get(name, getattr(group.shown, name, None))
                row.append(None if value is None else str(value))
        rows.append(tuple(row))
    return PageTable("view", "Runs of this view.", tuple(columns), tuple(rows))
