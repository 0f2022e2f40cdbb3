"""All runs below a folder, in memory and in a SQLite file that is only a cache.

A scan looks at the time stamps of a few files of each run and reads those runs that changed. A
setting, which many seeds share, is kept once.
"""

import json
import os
import re
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
from vaescope.tables import Value, read_exported_row, read_results, read_spec, settings_of

__all__ = ["OF_RUNS", "Index", "IndexedRun", "Snapshot"]

#: Of the cache: another one is thrown away.
VERSION = 1
#: Folders within folders that are searched for runs.
DEPTH = 6
#: Seconds between two scans, at least; and how many times as long as a scan took.
PAUSE, SHARE = 2.0, 3.0
#: Columns that are of a run and not of its setting.
OF_RUNS = ("seed", "state", "run", "star")
#: Settings that do not change what is trained.
IGNORED = ("logging.",)

#: The seed as vaescope writes it into spec.json.
_SEED = re.compile(rb'\n "seed": (0|[1-9]\d{0,17})(?=[,\n])')

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
        self._specs: dict[tuple[bytes, bytes], int] = {}  # around the seed -> setting; of one scan
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
        for path, folder, stamp, inode in _run_folders(str(self.root)):
            known = self._entries.get(path)
            if known is None or known.stamp != stamp:
                known = self._read(path, folder, stamp, inode)
                if known is None:
                    continue
                fresh.append(known)
            found[path] = known
        self._specs.clear()
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
            content = read_spec(folder)
            if content is not None:
                setting, seed = self._setting(content, folder)
                done, results = read_results(folder, content)
            else:
                row = read_exported_row(*os.path.split(folder))
                if row is None:
                    return None
                setting, seed = self._number(row.settings), row.settings.get("seed")
                done, results = row.done, dict(row.results)
        except VaescopeError as error:
            return damaged(str(error).replace(f"{self.root}/", ""))
        except OSError as error:  # deleted while it was read, or not for us
            return damaged(f"It cannot be read: {error.strerror}.")
        failure = _text(str(results.get("error", "")))
        numbers = self._named(
            {name: v for name, v in results.items() if isinstance(v, int | float)}, setting
        )
        return IndexedRun(
            path, stamp, inode, setting, seed if isinstance(seed, int) else None,
            "done" if done else "failed" if failure else "unfinished",
            self._shape(tuple(numbers)), array("d", numbers.values()).tobytes(), failure,
        )  # fmt: skip

    def _setting(self, content: bytes, folder: str) -> tuple[int, Value]:
        """The place of the setting that a spec.json has, and the seed. Texts that differ in the
        digits of the seed alone are read once."""
        seed = _SEED.search(content)
        # Its name stands there once, and so nothing else than these digits says the seed.
        if seed is None or content.count(b'"seed"') > 1 or b"\\" in content:
            settings = settings_of(content, folder)
            return self._number(settings), settings.get("seed")
        text = content[: seed.start(1)], content[seed.end(1) :]
        setting = self._specs.get(text)
        if setting is None:
            settings = settings_of(content, folder)
            setting = self._number(settings)
            if "seed" not in settings:  # it is of a part
                return setting, None
            self._specs[text] = setting
        return setting, int(seed[1])

    def _number(self, settings: Mapping[str, Value]) -> int:
        """The place of a setting, whatever its seed."""
        kept = {
            name if name.isascii() else _text(name): _text(value) if type(value) is str else value
            for name, value in settings.items()
            if name != "seed" and not name.startswith(IGNORED)
        }
        key = tuple(kept.items())
        if key not in self._numbers:
            self._numbers[key] = len(self._settings)
            self._settings.append(kept)
        return self._numbers[key]

    def _named(self, numbers: Mapping[str, float], setting: int) -> Mapping[str, float]:
        """Numbers of a run by names that hide no setting."""
        settings = self._settings[setting]
        if tuple(numbers) in self._measures and settings.keys().isdisjoint(numbers):
            return numbers  # as those of another run
        taken = {*settings, *OF_RUNS}
        return {f"result.{n}" if n in taken else _text(n): v for n, v in numbers.items()}

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


def _run_folders(root: str) -> Iterator[tuple[str, str, str, int]]:
    """Every run and every export, by its name below `root`, with its stamp and inode; no folder is
    searched inside one."""
    stamp, inode = _stamp(root, root)
    if stamp:
        yield ".", root, stamp, inode
        return
    waiting = [("", root, 0)]
    while waiting:
        prefix, folder, depth = waiting.pop()
        for name, path in _subfolders(root, folder):
            stamp, inode = _stamp(root, path)
            if stamp:
                yield prefix + name, path, stamp, inode
            elif depth < DEPTH:
                waiting.append((f"{prefix}{name}/", path, depth + 1))


def _stamp(root: str, folder: str) -> tuple[str, int]:
    """A text that changes with the files of a run or export, and the folder's inode; the text is
    empty where a folder holds neither. Most of the time of a scan is here.

    vaescope renames all other files into place, which changes the folder's own time stamp."""
    spec, history, scores = (
        _file_stamp(f"{folder}/spec.json"), _file_stamp(f"{folder}/history.jsonl"),
        _file_stamp(f"{folder}/scores.json"),
    )  # fmt: skip
    config = ""
    if not spec:
        if not _is_export(root, folder):
            return "", 0
        config = f",{_file_stamp(f'{folder}/config.json').partition(' ')[0]}"
    try:
        info = os.stat(folder)
    except OSError:  # deleted meanwhile
        return "", 0
    inode = info.st_ino
    stamp = f"{info.st_mtime_ns} {inode},{spec},{history},{scores}{config}"
    return stamp, inode & (2**63 - 1)  # what SQLite takes


def _file_stamp(path: str) -> str:
    try:
        info = os.lstat(path)
    except OSError:
        return ""
    return f"{info.st_mtime_ns} {info.st_size}"


def _is_export(root: str, folder: str) -> bool:
    """Whether it has a config.json that `vs.save_pretrained` wrote."""
    config = f"{folder}/config.json"
    if not os.path.lexists(config) or not is_inside(root, config):
        return False
    try:
        with open_regular(config) as file:
            return b'"library": "vaescope"' in file.read(200)
    except (OSError, ValueError):
        return False


def _subfolders(root: str, folder: str) -> list[tuple[str, str]]:
    """Names and paths, in the order in which a disk has them."""
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
                found.append((entry.inode(), entry.name, entry.path))
    except OSError:  # deleted meanwhile, or not for us
        return []
    return [(name, path) for _, name, path in sorted(found)]


def _text(text: str) -> str:
    """Text that can be stored and sent: JSON may hold halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _readable(name: str) -> bool:
    """Whether a name is text: other bytes have no place in an address."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _leaving(root: str, folder: str) -> str:
    """The first file of a run that is a link to somewhere outside."""
    try:
        with os.scandir(folder) as entries:
            return next(
                (e.name for e in entries if e.is_symlink() and not is_inside(root, e.path)), ""
            )
    except OSError:
        return ""
