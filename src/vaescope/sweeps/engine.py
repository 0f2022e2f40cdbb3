"""What a sweep asks of an engine: take tasks, say how they ended. The truth is on disk.

An engine only carries tasks to processes that call `worker.work`. It keeps no results: a sweep
whose engine, driver or machine dies resumes from the run folders.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from vaescope.errors import UsageError

__all__ = ["ENGINES", "Ended", "Engine", "Job", "Task", "WorkOutcome", "make_engine"]

#: trained: by this task. done: was done already. busy: somebody else has it. failed: with an error.
State = Literal["trained", "done", "busy", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """One run: its folder's name and its experiment as plain data."""

    name: str
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """Runs that one worker takes together; plain data, so that it can travel as JSON."""

    folder: str  # of the sweep, absolute
    jobs: tuple[Job, ...]
    device: str = "auto"
    lease: bool = False  # claim by lease: for file systems whose flock is not to be trusted
    code: str = ""  # folder in which the user's own modules are, besides installed packages


@dataclass(frozen=True, slots=True)
class WorkOutcome:
    """How one run of a task ended."""

    run: str
    state: State
    message: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A task that came back; `died` says how its worker died, and then there are no outcomes."""

    task: Task
    outcomes: tuple[WorkOutcome, ...] = ()
    died: str = ""


class Engine(Protocol):
    """Carries tasks to workers. Each task that is submitted ends once, whatever happens to it."""

    @property
    def slots(self) -> int:
        """How many tasks may be under way; may change as machines come and go."""

    def submit(self, tasks: Sequence[Task]) -> None:
        """Takes tasks, at most as many as there are free slots."""

    def wait(self, seconds: float) -> list[Ended]:
        """Tasks that ended, as soon as there is one; empty after so many seconds."""

    def close(self) -> None:
        """Stops the workers; what they have under way is saved as far as the engine can."""


ENGINES = {
    "local": "worker processes on this machine, one thread each",
    "ray": "a Ray cluster, or this machine as one; needs vaescope[ray]",
    "slurm": "jobs of a Slurm cluster; needs vaescope[slurm]",
}


def make_engine(name: str, folder: Path, workers: int | None = None) -> Engine:
    """An engine by name. `workers` is how many tasks run at once; by default all that fit."""
    if name == "local":
        from vaescope.sweeps.local import LocalEngine

        return LocalEngine(folder, workers or len(os.sched_getaffinity(0)))
    if name not in ENGINES:
        known = "; ".join(f"{key}: {what}" for key, what in ENGINES.items())
        raise UsageError(f"There is no engine {name}.", f"Use one of {known}.")
    try:
        if name == "ray":
            from vaescope.sweeps.ray_engine import RayEngine

            return RayEngine(workers)
        from vaescope.sweeps.slurm_engine import SlurmEngine

        return SlurmEngine(folder, workers)
    except ModuleNotFoundError as error:
        if error.name not in ("ray", "submitit"):
            raise
        raise UsageError(
            f"--on {name} needs {error.name}, which is not installed.",
            f"Run: pip install 'vaescope[{name}]'.",
        ) from error
