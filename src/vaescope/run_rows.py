"""Rows of a run's histories: whole lines of JSON, each of which names its step."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaescope.errors import RunError
from vaescope.reading import parse_json

__all__ = ["json_object", "rows_of"]


def json_object(text: bytes) -> dict[str, Any]:
    """A JSON object, and nothing else."""
    content = parse_json(text)
    if not isinstance(content, dict):
        raise ValueError("it is not a mapping of keys")
    return content


def rows_of(path: Path, content: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Whole lines only: a process killed while writing leaves half a line at the end."""
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            return
        try:
            row = json_object(line)
            if not isinstance(row.get("step"), int):
                raise ValueError("it names no step")
        except ValueError as error:
            raise RunError(
                f"Line {number} of {path} is damaged: {error}.",
                "Restore the file, or delete the folder and train this run again.",
            ) from error
        yield line, row
