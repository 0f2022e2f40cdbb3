"""Sweeps and studies: the progress of folders of runs, and tables of studies."""

import os
from collections import Counter
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse

from vaescope.reading import open_regular
from vaescope.serving.pages import link, page
from vaescope.serving.site import Site
from vaescope.serving.view import View

__all__ = ["add"]

#: Files of one folder that are looked at for tables of studies.
LOOKED = 500


def add(app: FastAPI, site: Site) -> None:
    """The route of the overview."""

    @app.get("/folders")
    def folders() -> Response:
        snapshot = site.snapshot()
        parents: dict[str, Counter[str]] = {}
        for entry in snapshot.entries:
            counts = parents.setdefault(entry.path.rpartition("/")[0], Counter())
            counts[entry.state] += 1
            counts["running"] += entry.path in site.running
        shown = [_folder(parent, counts) for parent, counts in sorted(parents.items())]
        return HTMLResponse(
            page(
                "folders.html", folders=[one for one in shown if one["total"] > 1],
                studies=_studies(site, list(parents)), tag=site.tag,
            ),
            headers={"Cache-Control": "no-store"},
        )  # fmt: skip


def _folder(parent: str, counts: Counter[str]) -> dict[str, Any]:
    states = ("done", "unfinished", "failed", "damaged")
    return {
        "name": parent or "runs", "path": parent or ".", "running": counts["running"],
        "total": sum(counts[state] for state in states), **{s: counts[s] for s in states},
        "link": View(q=f'"{parent}/"').query() if parent and '"' not in parent else link("/"),
    }  # fmt: skip


def _studies(site: Site, parents: list[str]) -> list[str]:
    """Tables that `vaescope study` wrote: beside the folder, or beside a folder of runs."""
    beside = {"", *(parent.rpartition("/")[0] for parent in parents)}
    found = []
    for parent in sorted(beside):
        try:
            with os.scandir(site.root / parent) as entries:
                names = sorted(e.name for e in entries if e.name.endswith(".json") and e.is_file(
                    follow_symlinks=False))  # fmt: skip
        except OSError:
            continue
        for name in names[:LOOKED]:
            path = f"{parent}/{name}".lstrip("/")
            try:
                with open_regular(site.root / path) as file:
                    if b'"study":' in file.read(200):
                        found.append(path)
            except (OSError, ValueError):
                continue
    return found
