"""The bench: a run's real decoder behind sliders, images of one's own, and traversal strips."""

import base64
import os
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from vaescope.errors import DataError, RunError, UsageError
from vaescope.paths import replace_file
from vaescope.serving.guard import UPLOAD
from vaescope.serving.pages import page
from vaescope.serving.site import Site
from vaescope.serving.uploads import decoded_upload

__all__ = ["add"]

_NONE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="168" height="72" viewBox="0 0 168 72">'
    '<text x="0" y="40" font-family="sans-serif" font-size="12" fill="#7a828a">{}</text></svg>'
)

PathQuery = Annotated[str, Query(max_length=4096)]


class CodeBody(BaseModel):
    """A code to be decoded."""

    path: str
    z: list[float] = Field(max_length=10_000)


def add(app: FastAPI, site: Site) -> None:
    """The routes of the bench."""

    def task(kind: str, path: str, **more: Any) -> dict[str, Any]:
        entry = site.entry(path)
        if entry.state != "done":
            raise UsageError(f"{path} is not finished.", "Wait until it is.")
        told = site.task(kind, [site.folder(path)])
        return {**told, "run": told["runs"][0], "stamp": entry.stamp, **more}

    @app.get("/bench")
    def bench(path: PathQuery) -> Response:
        entry = site.entry(path)
        problem, model = "", {}
        try:
            model = site.decoder.ask(task("open", path))
        except (RunError, UsageError) as error:
            problem = str(error)
        return HTMLResponse(page("bench.html", entry=entry, model=model, problem=problem))

    @app.post("/api/bench/decode")
    def decode(body: CodeBody) -> dict[str, Any]:
        return site.decoder.ask(task("decode", body.path, z=body.z))

    @app.post("/api/bench/encode")
    async def encode(request: Request, path: PathQuery) -> dict[str, Any]:
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > UPLOAD:
                raise DataError("The file is too large.", f"At most {UPLOAD:,} bytes.")
        return await run_in_threadpool(_encoded, content, path)

    def _encoded(content: bytes, path: str) -> dict[str, Any]:
        opened = site.decoder.ask(task("open", path))
        try:
            pixels, words = decoded_upload(content, tuple(opened["shape"]))
        except DataError as error:  # an answer like others: an error would be on the console
            return {"error": str(error)}
        told = task("encode", path, pixels=base64.b64encode(pixels).decode())
        return {**site.decoder.ask(told), "fitted": words}

    @app.get("/strip")
    def strip(path: PathQuery, v: str = "") -> Response:
        """Always a picture: a missing one would be an error on the reader's console."""
        told = task("strip", path)
        place = site.strip_file(site.entry(path))
        headers = {"Cache-Control": "max-age=3600"}
        try:
            content = place.read_bytes()
        except OSError:
            try:
                content = base64.b64decode(site.decoder.ask(told)["png"])
            except RunError as error:
                says = "not pictures" if "not pictures" in str(error) else "no strip"
                return Response(_NONE.format(says), media_type="image/svg+xml", headers=headers)
            os.makedirs(place.parent, mode=0o700, exist_ok=True)
            replace_file(place, content)
        return Response(content, media_type="image/png", headers=headers)
