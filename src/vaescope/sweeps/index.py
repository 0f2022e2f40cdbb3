"""A SQLite index of the runs of a folder: a copy for quick questions, made from the folders.

Workers never write it: SQLite's locks are not to be trusted over a network. The first driver of a
folder writes, others leave it alone; deleted or damaged, it is made anew. A sweep does not depend
on it: where it cannot be written, that is said, and the next sweep makes it.
"""

import fcntl
import json
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from vaescope.errors import RunError
from vaescope.runs import strict_json
from vaescope.specs import FORMAT
from vaescope.sweeps.leases import is_shared
from vaescope.tables import Row, read_row

__all__ = ["Index", "index_path", "indexed_rows"]

_LOG = logging.getLogger("vaescope")
_TABLE = (
    "CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, done INTEGER NOT NULL, "
    "stamp INTEGER NOT NULL, settings TEXT NOT NULL, results TEXT NOT NULL)"
)


def index_path(folder: Path) -> Path:
    return folder / "index.sqlite"


def indexed_rows(folder: Path) -> Iterator[Row]:
    """The rows of the index, which may be behind the folders."""
    with closing(
        sqlite3.connect(f"{index_path(folder).resolve().as_uri()}?mode=ro", uri=True)
    ) as db:
        query = "SELECT run, done, settings, results FROM runs ORDER BY run"
        for run, done, settings, results in db.execute(query):
            yield Row(run, bool(done), json.loads(settings), json.loads(results))


class Index:
    """The index of a folder, for the one process that may write it; for others it does nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: IO[str] | None = None
        self._database: sqlite3.Connection | None = None
        self._given_up = False

    def __enter__(self) -> "Index":
        with self._giving_up():
            self._own()
        return self

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        """At the first error, e.g. of a full disk: runs matter, their copy does not."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._given_up = True
            _LOG.warning("%s is left as it is: %s.", index_path(self._folder), error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._database is not None:
            self._database.close()
        if self._lock is not None:
            self._lock.close()

    def _own(self) -> bool:
        """Whether this process may write; from then on the index is up to date."""
        if self._given_up or self._database is not None:
            return not self._given_up
        lock = (self._folder / ".index.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return False
        self._lock = lock
        self._database = _open(self._folder)
        self.refresh()
        return True

    def update(self, names: list[str]) -> None:
        """Reads the folders of these runs anew."""
        with self._giving_up():
            if self._own():
                self._write([(name, _stamp(self._folder, name)) for name in names])

    def refresh(self) -> None:
        """Reads the folders that changed since they were indexed, and forgets those that went."""
        if self._given_up or self._database is None:
            return
        with self._giving_up():
            known = dict(self._database.execute("SELECT run, stamp FROM runs"))
            with os.scandir(self._folder) as entries:
                there = [e.name for e in entries if not e.name.startswith(".") and e.is_dir()]
            stamps = ((name, _stamp(self._folder, name)) for name in there)
            self._write([(name, stamp) for name, stamp in stamps if known.get(name) != stamp])
            gone = known.keys() - set(there)
            with self._database as db:
                db.executemany("DELETE FROM runs WHERE run = ?", [(name,) for name in gone])

    def _write(self, stamps: list[tuple[str, int]]) -> None:
        assert self._database is not None
        found = ((_row(self._folder, name), stamp) for name, stamp in stamps)
        with self._database as db:
            db.executemany(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)",
                (
                    (row.run, row.done, stamp, strict_json(row.settings), strict_json(row.results))
                    for row, stamp in found
                    if row is not None
                ),
            )


def _row(folder: Path, name: str) -> Row | None:
    """None also of a damaged run: it concerns whoever trains or reads that run."""
    try:
        return read_row(folder, name)
    except RunError:
        return None


def _stamp(folder: Path, name: str) -> int:
    """Changes whenever a run gets further than it was."""
    latest = 0
    for file in ("done.json", "scores.json", "failed.json", "history.jsonl"):
        try:
            latest = max(latest, os.stat(f"{folder}/{name}/{file}").st_mtime_ns)
        except OSError:
            continue
    return latest


def _open(folder: Path) -> sqlite3.Connection:
    path = index_path(folder)
    try:
        return _connect(path)
    except sqlite3.DatabaseError:
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    try:
        # WAL shares memory between processes, which machines cannot.
        database.execute(f"PRAGMA journal_mode = {'TRUNCATE' if is_shared(path) else 'WAL'}")
        database.execute("PRAGMA synchronous = NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            database.execute("DROP TABLE IF EXISTS runs")
        database.execute(_TABLE)
        database.execute(f"PRAGMA user_version = {FORMAT}")
        if database.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("damaged")
    except sqlite3.DatabaseError:
        database.close()
        raise
    return database
