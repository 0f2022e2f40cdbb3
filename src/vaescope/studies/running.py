"""Runs a study: trains or computes its cells, measures each once, and gives them as one table.

All that is found stays on disk by digest, so that a study resumes where it stopped and studies
share their runs.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from vaescope import paper_aliases
from vaescope.errors import Interrupted, RunError
from vaescope.paths import disk_errors, reading, replace_file, replacing
from vaescope.process_pool import process_pool
from vaescope.reading import read_arrays, read_json, read_regular
from vaescope.runs import Run, strict_json
from vaescope.sealing import is_sealed, seal_document, sha256_of
from vaescope.specs import FORMAT
from vaescope.studies.catalogue import cases, find
from vaescope.studies.claim_verdict import ClaimVerdict, decide
from vaescope.studies.effects import distinct
from vaescope.studies.study import Computed, Scale, Study, Trained, Work
from vaescope.sweeps.driver import sweep
from vaescope.sweeps.engine import Engine, make_engine
from vaescope.sweeps.grid import Plan, plan
from vaescope.sweeps.worker import InlineEngine
from vaescope.tables import Row, Table, Value, table_of

__all__ = ["Outcome", "Progress", "joined", "load_outcome", "run_study", "save_outcome"]

Pictures = Mapping[str, NDArray[Any]]
#: (what is under way, how many are done, of how many)
Progress = Callable[[str, int, int], None]
#: Seconds between two looks for a signal while processes measure.
_LOOK = 0.2


def _silent(what: str, done: int, total: int) -> None:
    pass


@final
@dataclass(frozen=True)
class Outcome:
    """What came of a study at one scale: a row for each cell, and the pictures of some rows."""

    study: str
    scale: Scale
    digest: str
    table: Table
    versions: Mapping[str, str]
    machine: str = "unknown"  # where it was run, in words
    pictures: tuple[Pictures, ...] = ()  # by row; none where they were not kept

    def verdicts(self, registered: str = "not registered") -> list[ClaimVerdict]:
        """Verdicts of this study alone: all other claims of the catalogue count as undecided."""
        (study,) = find(self.study)
        judged = decide(cases({self.study: (distinct(self.table, "seed"), registered)}))
        return [verdict for verdict in judged if verdict.claim in study.claims]


def run_study(
    study: Study,
    scale: Scale,
    out: Path,
    *,
    units: Sequence[int] | None = None,
    on: str = "local",
    workers: int | None = None,
    stop: Callable[[], int] = lambda: 0,
    progress: Progress = _silent,
) -> Outcome:
    """Runs a study into `out`, or finishes what is there. One worker is this process itself.

    `units` are usually seeds; None: those that the study has at this scale.
    """
    work = study.work(scale) if units is None else study.of_units(scale, units)
    folders: Sequence[Path]
    if isinstance(work, Trained):
        folders = _train(
            work, out / "runs", _engine(on, out / "runs", workers, stop), stop, progress
        )
    else:
        folders = [out / "computed"] * len(work.cells)
    places = [_place(work, index, folder) for index, folder in enumerate(folders)]
    _measure(study, scale, units, folders, places, workers, stop, progress)
    found = [_read(place) for place in places]
    rows = (
        Row(folder.name if isinstance(work, Trained) else place.stem, True, cell.columns, values)
        for cell, folder, place, (values, _) in zip(work.cells, folders, places, found, strict=True)
    )
    return Outcome(
        study.id, scale, study.digest(scale), table_of(rows), _versions(), _machine(),
        tuple(pictures for _, pictures in found),
    )  # fmt: skip


def _engine(on: str, folder: Path, workers: int | None, stop: Callable[[], int]) -> Engine:
    if on == "local" and workers == 1:
        return InlineEngine(stop)
    return make_engine(on, folder, workers)


def _train(
    work: Trained, out: Path, engine: Engine, stop: Callable[[], int], progress: Progress
) -> list[Path]:
    """Trains what is not done; the folder of each cell's run."""
    specs = plan([dict(cell.settings) for cell in work.cells], where="The study")
    failures = []
    for status in sweep(specs, out, engine, stop=stop):
        progress("training", status.done, status.total)
        failures += [one for one in status.ended if one.state == "failed"]
    if failures:
        raise RunError(
            f"{len(failures)} of {len(specs)} runs failed; the first: {failures[0].message}",
            f"See {out / failures[0].run / 'failed.json'}, then run the same command again.",
        )
    return [out / name for name in _names(work, specs)]


def _names(work: Trained, specs: Plan) -> Iterator[str]:
    """The run of each cell: cells that mean the same experiment share one."""
    if len(specs) == len(work.cells):
        yield from specs.names
        return
    for cell in work.cells:
        (name,) = plan([dict(cell.settings)]).names
        yield name


def _place(work: Work, index: int, folder: Path) -> Path:
    """Where the values of a cell are kept: by the work's key, or where the first round kept them
    by the path of its function."""
    place = _named(work, index, folder, work.key)
    if not place.exists() and work.key in paper_aliases.FUNCTIONS:
        older = _named(work, index, folder, paper_aliases.FUNCTIONS[work.key])
        return older if older.exists() else place
    return place


def _named(work: Work, index: int, folder: Path, name: str) -> Path:
    if isinstance(work, Trained):
        return folder / f"study-{name}-{work.version}.json"
    content = json.dumps(work.cells[index].columns, sort_keys=True)
    digest = hashlib.sha256(f"{name} {work.version} {content}".encode()).hexdigest()
    return folder / f"{digest[:16]}.json"


def _measure(
    study: Study,
    scale: Scale,
    units: Sequence[int] | None,
    folders: Sequence[Path],
    places: Sequence[Path],
    workers: int | None,
    stop: Callable[[], int],
    progress: Progress,
) -> None:
    """Measures the cells of which nothing is known yet, in processes of one thread each."""
    # Cells may share a run and what is measured of it.
    left = {place: index for index, place in enumerate(places) if not place.exists()}
    total = len(set(places))

    def note(done: int) -> None:
        if number := stop():
            raise Interrupted(
                f"Stopped by signal {number}: {total - len(left) + done} of {total} are measured.",
                "Run the same command again to resume.",
                number,
            )
        progress("measuring", total - len(left) + done, total)

    tasks = [
        (study.id, scale, units, index, folders[index], place) for place, index in left.items()
    ]
    note(0)
    if workers == 1 or len(tasks) < 2:
        for done, task in enumerate(tasks, 1):
            measure_cell(*task)
            note(done)
        return
    try:
        with process_pool(workers) as pool:
            under_way = {pool.submit(measure_cell, *task) for task in tasks}
            while under_way:
                ended, under_way = wait(under_way, _LOOK, FIRST_COMPLETED)
                for future in ended:
                    future.result()
                note(len(tasks) - len(under_way))
    except BrokenProcessPool as error:
        # Where a signal went to all processes, theirs may have been first.
        note(sum(place.exists() for place in left))
        raise RunError(
            "A process that measured runs died.",
            "It may have run out of memory: try --workers 1; the same command resumes.",
        ) from error


def measure_cell(
    name: str, scale: Scale, units: Sequence[int] | None, index: int, folder: Path, place: Path
) -> None:
    """Measures one cell of a study and writes what was found."""
    (study,) = find(name)
    work = study.work(scale) if units is None else study.of_units(scale, units)
    if isinstance(work, Computed):
        found = work.compute(work.cells[index].columns)
    else:
        found = work.measure(Run(folder))
    values = {key: _plain(v) for key, v in found.items() if not isinstance(v, np.ndarray)}
    pictures = {key: v for key, v in found.items() if isinstance(v, np.ndarray)}
    with disk_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    seal = None
    if pictures:
        with replacing(place.with_suffix(".npz")) as file:
            np.savez_compressed(file, **pictures)  # type: ignore[arg-type]
        seal = sha256_of(place.with_suffix(".npz").read_bytes())
    content = {"format": FORMAT, "versions": _versions(), "values": values, "pictures": seal}
    replace_file(place, (strict_json(_sealed(content)) + "\n").encode())


def _sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    return seal_document(json.loads(strict_json(content)))


def _plain(value: Value) -> Value:
    """NumPy's numbers as Python's, which JSON knows."""
    plain: Value = value.item() if isinstance(value, np.generic) else value
    return plain


def _read(place: Path) -> tuple[dict[str, Value], Pictures]:
    with reading(place, "Delete it: the same command measures it again."):
        content = read_json(place)
        is_sealed(content)
        values = content["values"]
        if not isinstance(values, dict):
            raise ValueError("its values are not a mapping of keys")
    beside = place.with_suffix(".npz")
    seal = content.get("pictures")
    if seal is None and not beside.exists():
        return values, {}
    with reading(beside, f"Delete {place}: the same command measures it again."):
        if seal not in (None, sha256_of(read_regular(beside))):
            raise ValueError("it does not match its checksum")
        return values, read_arrays(beside)


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("vaescope", "torch", "numpy", "scikit-learn")}
    return {"python": platform.python_version(), **packages}


def _machine() -> str:
    """System, kind of processor and cores: never the host's name."""
    import torch

    from vaescope.training.precision import has_bf16

    hardware = "bf16 in hardware" if has_bf16(torch.device("cpu")) else "no bf16 in hardware"
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {hardware}"


def joined(old: Outcome, new: Outcome) -> Outcome:
    """Two tables of the same work as one: rows of units that were added come last."""
    if (old.study, old.scale, old.digest) != (new.study, new.scale, new.digest):
        raise RunError(
            f"Seeds of {new.study} cannot be added to a table made with other settings.",
            "Run the study into another folder, or restore its settings.",
        )
    rows = (
        Row(str(row["run"]), True, *_parts(one.table, row))
        for one in (old, new)
        for row in one.table.rows()
    )
    pictures = (*(old.pictures or ({},) * len(old.table)), *new.pictures)
    return replace(new, table=table_of(rows), pictures=pictures)


def _parts(table: Table, row: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    settings = {name: row[name] for name in table.settings if name not in ("run", "done")}
    return settings, {name: row[name] for name in table.results}


def save_outcome(outcome: Outcome, path: Path) -> None:
    """The table of a study as JSON, column by column, with the digest of what made it."""
    content = {
        "format": FORMAT,
        "study": outcome.study,
        "scale": outcome.scale,
        "digest": outcome.digest,
        "versions": dict(outcome.versions),
        "machine": outcome.machine,
        "settings": {name: list(values) for name, values in outcome.table.settings.items()},
        "results": {name: _short(values) for name, values in outcome.table.results.items()},
    }
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    lines = json.dumps(_sealed(content), separators=(",", ":"), sort_keys=False)
    replace_file(path, (lines + "\n").encode())


def _short(values: Sequence[Value]) -> list[Value]:
    """Nine digits are more than any of these numbers has."""
    return [float(f"{v:.9g}") if isinstance(v, float) else v for v in values]


def load_outcome(path: Path) -> Outcome:
    """A table that `save_outcome` wrote."""
    try:
        content = read_json(path)
        is_sealed(content)
        table = Table(content["settings"], content["results"])
        return Outcome(
            content["study"], content["scale"], content["digest"], table, content["versions"],
            content["machine"],
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{path} is not a table of a study: {type(error).__name__} {error}.",
            "Delete it and run the study again.",
        ) from error
