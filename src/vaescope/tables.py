"""Runs and their scores as tidy rows: one row per run folder, one column per dotted name."""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from vaescope.allocator import collection_paused
from vaescope.errors import RunError, UsageError
from vaescope.paths import disk_errors, replace_file
from vaescope.reading import limits_held, parse_json, read_end, read_regular
from vaescope.sealing import is_sealed, sealed_rows, sha256_of
from vaescope.specs import FORMAT
from vaescope.types import Double

__all__ = [
    "Row",
    "Table",
    "Value",
    "read_exported_row",
    "read_results",
    "read_row",
    "read_spec",
    "read_table",
    "save_table",
    "settings_of",
    "table_of",
]

Value = str | int | float | bool | None
_ENCODED = json.JSONEncoder().encode
_RESTORE = (
    "Restore it, or delete the folder of this run; `vaescope check` says what can be rebuilt."
)


@dataclass(frozen=True, slots=True)
class Row:
    """What the folder of one run says: how it was set, and what came of it."""

    run: str
    done: bool
    settings: Mapping[str, Value]
    results: Mapping[str, Value]


@final
@dataclass(frozen=True)
class Table:
    """Columns of equal length by name; None where a run has no such value.

    `run`, `seed` and `done` come first, then settings by their dotted keys, then results.
    """

    settings: Mapping[str, Sequence[Value]]
    results: Mapping[str, Sequence[Value]]

    @property
    def columns(self) -> Mapping[str, Sequence[Value]]:
        return {**self.settings, **self.results}

    def __len__(self) -> int:
        return len(self.settings["run"])

    def rows(self) -> Iterator[dict[str, Value]]:
        columns = self.columns
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def numbers(self, name: str) -> Double:
        """A column as floats: NaN where there is no number."""
        return np.array([_float(value) for value in self.columns[name]], dtype=np.float64)

    def select(self, places: Iterable[int]) -> "Table":
        """Some of the rows."""
        kept = list(places)

        def of(columns: Mapping[str, Sequence[Value]]) -> dict[str, Sequence[Value]]:
            return {name: [values[i] for i in kept] for name, values in columns.items()}

        return Table(of(self.settings), of(self.results))

    def varying(self) -> list[str]:
        """Settings that are not the same in all rows, without the name of the run."""
        return [
            name
            for name, values in self.settings.items()
            if name not in ("run", "done") and len(set(values)) > 1
        ]

    def measures(self) -> list[str]:
        """Results that are numbers and differ between runs."""
        found = []
        for name in self.results:
            numbers = self.numbers(name)
            known = numbers[np.isfinite(numbers)]
            if known.size > 1 and np.ptp(known) > 0:
                found.append(name)
        return found


def _float(value: Value) -> float:
    return float("nan") if value is None or isinstance(value, str) else float(value)


def table_of(rows: Iterable[Row]) -> Table:
    """Rows as one table, in their order."""
    kept = list(rows)
    settings = _columns([row.settings for row in kept])
    first: dict[str, Sequence[Value]] = {
        "run": [row.run for row in kept],
        "seed": settings.pop("seed", [None] * len(kept)),
        "done": [row.done for row in kept],
        **settings,
    }
    results = _columns([row.results for row in kept]).items()
    # A result of the same name as a setting would hide it.
    return Table(first, {f"result.{n}" if n in first else n: values for n, values in results})


def _columns(trees: Sequence[Mapping[str, Value]]) -> dict[str, Sequence[Value]]:
    """Values by name, names in the order in which they come first."""
    names = list(trees[0]) if trees else []
    if any(list(tree) != names for tree in trees):
        names = list(dict.fromkeys(name for tree in trees for name in tree))
        return {name: [tree.get(name) for tree in trees] for name in names}
    values = zip(*(tree.values() for tree in trees), strict=True)  # no name is looked up
    return {name: list(own) for name, own in zip(names, values, strict=True)}


def read_table(folder: Path, *, timing: bool = False) -> Table:
    """The runs in a folder, or the one that the folder is. `timing` adds `seconds`, which differ
    from one execution of the same runs to the next; everything else does not."""
    if not folder.is_dir():
        raise RunError(f"There is no folder {folder}.", "Give the --out of a sweep.")
    if (folder / "spec.json").exists():
        names, parent = [folder.name], folder.parent
    else:
        names, parent = sorted(_folders(folder), key=_natural), folder
    with collection_paused(), limits_held():  # rows have no cycles
        rows = [read_row(str(parent), name, timing=timing) for name in names]
        table = table_of(row for row in rows if row is not None)
    if not len(table):
        raise RunError(f"There are no runs in {folder}.", "Give the --out of a sweep.")
    return table


def _folders(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return [e.name for e in entries if not e.name.startswith(".") and _is_folder(e)]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    """Also a link to one; a loop of links is none."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def _natural(name: str) -> list[tuple[int, str]]:
    """`s10` after `s2`."""
    return [(int(part or -1), text) for text, part in re.findall(r"(\D*)(\d*)", name)]


def read_row(folder: Path | str, name: str, *, timing: bool = False) -> Row | None:
    """The row of one run; None where the folder holds no run. Reads few files, whole ones only."""
    run = f"{folder}/{name}"  # ten thousand Path objects take a second
    if (content := read_spec(run)) is None:
        return None
    settings = settings_of(content, run)
    done, results = read_results(run, content)
    if timing:
        results["seconds"] = _seconds(run)
    return Row(name, done, settings, results)


def read_spec(run: str) -> bytes | None:
    """The spec.json of a run; None where there is none."""
    return _read(run, "spec.json")


def settings_of(content: bytes, run: str) -> dict[str, Value]:
    """What the spec.json of a run says, by dotted keys; `run` is named where it is damaged."""
    return _settings(_loaded(content, run, "spec.json"), run, "spec.json")


def read_results(run: str, content: bytes) -> tuple[bool, dict[str, Value]]:
    """Whether the run whose spec.json holds `content` is finished, and what came of it."""
    done = _json(run, "done.json")
    # Files with a seal are read as a whole, once; of a history without one the end is enough.
    read = {} if done is None else _require_seals(run, done, {"spec.json": content})
    if (history := read.get("history.jsonl")) is None:
        last = _last_line(run, "history.jsonl")
    else:
        last = _last_of(history, run, "history.jsonl")
    results: dict[str, Value] = {}
    _flatten_results(last or {}, "", results)
    _flatten_results(_json(run, "scores.json") or {}, "", results)
    finished = done is not None and os.path.exists(f"{run}/weights.safetensors")
    failure = None if finished else _json(run, "failed.json")
    if failure is not None:
        results["error"] = f"{failure.get('type')}: {failure.get('message')}"
    return finished, results


def read_exported_row(folder: Path | str, name: str) -> Row | None:
    """The row of a folder that `vs.save_pretrained` wrote, as `read_row` of a run; None where its
    config.json is not ours."""
    run = os.path.join(folder, name)
    config = _json(run, "config.json")
    if config is None or config.get("library") != "vaescope":
        return None
    files, spec = config.get("files", {}), config.get("experiment")
    if not isinstance(spec, dict) or not isinstance(files, dict):
        raise RunError(f"{run}/config.json is damaged: it lacks the experiment.", _RESTORE)
    settings = _settings({"format": config.get("format"), **spec}, run, "config.json")
    light = {name: seal for name, seal in files.items() if not name.endswith(".safetensors")}
    # The seal is of the whole document; of its files the weights are checked when it is opened.
    _require_seals(run, config, {}, files=light)
    results: dict[str, Value] = {}
    _flatten_results(_last_line(run, "history.jsonl") or {}, "", results)
    return Row(name, os.path.exists(f"{run}/model.safetensors"), settings, results)


def _settings(spec: dict[str, Any], run: str, name: str) -> dict[str, Value]:
    version = spec.pop("format", FORMAT)
    if not isinstance(version, int) or version > FORMAT:
        raise RunError(
            f"{run}/{name} has format {version}; this vaescope reads up to {FORMAT}.",
            "Install a newer vaescope.",
        )
    found: dict[str, Value] = {}
    _flatten(spec, "", found)
    return found


def _read(run: str, name: str) -> bytes | None:
    try:
        return read_regular(f"{run}/{name}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise RunError(f"{run}/{name} cannot be read: {error}.", _RESTORE) from error


def _json(run: str, name: str) -> dict[str, Any] | None:
    content = _read(run, name)
    return None if content is None else _loaded(content, run, name)


def _loaded(content: bytes, run: str, name: str) -> dict[str, Any]:
    try:
        loaded = parse_json(content)
        if not isinstance(loaded, dict):
            raise ValueError("it is not a mapping of keys")
    except ValueError as error:
        says = f"{run}/{name} is damaged: {error}."
        raise RunError(says, "Restore it, or delete the folder of this run.") from error
    return loaded


def _require_seals(
    run: str,
    done: dict[str, Any],
    read: dict[str, bytes],
    *,
    files: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """The files that a finished run seals, beside those `read` already; some `files` of an export.
    Refuses a run whose files are not what they were when it ended."""
    try:
        sealed = is_sealed(done)
    except ValueError as error:
        which = "done.json" if files is None else "config.json"
        raise RunError(f"{run}/{which} is damaged: {error}.", _RESTORE) from error
    named = done.get("files") if files is None else files
    if sealed and not isinstance(named, Mapping):
        raise RunError(f"{run}/done.json is damaged: it names no files.", _RESTORE)
    for name, seal in named.items() if sealed and named is not None else ():
        content = read[name] if name in read else _read(run, name)
        if content is None and name == "environment.json":
            continue  # nothing here is read of it
        if content is None or sha256_of(content) != seal:
            says = f"{run}/{name} is damaged: it has changed since the run ended."
            raise RunError(says, _RESTORE)
        read[name] = content
    return read


def _last_of(content: bytes, run: str, name: str) -> dict[str, Any] | None:
    end = content.rfind(b"\n")
    start = content.rfind(b"\n", 0, max(end, 0)) + 1
    return _loaded(content[start:end], run, name) if end > 0 else None


def _last_line(run: str, name: str) -> dict[str, Any] | None:
    """The last whole line: a process killed while writing leaves half a line at the end."""
    try:
        tail, whole = read_end(f"{run}/{name}", most := 1 << 13)
        while not whole and tail.count(b"\n") < 2:  # it begins before what was read
            tail, whole = read_end(f"{run}/{name}", most := 4 * most)
        return _last_of(tail, run, name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise RunError(f"{run}/{name} cannot be read: {error}.", _RESTORE) from error


def _seconds(run: str) -> float | None:
    """Time spent training, over all the processes that took the run up: each begins at zero."""
    content = _read(run, "timing.jsonl")
    if content is None:
        return None
    total = before = 0.0
    try:
        for row in sealed_rows(content):
            seconds = float(row.get("seconds", before))
            total += seconds - before if seconds >= before else seconds
            before = seconds
    except (ValueError, TypeError) as error:
        raise RunError(f"{run}/timing.jsonl is damaged: {error}.", _RESTORE) from error
    return round(total, 3)


def _flatten_results(tree: Mapping[str, Any], prefix: str, into: dict[str, Value]) -> None:
    """Without lists: a score is its value; details and values per latent stay in their files."""
    for name, value in tree.items():
        kind = type(value)  # of what JSON has, no class below another
        if kind is dict:
            single = value.get("value")
            if type(single) in (int, float, bool):
                into[prefix + name] = single
            else:
                _flatten_results(value, f"{prefix}{name}.", into)
        elif kind is not list and name != "format":
            into[prefix + name] = value


def _flatten(tree: Mapping[str, Any], prefix: str, into: dict[str, Value]) -> None:
    for name, value in tree.items():
        kind = type(value)
        if kind is dict:
            _flatten(value, f"{prefix}{name}.", into)
        else:
            into[prefix + name] = _ENCODED(value) if kind is list else value


def save_table(table: Table, path: Path) -> None:
    """Writes `.csv` or `.parquet`, which the ending says."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        replace_file(path, csv_text(table).encode())
    elif path.suffix == ".parquet":
        replace_file(path, _parquet(table))
    else:
        raise UsageError(f"A table cannot be written to {path}.", "Use .csv or .parquet.")


def csv_text(table: Table) -> str:
    """Comma-separated values with all digits; empty where a run has no such value."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns = table.columns
    writer.writerow(columns)
    for values in zip(*columns.values(), strict=True):
        writer.writerow([json.dumps(v) if isinstance(v, bool) else v for v in values])
    return buffer.getvalue()


def _parquet(table: Table) -> bytes:
    try:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
        import pyarrow.parquet  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ModuleNotFoundError as error:
        raise UsageError(
            "Writing Parquet needs pyarrow, which is not installed.",
            "Run: pip install 'vaescope[parquet]', or write a .csv.",
        ) from error
    arrays = {name: pyarrow.array(_alike(values)) for name, values in table.columns.items()}
    made = pyarrow.table(arrays).replace_schema_metadata({"format": str(FORMAT)})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(made, buffer)
    return buffer.getvalue()


def _alike(values: Sequence[Value]) -> list[Value]:
    """Values of one type, as a column of Parquet needs them."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return list(values)
    if kinds == {int, float}:
        return [None if value is None else _float(value) for value in values]
    return [None if value is None else str(value) for value in values]
