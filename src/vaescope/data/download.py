"""Fetching official files: resumed where they broke off, checked before they get their name."""

import logging
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from vaescope.data.card import Card, File
from vaescope.data.files import (
    Progress,
    alone,
    check,
    fault,
    found,
    instructions,
    place,
    require_space,
    seal,
)
from vaescope.errors import DataError
from vaescope.paths import disk_errors

__all__ = ["get"]

BLOCK = 1 << 18
TIMEOUT_SECONDS = 60

_log = logging.getLogger("vaescope")


def get(card: Card, progress: Progress | None = None) -> list[Path]:
    """The files of a dataset: those that are there and right, the others downloaded.

    What a broken connection leaves behind is kept in `<name>.part`, and the next call resumes from
    there. A file with a wrong checksum is removed.
    """
    return [_there(card, file) or _download(card, file, progress) for file in card.files]


def _there(card: Card, file: File) -> Path | None:
    path = found(card, file)
    if path is None:
        return None
    if path != place(card, file):
        return path
    try:
        check(path, file)
    except DataError as error:
        if file.url is None:
            raise
        _log.warning("%s Downloading it anew.", error.message)
        return None
    return path


def _download(card: Card, file: File, progress: Progress | None) -> Path:
    path = place(card, file)
    if file.url is None:
        raise DataError(
            f"{card.name} cannot be downloaded: {file.name} has no public address.",
            instructions(card),
        )
    with disk_errors(path, by="VAESCOPE_DATA"):
        path.parent.mkdir(parents=True, exist_ok=True)
    require_space(path.parent, 0, f"Downloading {file.name}")
    part = path.with_name(f"{path.name}.part")
    with alone(path):
        try:
            _stream(file.url, file, part, progress)
        except (OSError, HTTPException) as error:  # URLError is an OSError
            kept = part.stat().st_size if part.exists() else 0
            raise DataError(
                f"{file.name} could not be downloaded from {file.url}: {error}; "
                f"{kept:,} bytes are kept.",
                "Run the same command again to resume; or without a network put "
                f"the file there yourself:\n{instructions(card)}",
            ) from error
        wrong = fault(part, file)
        _tag_of(part).unlink(missing_ok=True)
        if wrong:
            part.unlink()
            raise DataError(
                f"{file.name} from {file.url} {wrong}. It was removed.",
                "Run the same command again; if that does not help, the file at that address "
                f"has changed: see `vaescope data info {card.name}`.",
            )
        part.replace(path)
        seal(path, file)
    return path


def _tag_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")


def _stream(url: str, file: File, part: Path, progress: Progress | None) -> None:
    """Fills `part`, from where it ends if the server still has the same file."""
    done = part.stat().st_size if part.exists() else 0
    tag = _tag_of(part).read_text() if _tag_of(part).exists() else ""
    if not (tag or file.digest):
        done = 0  # nothing would tell if two versions were mixed
    headers = {"User-Agent": "vaescope", "Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
        if tag:
            headers["If-Range"] = tag
    request = Request(url, headers=headers)  # noqa: S310  addresses come from our own cards
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            _save(answer, file, part, done, progress)
    except HTTPError as error:
        if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not done:
            raise
        if error.headers.get("Content-Range") != f"bytes */{done}":  # else all of it was there
            part.unlink()
            _stream(url, file, part, progress)


def _save(
    answer: HTTPResponse, file: File, part: Path, done: int, progress: Progress | None
) -> None:
    if answer.status != HTTPStatus.PARTIAL_CONTENT:
        done = 0  # the server sends all of it
    elif not answer.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
        raise HTTPException(f"requested the rest from byte {done:,}, but got another part")
    length = answer.headers.get("Content-Length")
    total = file.size if length is None else done + int(length)
    require_space(part.parent, (total or done) - done, f"Downloading {file.name}")
    with disk_errors(part, by="VAESCOPE_DATA"):
        _tag_of(part).write_text(_validator(answer))
        out = part.open("ab" if done else "wb")
    with out:
        while block := answer.read(BLOCK):
            with disk_errors(part, by="VAESCOPE_DATA"):
                out.write(block)
            done += len(block)
            if progress:
                progress(file.name, done, total)
    if total is not None and done < total:
        raise HTTPException(f"the connection broke off at byte {done:,} of {total:,}")


def _validator(answer: HTTPResponse) -> str:
    """What If-Range may hold: a strong ETag, else a date, else nothing."""
    etag: str = answer.headers.get("ETag", "")
    dated: str = answer.headers.get("Last-Modified", "")
    return etag if etag and not etag.startswith("W/") else dated
