"""Trains the runs of a task. Writes files only; an error stays in the folder of its run."""

import json
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TextIO

from vaescope.allocator import keep_freed_memory
from vaescope.errors import BusyError, Interrupted, VaescopeError
from vaescope.own_parts.paths import search_in
from vaescope.paths import replace_file
from vaescope.runs import Run, strict_json
from vaescope.settings import experiment
from vaescope.specs import FORMAT
from vaescope.sweeps.engine import Ended, Job, Task, WorkOutcome
from vaescope.sweeps.leases import held, lease

if TYPE_CHECKING:
    from vaescope.data import Dataset
    from vaescope.specs import Experiment

__all__ = ["InlineEngine", "failure_path", "record_failure", "serve", "task_of", "work"]

Stop = Callable[[], int]


def failure_path(run: Path) -> Path:
    """Where the error of a run is kept until the run is done."""
    return run / "failed.json"


def record_failure(run: Path, kind: str, message: str, remedy: str, trace: str) -> None:
    """Leaves the error beside what the run has so far."""
    content = {"format": FORMAT, "type": kind, "message": message, "remedy": remedy}
    run.mkdir(parents=True, exist_ok=True)
    text = strict_json({**content, "traceback": trace}, indent=1) + "\n"
    replace_file(failure_path(run), text.encode())


def task_of(content: dict[str, Any]) -> Task:
    """A task from its JSON."""
    return Task(**{**content, "jobs": tuple(Job(**job) for job in content["jobs"])})


def work(task: Task, stop: Stop = lambda: 0) -> tuple[WorkOutcome, ...]:
    """Trains what of the task is neither done nor taken, in one thread; several runs stacked.

    Raises `Interrupted`, with the run under way saved, when `stop` gives the number of a signal.
    """
    keep_freed_memory()
    import torch

    torch.set_num_threads(1)
    if task.code:
        search_in(Path(task.code))
    if len(task.jobs) > 1:
        return _train_together(task, stop)
    return tuple(_train(task, job, stop) for job in task.jobs)


def _train(task: Task, job: Job, stop: Stop) -> WorkOutcome:
    run = Run(Path(task.folder) / job.name)
    try:
        if run.is_done:
            return WorkOutcome(job.name, "done")
        spec = experiment(job.spec)
        run.create(spec)
        with _claim(run, task, stop) as halted:
            trained = _steps(run, task, halted)
        return _ended(run, trained=trained)
    except BusyError:
        return WorkOutcome(job.name, "busy")
    except Interrupted:
        raise
    except Exception as error:  # whatever it is, it concerns this run alone
        return _failed(run, error)


def _train_together(task: Task, stop: Stop) -> tuple[WorkOutcome, ...]:
    """A group is taken, and trained, as a whole; those of it that were done stay as they are."""
    from vaescope.training.group import train_group

    runs = [Run(Path(task.folder) / job.name) for job in task.jobs]
    before = [run.is_done for run in runs]
    trained = False
    try:
        if not all(before):
            specs = [experiment(job.spec) for job in task.jobs]
            for run, spec in zip(runs, specs, strict=True):
                run.create(spec)
            with ExitStack() as claims:
                halted = stop
                for run in runs:
                    halted = claims.enter_context(_claim(run, task, halted))
                for _ in train_group(runs, specs, _data_of(specs[0]), stop=halted):
                    trained = True
    except BusyError:
        return tuple(WorkOutcome(r.path.name, "done" if r.is_done else "busy") for r in runs)
    except Interrupted:
        raise
    except Exception as error:  # it concerns those runs that are not done
        return tuple(
            _ended(run, trained=not old) if run.is_done else _failed(run, error)
            for run, old in zip(runs, before, strict=True)
        )
    return tuple(
        _ended(run, trained=trained and not old) for run, old in zip(runs, before, strict=True)
    )


def _ended(run: Run, *, trained: bool) -> WorkOutcome:
    failure_path(run.path).unlink(missing_ok=True)
    return WorkOutcome(run.path.name, "trained" if trained else "done")


def _steps(run: Run, task: Task, stop: Stop) -> bool:
    """Whether there was something to train."""
    from vaescope.training.api import choose_device
    from vaescope.training.run import train_run

    spec = run.open()
    count = 0
    device = choose_device(task.device)
    for _ in train_run(run, spec, _data_of(spec), device=device, stop=stop):
        count += 1
    return count > 0


def _data_of(spec: "Experiment") -> "Dataset":
    return _data(json.dumps(spec.data.model_dump(mode="json"), sort_keys=True))


@lru_cache(maxsize=1)
def _data(settings: str) -> "Dataset":
    """The dataset of the last run is kept: the next one mostly has the same."""
    from pydantic import TypeAdapter

    from vaescope.build import build_data
    from vaescope.data.specs import DataSpec

    return build_data(TypeAdapter(DataSpec).validate_python(json.loads(settings)))


@contextmanager
def _claim(run: Run, task: Task, stop: Stop) -> Iterator[Stop]:
    """`train_run` takes the run's flock itself; here leases are taken, and those of others kept."""
    if not task.lease:
        if held(run.path):
            raise BusyError(f"Another machine has the lease of {run.path}.", "Wait for it.")
        yield stop
        return
    with lease(run.path) as lost:
        try:
            yield lambda: stop() or (signal.SIGTERM if lost() else 0)
        except Interrupted as error:
            if not lost():
                raise
            raise BusyError(error.message, error.remedy) from error


def _failed(run: Run, error: Exception) -> WorkOutcome:
    kind, message, remedy = type(error).__name__, str(error), "Look at the traceback."
    if isinstance(error, VaescopeError):
        message, remedy = error.message, error.remedy
    try:
        record_failure(run.path, kind, message, remedy, _trace())
    except (VaescopeError, OSError):
        message += " (its traceback could not be written)"
    return WorkOutcome(run.path.name, "failed", f"{kind}: {message}")


def _trace() -> str:
    """The traceback of the error under way, its files named from their package on: failed.json is
    sent around, and where somebody installed Python is nobody's business."""

    def short(found: re.Match[str]) -> str:
        parts = Path(found[1]).parts
        roots = [at for at, part in enumerate(parts) if part in ("site-packages", "src")]
        roots += [at for at, part in enumerate(parts) if part.startswith("python3")]
        return f'File "{"/".join(parts[max(roots, default=len(parts) - 2) + 1 :])}"'

    return re.sub(r'File "([^"]*)"', short, traceback.format_exc())


def _receive(tasks: "SimpleQueue[Task | None]", halt: threading.Event, lines: TextIO) -> None:
    for line in lines:
        tasks.put(task_of(json.loads(line)))
    halt.set()  # the driver has gone, or has closed this worker
    tasks.put(None)


def serve() -> None:
    """The life of a local worker: tasks as lines on stdin, answers as lines on stdout.

    When stdin ends, by order or because the driver was killed, the run under way is saved.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no answer
    halt = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the driver acts
    signal.signal(signal.SIGTERM, lambda number, frame: halt.set())
    tasks: SimpleQueue[Task | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(tasks, halt, sys.stdin), daemon=True).start()
    print("ready", file=answers, flush=True)
    while (task := tasks.get()) is not None:
        try:
            outcomes = work(task, lambda: signal.SIGTERM if halt.is_set() else 0)
        except Interrupted:
            break
        print(json.dumps([asdict(one) for one in outcomes]), file=answers, flush=True)
    os._exit(0)  # a thread still reads stdin, and Python would wait for it


class InlineEngine:
    """Trains in the caller's process and thread, for work too small to start workers for; `stop` is
    asked while it does."""

    def __init__(self, stop: Callable[[], int] = lambda: 0) -> None:
        self._stop = stop
        self._tasks: list[Task] = []

    @property
    def slots(self) -> int:
        return 1

    def submit(self, tasks: Sequence[Task]) -> None:
        self._tasks += tasks

    def wait(self, seconds: float) -> list[Ended]:
        waiting, self._tasks = self._tasks, []
        return [Ended(task, work(task, self._stop)) for task in waiting]

    def close(self) -> None:
        self._tasks.clear()
