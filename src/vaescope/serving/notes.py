"""Stars and notes of runs: the one file that the server writes in the folder that it serves."""

import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from vaescope.errors import DiskError, UsageError
from vaescope.paths import replace_file
from vaescope.reading import read_json
from vaescope.runs import strict_json

__all__ = ["Note", "Notes"]

FILE = ".vaescope-notes.json"
#: Characters of a note, and runs that have one, at most.
LONGEST, MOST = 2000, 20_000


@dataclass(frozen=True)
class Note:
    """What a reader wrote beside a run."""

    star: bool = False
    text: str = ""


class Notes:
    """The notes of a folder; read again when the file changes."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._lock = threading.Lock()
        self._stamp = -1
        self._notes: dict[str, Note] = {}
        self._damaged = False

    def read(self) -> dict[str, Note]:
        """Notes by the path of their run. A damaged file is left alone and counts as none."""
        with self._lock:
            return dict(self._read())

    def _read(self) -> dict[str, Note]:
        try:
            stamp = self._path.lstat().st_mtime_ns if not self._path.is_symlink() else -2
        except OSError:
            stamp = -2
        if stamp != self._stamp:
            found = {} if stamp == -2 else _notes_in(self._path)
            self._notes, self._damaged = found or {}, found is None
            self._stamp = stamp
        return self._notes

    def write(self, run: str, note: Note) -> None:
        """Keeps a note; one that says nothing is removed."""
        if len(note.text) > LONGEST:
            raise UsageError(f"A note has at most {LONGEST} characters.", "Write less.")
        with self._lock:
            if self._path.is_symlink():
                raise DiskError(f"{FILE} is a link.", "Remove it to keep stars and notes.")
            notes = {**self._read(), run: note}
            if self._damaged:
                raise DiskError(f"{FILE} is damaged.", "Restore it, or remove it to begin anew.")
            notes = {path: one for path, one in notes.items() if one != Note()}
            if len(notes) > MOST:
                raise UsageError(f"{MOST} runs have notes.", "Remove some.")
            content = {"format": 1, "runs": {path: asdict(one) for path, one in notes.items()}}
            replace_file(self._path, (strict_json(content, indent=1) + "\n").encode())
            self._stamp = -1


def _notes_in(path: Path) -> dict[str, Note] | None:
    """None where the file is damaged."""
    try:
        runs = read_json(path)["runs"]
        return {
            str(run): Note(bool(one.get("star")), str(one.get("text", ""))[:LONGEST])
            for run, one in runs.items()
            if isinstance(one, dict)
        }
    except (OSError, ValueError, KeyError, AttributeError):
        return None
