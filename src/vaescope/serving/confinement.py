"""Paths that stay inside the folder that is served, whatever names and links say."""

import os
import stat
from pathlib import Path

__all__ = ["OutsideError", "is_inside", "require_inside", "require_run"]


class OutsideError(LookupError):
    """A path that is not below the folder that is served, or that is not there."""


def is_inside(root: str, path: str) -> bool:
    """Whether a path, with all its links followed, lies in `root`, which has none."""
    real = os.path.realpath(path)
    return real == root or real.startswith(root.rstrip("/") + "/")


def require_inside(root: Path, relative: str) -> Path:
    """The folder or file of this name below `root`.

    Raises:
        OutsideError: it leaves `root`, by its name or by a link, or does not exist.
    """
    if "\0" in relative or relative.startswith("/") or ".." in relative.split("/"):
        raise OutsideError("A path must lie below the folder that is served.")
    path = os.path.join(root, relative)
    try:
        if not is_inside(str(root), path):
            raise OutsideError("A path must lie below the folder that is served.")
        os.lstat(path)
    except (OSError, ValueError) as error:  # names too long or not of this file system
        raise OutsideError("There is no such file or folder.") from error
    return Path(path)


def require_run(root: Path, relative: str) -> Path:
    """The folder of a run none of whose files is a link that leaves `root`."""
    path = require_inside(root, relative)
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                link = stat.S_ISLNK(entry.stat(follow_symlinks=False).st_mode)
                if link and not is_inside(str(root), entry.path):
                    raise OutsideError(f"{entry.name} is a link that leaves the folder.")
    except OSError as error:
        raise OutsideError("There is no such folder.") from error
    return path
