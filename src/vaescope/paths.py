"""Where runs and data live, reading files that may be damaged, and writing files so that a crash
leaves the old or the new one."""

import errno
import os
import stat
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from vaescope.errors import DataError, DiskError

__all__ = [
    "appending",
    "cache_folder",
    "clear_scratch",
    "data_folder",
    "disk_errors",
    "reading",
    "replace_file",
    "replacing",
    "runs_folder",
]


def runs_folder() -> Path:
    """`$VAESCOPE_RUNS`, else `runs` in the working directory."""
    return Path(os.environ.get("VAESCOPE_RUNS", "runs"))


def data_folder() -> Path:
    """`$VAESCOPE_DATA`, else `vaescope` in the user's cache folder."""
    if "VAESCOPE_DATA" in os.environ:
        return Path(os.environ["VAESCOPE_DATA"])
    return cache_folder()


def cache_folder() -> Path:
    """`vaescope` in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "vaescope"


_DAMAGED = (
    OSError,  # also gzip's, Pillow's and hdf5's own
    EOFError,
    KeyError,
    ValueError,
    MemoryError,  # a header that says more than any machine holds
    RuntimeError,  # zip's, of passwords and compressions that it does not know
    SyntaxError,
    tokenize.TokenError,  # numpy's, of a header that is cut off
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
)


@contextmanager
def reading(path: Path, remedy: str = "") -> Iterator[None]:
    """Turns what a damaged file raises into an error that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist.", remedy or "Check the path.") from error
    except _DAMAGED as error:
        raise DataError(
            f"{path} cannot be read: {error}.",
            remedy or "It is truncated or not what its name says: delete it and get it again.",
        ) from error


_REASONS = {
    errno.ENOSPC: ("the disk is full", "Free some space"),
    errno.EDQUOT: ("the quota is used up", "Free some space"),
    errno.EROFS: ("the file system is read-only", "Choose a folder that can be written with {by}"),
    errno.EACCES: ("permission is denied", "Choose a folder that can be written with {by}"),
    errno.EPERM: ("permission is denied", "Choose a folder that can be written with {by}"),
    errno.ENOTDIR: ("part of the path is a file, not a folder", "Choose another {by}"),
    errno.EEXIST: ("a file of that name exists", "Choose another {by}"),
    errno.EISDIR: ("a folder of that name exists", "Choose another {by}"),
}


@contextmanager
def disk_errors(path: Path, *, by: str = "--out") -> Iterator[None]:
    """Turns a failed write into an error that says what to do; what was there before stays. `by` is
    what chooses the folder."""
    try:
        yield
    except OSError as error:
        reason, remedy = _REASONS.get(error.errno or 0, (str(error), "Look at the disk"))
        raise DiskError(
            f"Cannot write {path}: {reason}. What was saved before is intact.",
            f"{remedy.format(by=by)}, then run the same command again.",
        ) from error


@contextmanager
def appending(path: Path) -> Iterator[TextIO]:
    """A file for lines that are flushed one by one. What a failed write left is tried again as the
    file is closed, and its error would hide the one that was explained."""
    with disk_errors(path):
        file = path.open("a")
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


def replace_file(path: Path, content: bytes, *, settled: bool = True) -> None:
    """Writes `content` beside `path`, flushes it to the disk, then renames it into place. Without
    `settled` a power cut may undo the rename until the next settled file of the folder: for what
    that file needs, and what is made again where it is missing."""
    with replacing(path, settled=settled) as file:
        file.write(content)


def _refuse_special(path: Path) -> None:
    """A rename would put a file in the place of a device or a pipe, as root even of /dev/null."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DiskError(
            f"{path} is a device, a pipe or a socket; results are written to files only.",
            "Choose another --out.",
        )


@contextmanager
def replacing(path: Path, *, settled: bool = True) -> Iterator[BinaryIO]:
    """A file beside `path` to write to, which is flushed and renamed into place at the end;
    `settled` as for `replace_file`."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with disk_errors(path):
        _refuse_special(path)
        try:
            scratch.unlink(missing_ok=True)  # of a dead process that had this number
            with scratch.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        except BaseException:  # also Ctrl-C
            scratch.unlink(missing_ok=True)
            raise
        if not settled:
            return
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the rename itself must survive a power cut
        finally:
            os.close(folder)


def clear_scratch(path: Path) -> None:
    """Removes what killed processes left of writing `path`. Nobody may be writing it now."""
    for left in path.parent.glob(f".{path.name}.*"):
        if left.suffix[1:].isdigit():
            left.unlink(missing_ok=True)
