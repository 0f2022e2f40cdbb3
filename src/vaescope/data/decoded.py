"""Images that are decoded once and kept as memory maps, under a limit of their size in all."""

import hashlib
import json
import logging
import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.data.arrays import reading
from vaescope.data.files import alone, require_space, write_rows
from vaescope.errors import DiskError, UsageError
from vaescope.paths import data_folder, disk_errors, replace_file

__all__ = ["decoded", "limit", "remembered", "stamp"]

#: Bytes of all maps together; VAESCOPE_CACHE_GB says otherwise.
LIMIT = 10_000_000_000

_log = logging.getLogger("vaescope")


def limit() -> int:
    """How many bytes the maps may take in all."""
    text = os.environ.get("VAESCOPE_CACHE_GB")
    if text is None:
        return LIMIT
    with suppress(ValueError, OverflowError):
        if (chosen := float(text)) >= 0:
            return int(chosen * 1e9)
    raise UsageError(f"VAESCOPE_CACHE_GB is {text!r}.", "Give gigabytes, e.g. 20.")


def stamp(path: Path, files: Sequence[Path], settings: Any) -> str:
    """A name for what `files` below `path` become by `settings`; another one when a file changed.

    A file counts as the same while its size and the time of its last change are.
    """
    facts = [(str(f.relative_to(path)), (s := f.stat()).st_size, s.st_mtime_ns) for f in files]
    content = json.dumps([str(path.resolve()), facts, settings])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _folder() -> Path:
    folder = data_folder() / "files"
    with disk_errors(folder, by="VAESCOPE_DATA"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def decoded(
    key: str, decode: Callable[[], tuple[tuple[int, ...], Iterable[NDArray[np.uint8]]]], what: str
) -> NDArray[np.uint8]:
    """Rows as a memory map called `key`. `decode` gives their shape and the rows in chunks; it is
    called the first time only. `what` is what errors and the log call them.
    """
    target = _folder() / f"{key}.npy"
    if not target.exists():
        with alone(target):
            if not target.exists():
                _write(target, *decode(), what)
    with reading(target, f"Delete {target}: it is made again when it is needed."):
        pixels = np.load(target, mmap_mode="r", allow_pickle=False)
    with suppress(OSError):
        os.utime(target)  # what was used last is removed last
    return np.asarray(pixels)  # a plain array over the same map: indexing it costs less


def _write(
    target: Path, shape: tuple[int, ...], chunks: Iterable[NDArray[np.uint8]], what: str
) -> None:
    size, most = math.prod(shape), limit()
    if size > most:
        raise DiskError(
            f"{what} decodes to {size / 1e9:.3g} GB; the limit of decoded images is "
            f"{most / 1e9:g} GB.",
            "Give a smaller data.size, data.grey=true, or set VAESCOPE_CACHE_GB to more.",
        )
    _make_room(target.parent, most - size)
    require_space(target.parent, size, f"Decoding {what}")
    write_rows(target, shape, chunks)
    _log.info(
        "%s: %d images decoded to %s (%.1f MB; the limit of all such files is %g GB).",
        what, shape[0], target, size / 1e6, most / 1e9,
    )  # fmt: skip


def _make_room(folder: Path, most: int) -> None:
    """Removes the maps that were not used for longest, until the others take `most` bytes. A
    process that still reads one keeps its pages."""
    maps = sorted(folder.glob("*.npy"), key=lambda path: path.stat().st_mtime)
    total = sum(path.stat().st_size for path in maps)
    for path in maps:
        if total <= most:
            return
        total -= path.stat().st_size
        path.unlink(missing_ok=True)
        _log.info("%s is removed: it is the least recently used.", path)


def remembered(key: str, compute: Callable[[], str]) -> str:
    """A hash that is computed once for each `key`."""
    file = _folder() / f"{key}.sha256"
    with suppress(OSError, UnicodeDecodeError):
        if len(known := file.read_text("utf-8")) == 64:
            return known
    known = compute()
    replace_file(file, known.encode())
    return known
