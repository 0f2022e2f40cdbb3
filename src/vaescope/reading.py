"""The one way to read files that somebody else may have made: within limits, and nothing runs.

Every limit is an environment variable, VAESCOPE_LIMIT_ and its name, and errors name it. What is
wrong raises ValueError, as a damaged file does; the caller names the file and says what to do.
"""

import json
import os
import stat
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from vaescope.types import Array

__all__ = [
    "LIMITS",
    "limit",
    "limits_held",
    "npz_names",
    "open_regular",
    "parse_json",
    "read_array",
    "read_arrays",
    "read_end",
    "read_json",
    "read_regular",
    "within",
]

LIMITS = {
    "JSON_BYTES": 256 * 2**20,  # of one document
    "JSON_DEPTH": 64,
    "YAML_BYTES": 4 * 2**20,
    "YAML_NODES": 1_000_000,  # with every alias written out
    "CELLS": 1_000_000,  # of the grid of a sweep
    "ARRAY_BYTES": 16 * 2**30,  # of one array in an npz file
    "ARRAY_RATIO": 500,  # of an array to its compressed bytes, where it has more than 256 MB
}
_LARGE = 256 * 2**20
#: Bytes that one call reads.
_ONCE = 1 << 24


#: Of each time during which limits are held: what was looked up.
_HELD: list[dict[str, int]] = []


@contextmanager
def limits_held() -> Iterator[None]:
    """Each limit is looked up once meanwhile: for many small documents, of which the environment
    takes a good part of the time."""
    own: dict[str, int] = {}
    _HELD.append(own)
    try:
        yield
    finally:
        _HELD[:] = [held for held in _HELD if held is not own]


def limit(name: str) -> int:
    """The limit of this name: the environment's, else the documented one."""
    held = _HELD[-1] if _HELD else {}
    if name not in held:
        given = os.environ.get(f"VAESCOPE_LIMIT_{name}", "")
        held[name] = int(given) if given.isdecimal() else LIMITS[name]
    return held[name]


def within(name: str, value: float, what: str) -> None:
    """Raises ValueError where `value` is above the limit."""
    if value > limit(name):
        raise ValueError(
            f"{what} {value:,.0f}, and the limit is {limit(name):,} (VAESCOPE_LIMIT_{name} sets it)"
        )


def open_regular(path: Path | str) -> BinaryIO:
    """A regular file, open for reading: a pipe would hang, and a device may have no end.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is something else, or cannot be opened.
    """
    return open(_opened(path)[0], "rb")


def _opened(path: Path | str) -> tuple[int, int]:
    """A file's descriptor and size."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:  # a loop of links, or not for us
        raise ValueError(f"it cannot be opened ({error.strerror})") from error
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode):
        os.close(number)
        raise ValueError("it is not a regular file")
    return number, found.st_size


def read_regular(path: Path | str, *, most: str = "") -> bytes:
    """The bytes of a regular file; raises as `open_regular`."""
    number, size = _opened(path)
    try:
        if most:
            within(most, size, "its size in bytes is")
        # One call where the file has the size it says: fewer bytes than asked for are its end. It
        # may grow meanwhile.
        asked = min(size + 1, _ONCE)
        first = os.read(number, asked)
        if len(first) < asked:
            return first
        parts = [first]
        while parts[-1] and len(parts[-1]) == asked:
            asked = _ONCE
            parts.append(os.read(number, asked))
    finally:
        os.close(number)
    return b"".join(parts)


def read_end(path: Path | str, most: int) -> tuple[bytes, bool]:
    """The last bytes of a regular file, at most so many, and whether that is all of it; raises as
    `open_regular`."""
    number, size = _opened(path)
    try:
        reach = min(size, most)
        return os.pread(number, reach, size - reach), reach == size
    finally:
        os.close(number)


def _int64(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (value := int(text)) < 2**63:
        raise ValueError(f"{text[:24]} is beyond 64 bits")
    return value


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


# A decoder for each call would take as long as the text of a small document.
_DECODER = json.JSONDecoder(parse_int=_int64)
_STRICT_DECODER = json.JSONDecoder(parse_int=_int64, parse_constant=_no_constant)


def parse_json(text: str | bytes, *, constants: bool = True) -> Any:
    """JSON with integers of at most 64 bits and limited depth; NaN only where `constants`."""
    if isinstance(text, bytes):
        text = text.decode()  # json would guess the encoding
    within("JSON_BYTES", len(text), "its size in characters is")
    try:
        content = _decoded(_DECODER if constants else _STRICT_DECODER, text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply for Python") from error
    if text.count("[") + text.count("{") > LIMITS["JSON_DEPTH"]:
        within("JSON_DEPTH", _depth(content), "its depth is")
    return content


def _decoded(decoder: Any, text: str) -> Any:
    """`decoder.decode`, which looks for space at both ends by regular expressions: of a small
    document that takes as long as its content."""
    try:
        content, end = decoder.scan_once(text, 0)
    except StopIteration:
        return decoder.decode(text)
    return content if text[end:] in ("", "\n") else decoder.decode(text)


def _depth(content: Any) -> int:
    """How many groups and lists stand within each other."""
    deepest, layer = 0, [content]
    while groups := [part for part in layer if isinstance(part, dict | list)]:
        deepest += 1
        layer = [
            p for group in groups for p in (group.values() if isinstance(group, dict) else group)
        ]
    return deepest


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a regular file."""
    content = parse_json(read_regular(path, most="JSON_BYTES"))
    if not isinstance(content, dict):
        raise ValueError("it is not a mapping of keys")
    return content


def npz_names(path: Path) -> list[str]:
    """The arrays of an npz file, none of which is read."""
    _require_npz(path)
    with zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def _require_npz(path: Path) -> None:
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):  # numpy would take an npy, or look for pickles
            raise ValueError("it is not an npz file, or its end is missing")


def read_arrays(path: Path, names: Collection[str] | None = None) -> dict[str, Array]:
    """Arrays of an npz file by name, all or those in `names`; others are not unpacked."""
    _require_npz(path)
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            if names is not None and name not in names:
                continue
            within("ARRAY_BYTES", entry.file_size, f"the size of {name} in bytes is")
            if entry.file_size > _LARGE:
                ratio = entry.file_size / max(entry.compress_size, 1)
                within("ARRAY_RATIO", ratio, f"{name} unpacks by a factor of")
    with np.load(path, allow_pickle=False) as loaded:
        wanted = [name for name in loaded.files if names is None or name in names]
        return {name: _member(loaded, name) for name in wanted}


def _member(loaded: Any, name: str) -> Array:
    try:
        return np.asarray(loaded[name])
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise ValueError(
            f"{name} has Python objects, which are not read because they may run code; wanted "
            "numbers, or text as np.array(values, dtype=str)"
        ) from error


def read_array(path: Path) -> Array:
    """The array of an npy file."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("it is not a regular file")
    within("ARRAY_BYTES", path.stat().st_size, "its size in bytes is")
    return np.asarray(np.load(path, allow_pickle=False))
