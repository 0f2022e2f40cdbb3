"""Pages that a worker makes on demand: reports, comparisons, sweeps and studies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from fastapi import FastAPI, Query, Response
from fastapi.responses import FileResponse, HTMLResponse
from pydantic import BaseModel

from vaescope.errors import UsageError
from vaescope.serving.confinement import OutsideError, require_inside
from vaescope.serving.pages import link, page
from vaescope.serving.site import Site
from vaescope.serving.view import CHOSEN

__all__ = ["add"]

#: A made page allows its own scripts by their hashes and nothing else; this says who may frame it.
_MADE = {"Content-Security-Policy": "frame-ancestors 'self'", "Cache-Control": "no-store"}

Paths = Annotated[list[str], Query(max_length=CHOSEN)]


class CancelBody(BaseModel):
    """The address at which a page was asked for."""

    job: str


def add(app: FastAPI, site: Site) -> None:
    """The routes of made pages."""

    @app.get("/compare")
    def compare(path: Paths) -> Response:
        _require_done(site, path)
        return _waiting("Comparison", "compare", path)

    @app.get("/api/report")
    def report_job(path: str) -> dict[str, str]:
        return _asked(site, "report", [path])

    @app.get("/api/compare")
    def compare_job(path: Paths) -> dict[str, str]:
        return _asked(site, "compare", path)

    @app.get("/api/sweep")
    def sweep_job(path: str) -> dict[str, str]:
        return _asked(site, "sweep", [path])

    @app.get("/api/study")
    def study_job(path: str) -> dict[str, str]:
        return _asked(site, "study", [path])

    @app.get("/report")
    def report(path: str) -> Response:
        return _made(site, "report", [path])

    @app.get("/made/compare")
    def comparison(path: Paths) -> Response:
        return _made(site, "compare", path)

    @app.get("/made/sweep")
    def sweep(path: str) -> Response:
        return _made(site, "sweep", [path])

    @app.get("/made/study")
    def study(path: str) -> Response:
        return _made(site, "study", [path])

    @app.get("/sweep")
    def sweep_page(path: str) -> Response:
        _task(site, "sweep", [path])
        return _waiting(f"Sweep {path}", "sweep", [path], shown=[])

    @app.get("/study")
    def study_page(path: str) -> Response:
        _task(site, "study", [path])
        return _waiting(f"Study {Path(path).stem}", "study", [path], shown=[])

    @app.post("/api/cancel")
    def cancel(body: CancelBody) -> dict[str, bool]:
        address = urlsplit(body.job[:20_000])
        kind = address.path.removeprefix("/api/")
        paths = [value for name, value in parse_qsl(address.query) if name == "path"]
        key, _ = _task(site, kind, paths)
        site.jobs.cancel(key)
        return {"cancelled": True}


def _waiting(title: str, kind: str, paths: list[str], shown: list[str] | None = None) -> Response:
    return HTMLResponse(
        page(
            "job.html", title=title, paths=paths if shown is None else shown,
            job=link(f"/api/{kind}", path=paths), show=link(f"/made/{kind}", path=paths),
        )
    )  # fmt: skip


def _require_done(site: Site, paths: list[str]) -> None:
    if len(paths) < 2:
        raise UsageError("One run cannot be compared.", "Choose two or more.")
    for path in paths:
        if site.entry(path).state != "done":
            raise UsageError(f"{path} is not finished.", "Choose finished runs.")


def _task(site: Site, kind: str, paths: list[str]) -> tuple[str, Mapping[str, Any]]:
    """The key and the task of a page; refuses what is not there."""
    if kind in ("report", "compare"):
        if kind == "compare":
            _require_done(site, paths)
        elif len(paths) != 1 or site.entry(paths[0]).state != "done":
            raise UsageError("A report needs one finished run.", "Wait until it is done.")
        stamps = [f"{path} {site.entry(path).stamp}" for path in paths]
        return site.key(kind, stamps), site.task(kind, [site.folder(path) for path in paths])
    if len(paths) != 1 or kind not in ("sweep", "study"):
        raise UsageError("There is no such page.", "Go back to the runs.")
    place = require_inside(site.root, paths[0])
    if kind == "sweep":
        inside = [e for e in site.snapshot().entries if e.path.rpartition("/")[0] == _named(paths)]
        if not inside or not place.is_dir():
            raise OutsideError("There are no runs in that folder.")
        stamps = [f"{e.path} {e.stamp}" for e in inside]
    else:
        if not place.is_file() or place.suffix != ".json":
            raise OutsideError("There is no such table.")
        stamps = [f"{paths[0]} {place.stat().st_mtime_ns}"]
    return site.key(kind, stamps), site.task(kind, [place])


def _named(paths: list[str]) -> str:
    return "" if paths[0] == "." else paths[0]


def _asked(site: Site, kind: str, paths: list[str]) -> dict[str, str]:
    job = site.jobs.ask(*_task(site, kind, paths))
    return {"state": job.state, "says": job.says}


def _made(site: Site, kind: str, paths: list[str]) -> Response:
    key, _ = _task(site, kind, paths)
    path = site.jobs.path(key)
    if not path.is_file():
        raise OutsideError("This page has not been made yet.")
    return FileResponse(path, media_type="text/html; charset=utf-8", headers=_MADE)
