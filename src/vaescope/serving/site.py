"""What all pages of a server share: the index, notes, jobs, and what was allowed."""

import threading
import time
import zlib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from vaescope import __version__
from vaescope.paths import cache_folder
from vaescope.serving.confinement import OutsideError, require_inside, require_run
from vaescope.serving.decoder_process import DecoderProcess
from vaescope.serving.index import Index, IndexedRun, Snapshot
from vaescope.serving.jobs import Jobs
from vaescope.serving.live import held_locks, is_running
from vaescope.serving.notes import Notes

__all__ = ["MovedError", "Options", "Site"]

#: Seconds after the last request during which the folder is watched, and between two looks.
WATCHED, LOOK = 60.0, 0.5


@dataclass(frozen=True)
class Options:
    """How the server was started."""

    root: Path
    host: str = "127.0.0.1"
    token: str | None = None
    imports: bool = False
    cache: Path | None = None

    @property
    def public(self) -> bool:
        return self.token is not None


class MovedError(LookupError):
    """A run that is not where it was; `path` says where it is now, if that is known."""

    def __init__(self, path: str | None) -> None:
        super().__init__("It was renamed." if path else "It was deleted or renamed.")
        self.path = path


class Site:
    """The state of a server. The folder is watched by a thread while pages are open."""

    def __init__(self, options: Options) -> None:
        self.options = options
        cache = (cache_folder() / "serve") if options.cache is None else options.cache
        self.cache = cache
        self.index = Index(options.root, cache)
        self.root = self.index.root
        self.notes = Notes(self.root)
        self.jobs = Jobs(cache / "pages")
        self.decoder = DecoderProcess()
        self.running: frozenset[str] = frozenset()
        self._shown: set[str] = set()
        self._asked = time.monotonic()
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def snapshot(self) -> Snapshot:
        """The runs as they were a moment ago; the first time, as they are."""
        self._asked = time.monotonic()
        snapshot = self.index.snapshot
        return snapshot if snapshot.version else self.index.refresh()

    @property
    def tag(self) -> str:
        """Changes when a page over the runs would."""
        content = f"{sorted(self.running)} {sorted(self.notes.read().items(), key=lambda n: n[0])}"
        return f"{self.snapshot().version}-{zlib.crc32(content.encode('utf-8', 'replace')):08x}"

    def entry(self, path: str) -> IndexedRun:
        """The run at a path, which the index knows and which still is there."""
        entry = self.snapshot().find(path)
        if entry is None:
            entry = self.index.refresh().find(path)
        if entry is None:
            raise MovedError(self.index.moved(path))
        try:
            require_inside(self.root, path)
        except OutsideError:
            self.index.refresh(now=True)  # it went after the last look
            raise MovedError(self.index.moved(path)) from None
        self._shown.add(path)
        return entry

    def has_shown(self, path: str) -> bool:
        """Whether there was a run at this path since the server began."""
        return path in self._shown

    def folder(self, path: str) -> Path:
        """The folder of a run, none of whose files leads elsewhere."""
        self.entry(path)
        return require_run(self.root, path)

    def is_running(self, path: str) -> bool:
        return is_running(self.root / path, held_locks())

    def task(self, kind: str, folders: list[Path]) -> dict[str, Any]:
        """What a worker is told."""
        return {
            "kind": kind, "runs": [str(folder) for folder in folders], "root": str(self.root),
            "imports": self.options.imports, "public": self.options.public,
        }  # fmt: skip

    def key(self, kind: str, stamps: list[str]) -> str:
        """The name of a page in the cache: another when a file it was made of changes."""
        return sha256("\n".join([kind, __version__, str(self.root), *stamps]).encode()).hexdigest()

    def strip_file(self, entry: IndexedRun) -> Path:
        """Where the traversals of a run are kept once they are drawn."""
        return self.cache / "strips" / f"{self.key('strip', [entry.path, entry.stamp])}.png"

    def close(self) -> None:
        self._over.set()
        self._watch.join(30.0)
        self.jobs.close()
        self.decoder.close()
        self.index.close()

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            if time.monotonic() - self._asked < WATCHED:
                snapshot, locks = self.index.refresh(), held_locks()
                self.running = frozenset(
                    entry.path
                    for entry in snapshot.entries
                    if entry.state in ("unfinished", "failed")
                    and is_running(f"{self.root}/{entry.path}", locks)
                )
