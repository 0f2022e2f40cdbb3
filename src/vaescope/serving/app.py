"""The application: routes of the pages over runs, behind the guard."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from vaescope.errors import VaescopeError
from vaescope.serving import bench_pages, folder_pages, job_pages, saving
from vaescope.serving.bench_pages import PathQuery
from vaescope.serving.confinement import OutsideError
from vaescope.serving.guard import Guard
from vaescope.serving.listing import listed
from vaescope.serving.live import eta_seconds, records_after
from vaescope.serving.notes import Note
from vaescope.serving.pages import STATIC, StrictJSONResponse, page, static
from vaescope.serving.resume_command import resume_command
from vaescope.serving.site import MovedError, Options, Site
from vaescope.serving.view import FRONTS, View, view_of
from vaescope.wording import duration

__all__ = ["create_app"]

#: Rendered pages that are kept.
KEPT = 256
_FRONTS = [(front, " and ".join(f"{side} {axis}" for side, axis in zip(
    front.replace("min", "less").replace("max", "more").split(","), ("across", "up"),
    strict=True))) for front in FRONTS[1:]]  # fmt: skip


class NoteBody(BaseModel):
    """A star or a note for a run."""

    path: str
    star: bool = False
    text: str = ""


def create_app(options: Options) -> Guard:
    """The server of one folder as an ASGI application."""
    site = Site(options)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(site.close)

    app = FastAPI(
        title="vaescope", docs_url=None, redoc_url=None, openapi_url=None, lifespan=life,
        default_response_class=StrictJSONResponse,
    )  # fmt: skip
    app.state.site = site
    _add_errors(app)
    _add_runs(app, site)
    _add_run(app, site)
    job_pages.add(app, site)
    folder_pages.add(app, site)
    bench_pages.add(app, site)
    return Guard(app, host=options.host, token=options.token)


def _add_errors(app: FastAPI) -> None:
    def answer(request: Request, status: int, title: str, says: str, moved: str | None) -> Response:
        if request.url.path.startswith("/api/"):
            return StrictJSONResponse({"error": says, "moved": moved}, status)
        return HTMLResponse(page("message.html", title=title, says=says, moved=moved), status)

    @app.exception_handler(MovedError)
    async def moved(request: Request, error: MovedError) -> Response:
        return answer(request, 404, "This run is no longer here", str(error), error.path)

    @app.exception_handler(OutsideError)
    async def outside(request: Request, error: OutsideError) -> Response:
        return answer(request, 404, "There is nothing here", str(error), None)

    @app.exception_handler(VaescopeError)
    async def refused(request: Request, error: VaescopeError) -> Response:
        return answer(request, 400, "This page cannot be shown", str(error), None)

    @app.exception_handler(RequestValidationError)
    async def misread(request: Request, error: RequestValidationError) -> Response:
        # What was sent is not repeated: it may be no text at all.
        names = sorted({str(own["loc"][-1]) for own in error.errors()})
        says = f"The request lacks or misstates {', '.join(names)[:200]}."
        return answer(request, 422, "The request was not understood", says, None)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        return answer(request, error.status_code, "There is nothing here", str(error.detail), None)


def _add_runs(app: FastAPI, site: Site) -> None:
    kept: dict[tuple[str, str], bytes] = {}
    made: dict[tuple[str, str], asyncio.Future[bytes]] = {}  # for all who ask meanwhile
    # One after the other: side by side, all of them would be done when the last one is.
    maker = ThreadPoolExecutor(1)

    @app.get("/static/{name}")
    async def asset(name: str) -> Response:
        if name not in STATIC:
            raise HTTPException(404, "There is no such file.")
        return Response(
            static(name), media_type=STATIC[name], headers={"Cache-Control": "max-age=60"}
        )

    @app.get("/")
    async def runs(request: Request) -> Response:
        pairs = request.query_params.multi_items()
        key = (site.tag, str(request.url.query))
        if key not in kept:
            if key not in made:
                view, loop = view_of(pairs), asyncio.get_running_loop()
                made[key] = loop.run_in_executor(maker, lambda: _runs_page(site, view).encode())
                made[key].add_done_callback(lambda _: made.pop(key, None))
            # One who leaves does not take the page from the others.
            content = await asyncio.shield(made[key])
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept)), None)
            kept[key] = content
        return HTMLResponse(kept[key], headers={"Cache-Control": "no-store"})

    @app.get("/save")
    def save(request: Request) -> Response:
        view = view_of(request.query_params.multi_items())
        return HTMLResponse(
            saving.saved_view(site, view),
            headers={
                "Content-Disposition": 'attachment; filename="view.html"',
                "Content-Security-Policy": "frame-ancestors 'none'",
            },
        )

    @app.get("/api/version")
    async def version() -> dict[str, str]:
        return {"tag": site.tag}


def _runs_page(site: Site, view: View) -> str:
    snapshot, notes, tag = site.snapshot(), site.notes.read(), site.tag
    found = listed(snapshot, view, frozenset(path for path, one in notes.items() if one.star))
    pairs = parse_qsl(found.view.query().partition("?")[2])
    axes = [
        name for name in found.available
        if name not in ("seed", "state", "run", "star") and _is_number(snapshot, name)
    ]  # fmt: skip
    measures = [name for name in found.measures if name in axes]
    opened = [group for group in found.groups if group.key in view.open]
    return page(
        "runs.html", folder=site.root.name or str(site.root), view=found.view, found=found,
        total=len(snapshot.entries) - len(found.damaged), tag=tag, running=site.running,
        notes=notes, axes=axes, fronts=_FRONTS,
        default_x=next((n for n in ("rate", *measures) if n in axes), ""),
        default_y=next((n for n in ("distortion", *measures[1:]) if n in axes), ""),
        hidden=_hidden(pairs, "q", "page"), hidden_axes=_hidden(pairs, "x", "y", "front"),
        hidden_columns=_hidden(pairs, "cols", "page"),
        names={g.key: g.shown.path.partition("-s")[0] or g.shown.path for g in found.groups},
        used={g.key: {snapshot.entries[p].path for p in g.counted} for g in opened},
        results={e.path: snapshot.results(e) for g in opened for e in g.entries},
    )  # fmt: skip


def _hidden(pairs: list[tuple[str, str]], *without: str) -> list[tuple[str, str]]:
    return [pair for pair in pairs if pair[0] not in without]


def _is_number(snapshot: Any, name: str) -> bool:
    """Whether a column can be an axis: looked up once for each snapshot."""
    known = snapshot.kept.setdefault("numeric", {})
    if name not in known:
        values = (settings.get(name) for settings in snapshot.settings)
        known[name] = any(name in names for names in snapshot.measures) or any(
            isinstance(value, int | float) and not isinstance(value, bool) for value in values
        )
    return bool(known[name])


def _add_run(app: FastAPI, site: Site) -> None:
    def state_of(path: str) -> tuple[str, str, int]:
        """In a word, in a sentence, and the number of steps."""
        entry, snapshot = site.entry(path), site.index.snapshot
        if entry.setting < 0:
            return entry.state, "", 0
        folder = site.folder(path)
        steps = snapshot.settings[entry.setting].get("steps")
        steps = steps if isinstance(steps, int) else 0
        if entry.state == "done":
            return "done", f"{steps:,} steps.", steps
        records = snapshot.results(entry).get("step", 0.0)
        says = f"Step {records:,.0f} of {steps:,}."
        if not site.is_running(path):
            return "failed" if entry.state == "failed" else "stopped", says, steps
        seconds = eta_seconds(folder, steps)
        left = "" if seconds is None else f"About {duration(seconds)} left."
        return "running", f"{says} {left}", steps

    @app.get("/run")
    def run(path: PathQuery) -> Response:
        entry = site.entry(path)
        state, says, steps = state_of(path)
        snapshot = site.index.snapshot
        settings: dict[str, Any] = {}
        if entry.setting >= 0:
            settings = {**snapshot.settings[entry.setting], "seed": entry.seed}
            settings |= snapshot.results(entry)
        resumable = entry.state in ("failed", "unfinished") and state != "running"
        return HTMLResponse(
            page(
                "run.html", entry=entry, state=state, says=says, steps=steps,
                command=resume_command(site.folder(path)) if resumable else None,
                note=site.notes.read().get(path, Note()), settings=settings.items(),
            ),
            headers={"Cache-Control": "no-store"},
        )  # fmt: skip

    @app.get("/api/live")
    def live(path: PathQuery, offset: Annotated[int, Query(ge=0, le=2**60)] = 0) -> dict[str, Any]:
        try:
            state, says, _ = state_of(path)
        except MovedError as error:
            if not site.has_shown(path):
                raise
            # An answer like others: a page of it may be open and says it.
            return {"state": "gone", "says": str(error), "moved": error.path}
        records = records_after(site.folder(path), offset)
        rows = [{k: v for k, v in row.items() if _is_plain(v)} for row in records.rows]
        return {
            "state": state, "says": says, "rows": rows, "offset": records.offset,
            "restarted": records.restarted, "more": records.more,
        }  # fmt: skip

    @app.post("/api/note")
    def note(body: NoteBody) -> dict[str, bool]:
        site.entry(body.path)
        site.notes.write(body.path, Note(body.star, body.text))
        return {"kept": True}


def _is_plain(value: Any) -> bool:
    """A finite number or a list of such: what a chart can draw."""
    values = value if isinstance(value, list) else [value]
    return all(isinstance(v, int | float) and abs(v) < float("inf") for v in values)
