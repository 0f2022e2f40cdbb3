"""All runs below a folder, in memory and in a SQLite file that is only a cache.

A scan looks at the time stamps of a few files of each run and reads those runs that changed. A
setting, which many seeds share, is kept once.
"""

import json
import os
import sqlite3
import threading
import time
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from vaescope.errors import VaescopeError
from vaescope.paths import cache_folder
from vaescope.reading import open_regular, parse_json
from vaescope.serving.confinement import is_inside
from vaescope.tables import Value, read_exported_row, read_row

__all__ = ["OF_RUNS", "Index", "IndexedRun", "Snapshot"]

#: Of the cache: another one is thrown away.
VERSION = 1
#: Folders within folders that are searched for runs.
DEPTH = 6
#: Files whose time stamp and size say whether a run changed; vaescope renames all others into
#: place, which changes the folder's own time stamp.
FILES = ("spec.json", "history.jsonl", "scores.json")
#: Seconds between two scans, at least; and how many times as long as a scan took.
PAUSE, SHARE = 2.0, 3.0
#: Columns that are of a run and not of its setting.
OF_RUNS = ("seed", "state", "run", "star")
#: Settings that do not change what is trained.
IGNORED = ("logging.",)

State = str  # done, unfinished, failed or damaged


class IndexedRun(NamedTuple):
    """What the index knows of one run; a row of the cache as it is."""

    path: str  # below the folder that is served
    stamp: str  # changes with the run's files
    inode: int  # of its folder, which a rename keeps
    setting: int  # its place among the settings; -1 where nothing could be read
    seed: int | None
    state: State
    measures: int  # place of the names of its numbers among `Snapshot.measures`
    numbers: bytes  # 64-bit floats
    error: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def values(self) -> "array[float]":
        return array("d", self.numbers)


@dataclass(frozen=True)
class Snapshot:
    """The runs as one scan saw them; never changed afterwards."""

    version: int
    entries: tuple[IndexedRun, ...]
    settings: tuple[Mapping[str, Value], ...]
    measures: tuple[tuple[str, ...], ...]  # names of numbers that some runs have together
    places: Mapping[str, int]  # path -> place in `entries`
    seconds: float  # that the scan took
    read: int  # runs that it read
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # made of it

    def find(self, path: str) -> IndexedRun | None:
        place = self.places.get(path)
        return None if place is None else self.entries[place]

    def results(self, entry: IndexedRun) -> dict[str, float]:
        """The numbers of a run by name."""
        return dict(zip(self.measures[entry.measures], entry.values(), strict=True))


class Index:
    """Keeps the snapshot of a folder up to date."""

    def __init__(self, root: Path, cache: Path | None = None) -> None:
        self.root = root.resolve()
        self._lock = threading.Lock()
        self._settings: list[dict[str, Value]] = []
        self._numbers: dict[tuple[tuple[str, Value], ...], int] = {}  # setting -> its place
        self._measures: dict[tuple[str, ...], int] = {}
        self._entries: dict[str, IndexedRun] = {}
        self._gone: dict[str, int] = {}  # path that vanished -> inode
        self._scanned = 0.0
        self._asked = time.monotonic()
        self._database = _opened(cache, self.root)
        self._load()
        self.snapshot = Snapshot(0, (), (), (), {}, 0.0, 0)

    def refresh(self, *, now: bool = False) -> Snapshot:
        """Scans, unless a scan ended just before and it need not be `now`."""
        self._asked = time.monotonic()
        with self._lock:
            pause = max(PAUSE, SHARE * self.snapshot.seconds)
            if now or not self.snapshot.version or time.monotonic() - self._scanned > pause:
                self._scan()
            return self.snapshot

    def moved(self, path: str) -> str | None:
        """Where the folder is now that was at `path` before, if it was renamed."""
        inode = self._gone.get(path)
        return next((e.path for e in self.snapshot.entries if e.inode == inode), None)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _load(self) -> None:
        for (content,) in self._database.execute("select content from settings order by id"):
            setting = parse_json(content)
            self._numbers[tuple(setting.items())] = len(self._settings)
            self._settings.append(setting)
        for (content,) in self._database.execute("select content from measures order by id"):
            self._measures[tuple(parse_json(content))] = len(self._measures)
        rows = map(IndexedRun._make, self._database.execute("select * from runs"))
        self._entries = {entry.path: entry for entry in rows}

    def _scan(self) -> None:
        begun = time.monotonic()
        found: dict[str, IndexedRun] = {}
        fresh: list[IndexedRun] = []
        for path, folder in _run_folders(str(self.root)):
            stamp, inode = _stamp(folder)
            known = self._entries.get(path)
            if known is None or known.stamp != stamp:
                known = self._read(path, folder, stamp, inode)
                if known is None:
                    continue
                fresh.append(known)
            found[path] = known
        lost = self._entries.keys() - found.keys()
        self._gone |= {path: self._entries[path].inode for path in lost}
        if fresh or lost or not self.snapshot.version:
            self._entries = found
            self._store(fresh, lost)
            entries = tuple(found[path] for path in sorted(found))
            self.snapshot = Snapshot(
                self.snapshot.version + 1, entries, tuple(self._settings), tuple(self._measures),
                {entry.path: place for place, entry in enumerate(entries)},
                time.monotonic() - begun, len(fresh),
            )  # fmt: skip
        self._scanned = time.monotonic()

    def _read(self, path: str, folder: str, stamp: str, inode: int) -> IndexedRun | None:
        def damaged(says: str) -> IndexedRun:
            shape = self._shape(())
            return IndexedRun(path, stamp, inode, -1, None, "damaged", shape, b"", _text(says))

        leaving = _leaving(str(self.root), folder)
        if leaving:
            return damaged(f"{leaving} is a link that leaves the folder that is served.")
        try:
            parent, name = os.path.split(folder)
            row = read_row(parent, name) or read_exported_row(parent, name)
        except VaescopeError as error:
            return damaged(str(error).replace(f"{self.root}/", ""))
        except OSError as error:  # deleted while it was read, or not for us
            return damaged(f"It cannot be read: {error.strerror}.")
        if row is None:
            return None
        settings = {
            name if name.isascii() else _text(name): _text(value) if type(value) is str else value
            for name, value in row.settings.items()
            if name != "seed" and not name.startswith(IGNORED)
        }
        seed = row.settings.get("seed")
        taken = {*settings, *OF_RUNS}  # a result of the same name would hide a setting
        numbers = {
            f"result.{name}" if name in taken else name if name.isascii() else _text(name): (
                float(value)
            )
            for name, value in row.results.items()
            if isinstance(value, int | float)
        }
        failure = _text(str(row.results.get("error", "")))
        return IndexedRun(
            path, stamp, inode, self._number(settings), seed if isinstance(seed, int) else None,
            "done" if row.done else "failed" if failure else "unfinished",
            self._shape(tuple(numbers)), array("d", numbers.values()).tobytes(), failure,
        )  # fmt: skip

    def _number(self, settings: dict[str, Value]) -> int:
        key = tuple(settings.items())
        if key not in self._numbers:
            self._numbers[key] = len(self._settings)
            self._settings.append(settings)
        return self._numbers[key]

    def _shape(self, names: tuple[str, ...]) -> int:
        return self._measures.setdefault(names, len(self._measures))

    def _store(self, fresh: list[IndexedRun], lost: set[str]) -> None:
        with suppress(sqlite3.Error), self._database:  # a full disk costs the cache, not the page
            for table, contents in (("settings", self._settings), ("measures", [*self._measures])):
                stored = self._database.execute(f"select count(*) from {table}").fetchone()[0]  # noqa: S608
                new = ((n, json.dumps(contents[n])) for n in range(stored, len(contents)))
                self._database.executemany(f"insert into {table} values (?, ?)", new)  # noqa: S608
            self._database.executemany("delete from runs where path = ?", ((p,) for p in lost))
            marks = ", ".join("?" * len(IndexedRun._fields))
            self._database.executemany(f"insert or replace into runs values ({marks})", fresh)  # noqa: S608


def _opened(cache: Path | None, root: Path) -> sqlite3.Connection:
    """The cache of a folder; in memory where it cannot be written, anew where it is damaged."""
    name = f"{sha256(str(root).encode(errors='surrogateescape')).hexdigest()[:16]}.sqlite"
    folder = (cache_folder() / "serve") if cache is None else cache
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / name
        try:
            return _tables(sqlite3.connect(path, check_same_thread=False, timeout=1.0))
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
            return _tables(sqlite3.connect(path, check_same_thread=False, timeout=1.0))
    except (OSError, sqlite3.Error):
        return _tables(sqlite3.connect(":memory:", check_same_thread=False))


def _tables(database: sqlite3.Connection) -> sqlite3.Connection:
    (version,) = database.execute("pragma user_version").fetchone()
    with database:
        if version != VERSION:
            for table in ("runs", "settings", "measures"):
                database.execute(f"drop table if exists {table}")
            database.execute(f"pragma user_version = {VERSION}")
        for table in ("settings", "measures"):
            database.execute(
                f"create table if not exists {table} (id integer primary key, content text)"
            )
        database.execute(
            "create table if not exists runs (path text primary key, stamp text, inode integer, "
            "setting integer, seed integer, state text, measures integer, numbers blob, error text)"
        )
    # Also what a damaged file hides until it is read.
    database.execute("select count(*), max(length(numbers)) from runs").fetchone()
    return database


def _run_folders(root: str) -> Iterator[tuple[str, str]]:
    """Every run and every export, by its name below `root`; no folder is searched inside one."""
    if _holds_run(root, root):
        yield ".", root
        return
    waiting = [("", root, 0)]
    while waiting:
        prefix, folder, depth = waiting.pop()
        for name, path in _subfolders(root, folder):
            if _holds_run(root, path):
                yield prefix + name, path
            elif depth < DEPTH:
                waiting.append((f"{prefix}{name}/", path, depth + 1))


def _holds_run(root: str, folder: str) -> bool:
    """Whether it has a spec.json, or a config.json that `vs.save_pretrained` wrote."""
    if os.path.lexists(f"{folder}/spec.json"):
        return True
    config = f"{folder}/config.json"
    if not os.path.lexists(config) or not is_inside(root, config):
        return False
    try:
        with open_regular(config) as file:
            return b'"library": "vaescope"' in file.read(200)
    except (OSError, ValueError):
        return False


def _subfolders(root: str, folder: str) -> list[tuple[str, str]]:
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or not _readable(entry.name):
                    continue
                if entry.is_symlink():
                    if not (os.path.isdir(entry.path) and is_inside(root, entry.path)):
                        continue
                elif not entry.is_dir(follow_symlinks=False):
                    continue
                found.append((entry.name, entry.path))
    except OSError:  # deleted meanwhile, or not for us
        return []
    return found


def _text(text: str) -> str:
    """Text that can be stored and sent: JSON may hold halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _readable(name: str) -> bool:
    """Whether a name is text: other bytes have no place in an address."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _leaving(root: str, folder: str) -> str:
    """The first file of a run that is a link to somewhere outside."""
    try:
        with os.scandir(folder) as entries:
            return next(
                (e.name for e in entries if e.is_symlink() and not is_inside(root, e.path)), ""
            )
    except OSError:
        return ""


def _stamp(folder: str) -> tuple[str, int]:
    """A text that changes with the run's files, and the folder's inode."""
    try:
        info = os.stat(folder)
    except OSError:
        return "", 0
    parts = [f"{info.st_mtime_ns} {info.st_ino}"]
    for name in FILES:
        try:
            file = os.lstat(f"{folder}/{name}")
            parts.append(f"{file.st_mtime_ns} {file.st_size}")
        except OSError:
            parts.append("")
    if not parts[1]:  # no spec.json: an export
        with suppress(OSError):
            parts.append(str(os.lstat(f"{folder}/config.json").st_mtime_ns))
    return ",".join(parts), info.st_ino & (2**63 - 1)  # what SQLite takes
