"""Official files: where they lie, whether they are whole, and large ones as memory maps."""

import fcntl
import hashlib
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from vaescope.data.arrays import reading
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.errors import DataError, DiskError
from vaescope.paths import data_folder, disk_errors

__all__ = [
    "Progress",
    "alone",
    "check",
    "converted",
    "fault",
    "found",
    "instructions",
    "locate",
    "on_disk",
    "place",
    "require_all",
    "require_space",
    "seal",
    "write_rows",
]

#: Called with a file's name, the bytes done and the bytes in all, None where that is not known.
Progress = Callable[[str, int, int | None], None]


def place(card: Card, file: File) -> Path:
    """Where the file belongs: `<data folder>/<dataset>/<official name>`."""
    return data_folder() / card.name / file.name


def found(card: Card, file: File) -> Path | None:
    """Where the file or one that stands in for it lies, unchecked; None if there is neither."""
    return next((path for path, _ in _places(card, file) if path.exists()), None)


def _places(card: Card, file: File) -> Iterator[tuple[Path, File]]:
    """Where the file or one in its stead may lie, the proper place first."""
    for folder in (card.name, card.name.replace("-", "_"), *card.folders):
        for candidate in (file, *file.instead):
            yield data_folder() / folder / candidate.name, candidate


def on_disk(card: Card) -> bool:
    """Whether all files of the dataset are there; unchecked."""
    return all(found(card, file) is not None for file in card.files)


def instructions(card: Card) -> str:
    """Which file to put where, one line for each, and where it comes from."""
    lines = [card.how] if card.how else []
    for file in card.files:
        facts = [
            f"{file.size:,} bytes" if file.size is not None else "",
            file.digest or "",
            f"from {file.url}" if file.url else "",
            "or instead of it " + ", ".join(f.name for f in file.instead) if file.instead else "",
        ]
        lines.append(f"{place(card, file)} ({'; '.join(filter(None, facts)) or 'no checksum'})")
    return "\n".join(lines)


def locate(card: Card, file: File) -> Path:
    """The file or one that stands in for it, checked."""
    path = found(card, file)
    if path is None:
        remedy = card.how or f"See `vaescope data info {card.name}` for which file to put where."
        if file.url:
            remedy = f"Run `vaescope data get {card.name}`, or put it there from {file.url}."
        raise DataError(f"{card.name} needs {place(card, file)}, which does not exist.", remedy)
    check(path, next(candidate for other, candidate in _places(card, file) if other == path))
    return path


def fault(path: Path, file: File) -> str | None:
    """What is wrong with the file at `path`, as far as its card tells; None if nothing."""
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"has {size:,} bytes; wanted {file.size:,}"
    wanted = _digests(file)
    got = []
    for kind in sorted({digest.partition(":")[0] for digest in wanted}):
        with path.open("rb") as stream:
            got.append(f"{kind}:{hashlib.file_digest(stream, kind).hexdigest()}")
    if wanted and not set(got) & set(wanted):
        return f"has {', '.join(got)}; wanted {' or '.join(wanted)}"
    return None


def check(path: Path, file: File) -> None:
    """Refuses a file of the wrong size or digest; one that has not changed is not hashed again."""
    if path.is_dir() or _text(_seal_of(path)) == _seal_text(path, file):
        return
    wrong = fault(path, file)
    if wrong:
        raise DataError(
            f"{path} {wrong}.",
            "It is truncated or another file: delete it and get it again "
            "(`vaescope data info` says where).",
        )
    if _digests(file):
        seal(path, file)


def seal(path: Path, file: File) -> None:
    """Remembers that the file at `path`, as it now is, was found to be right."""
    with suppress(OSError):  # a folder that cannot be written: the file is hashed each time
        _seal_of(path).write_text(_seal_text(path, file))


def _digests(file: File) -> tuple[str, ...]:
    return (*([file.digest] if file.digest else []), *file.also)


def _stamp(path: Path) -> str:
    facts = path.stat()
    return f"{path.name} {facts.st_size} {facts.st_mtime_ns}"


def _seal_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.checked")


def _seal_text(path: Path, file: File) -> str:
    return "\n".join([_stamp(path), *_digests(file)])


def _text(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text()
    return ""


def require_all(data: Dataset, path: Path) -> Dataset:
    """Refuses a file that holds fewer or more rows than the official one."""
    if len(data) != data.card.n:
        raise DataError(
            f"{path} holds {len(data):,} images; {data.card.name} has {data.card.n:,}.",
            "Delete it and get the official file.",
        )
    return data


def require_space(
    folder: Path, wanted: int, what: str, *, chosen_by: str = "VAESCOPE_DATA"
) -> None:
    """Refuses to start what the disk cannot hold, or a folder that cannot be written, which the
    user can change by `chosen_by`."""
    if not os.access(folder, os.W_OK):
        raise DiskError(
            f"{what} needs to write in {folder}, which is not allowed.",
            f"Set {chosen_by} to a folder that can be written.",
        )
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise DiskError(
            f"{what} needs {wanted / 1e9:,.2f} GB in {folder}; {free / 1e9:,.2f} GB are free.",
            f"Free some space, or set {chosen_by} to a folder with more of it.",
        )


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Lets one process at a time make `path`; others wait."""
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def converted(
    sources: Sequence[Path],
    name: str,
    shape: tuple[int, ...],
    chunks: Iterable[NDArray[np.uint8]],
    progress: Progress | None,
) -> NDArray[np.uint8]:
    """The rows of `chunks` as a memory map called `name` beside the first source.

    `chunks` are asked for only the first time, or when a source has changed since.
    """
    target = sources[0].with_name(name)
    stamp = "\n".join([*map(_stamp, sources), str(shape)])

    def current() -> bool:
        return target.exists() and _text(_seal_of(target)) == stamp

    if not current():
        require_space(target.parent, math.prod(shape), f"Converting {sources[0].name}")
        with alone(target):
            if not current():
                write_rows(target, shape, chunks, progress)
                _seal_of(target).write_text(stamp)
    return _mapped(target, shape)


def write_rows(
    target: Path,
    shape: tuple[int, ...],
    chunks: Iterable[NDArray[np.uint8]],
    progress: Progress | None = None,
) -> None:
    """The rows of `chunks` as an npy file that is whole or not there."""
    scratch = target.with_name(f".{target.name}.part")
    done, total = 0, math.prod(shape)
    try:
        with scratch.open("wb") as file:
            fields = {"descr": "|u1", "fortran_order": False, "shape": shape}
            npy.write_array_header_1_0(file, fields)
            for chunk in chunks:
                assert chunk.dtype == np.uint8 and chunk.shape[1:] == shape[1:]
                with disk_errors(target, by="VAESCOPE_DATA"):
                    file.write(np.ascontiguousarray(chunk).data)
                done += chunk.nbytes
                if progress:
                    progress(target.name, done, total)
            assert done == total, f"{done} bytes of {total}"
            with disk_errors(target, by="VAESCOPE_DATA"):
                file.flush()
                os.fsync(file.fileno())
        scratch.replace(target)
    except BaseException:  # also Ctrl-C: gigabytes must not stay behind
        scratch.unlink(missing_ok=True)
        raise


def _mapped(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    remedy = f"Delete {path}: it is made again when it is next needed."
    with reading(path, remedy):
        pixels = np.load(path, mmap_mode="r", allow_pickle=False)
    if pixels.shape != shape or pixels.dtype != np.uint8:
        raise DataError(
            f"{path} is {pixels.dtype} of shape {pixels.shape}; wanted uint8 of {shape}.", remedy
        )
    return np.asarray(pixels)  # a plain array over the same map: indexing it costs less
