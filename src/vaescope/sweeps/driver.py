"""Drives a sweep: skips what is done, takes what is free, tries again what died, keeps what failed.

All it knows it can find again in the run folders: kill it and give the same command.
"""

import heapq
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from vaescope.errors import Interrupted, UsageError
from vaescope.paths import disk_errors
from vaescope.runs import Run
from vaescope.specs import Experiment, to_dict
from vaescope.sweeps.engine import Ended, Engine, Job, Task, WorkOutcome
from vaescope.sweeps.grid import Plan
from vaescope.sweeps.leases import is_shared
from vaescope.sweeps.worker import failure_path, record_failure

__all__ = ["Groups", "Status", "alone", "stacked", "sweep"]

#: Positions of experiments that one task trains together: a function of the sweep alone, never of
#: what remains of it, so that a group is done, and restarts, as a whole.
Groups = Callable[[Sequence[Experiment]], Sequence[Sequence[int]]]

#: Seconds until a run that somebody else has is asked for again: the first time, and at most.
BUSY_PAUSE, BUSY_MOST = 1.0, 30.0
#: Which of them a worker has is for its own machine to say.
DEVICES = ("auto", "cpu", "cuda", "mps")
#: The last times that runs ended, whose pace says how long the rest will take.
WINDOW = 64


def alone(experiments: Sequence[Experiment]) -> list[list[int]]:
    """Every experiment is a task of its own."""
    return [[position] for position in range(len(experiments))]


def stacked(experiments: Sequence[Experiment]) -> list[list[int]]:
    """Small models of one architecture are trained together where that pays."""
    from vaescope.training.many import groups

    return groups(experiments)


@dataclass(frozen=True, slots=True)
class Status:
    """Where a sweep stands. `done` counts all done runs, `skipped` those done before it began."""

    total: int
    done: int
    failed: int
    skipped: int
    running: int
    seconds: float  # since the sweep began
    eta_seconds: float | None  # until it ends, at the speed so far
    ended: tuple[WorkOutcome, ...] = ()  # since the last status


_OPEN, _DONE, _FAILED = 0, 1, 2


@dataclass
class _Board:
    """What the driver knows of each run, in a byte each, and the groups that are still to do."""

    plan: Plan
    folder: Path
    groups: Sequence[Sequence[int]]
    retries: int
    states: bytearray
    failures: Mapping[int, int]  # run -> time stamp of the failure it had when the sweep began
    places: Mapping[str, int]  # run's name -> position
    queue: deque[int] = field(default_factory=deque)  # groups
    later: list[tuple[float, int]] = field(default_factory=list)  # heap of (when, busy group)
    pauses: dict[int, float] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)
    ended: list[WorkOutcome] = field(default_factory=list)
    #: When some runs had ended, and how many by then: runs of a group end together.
    marks: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    failed_count: int = 0
    done_count: int = 0

    @property
    def over(self) -> bool:
        return not self.queue and not self.later

    def settle(self, position: int, state: int, outcome: WorkOutcome) -> None:
        if self.states[position] == _OPEN:
            self.states[position] = state
            self.done_count += state == _DONE
            self.failed_count += state == _FAILED
            self.ended.append(outcome)

    def pace(self, finished: int) -> float | None:
        """Seconds per run, over the last times that some ended."""
        now = time.monotonic()
        if not self.marks or finished > self.marks[-1][1]:
            self.marks.append((now, finished))
        (then, before), (last, after) = self.marks[0], self.marks[-1]
        return (last - then) / (after - before) if after > before else None

    def next_group(self) -> int | None:
        """A group in which something is to be trained, or None if there is none just now."""
        while self.later and self.later[0][0] <= time.monotonic():
            self.queue.append(heapq.heappop(self.later)[1])
        while self.queue:
            group = self.queue.popleft()
            for position in self.groups[group]:
                self._look(position)
            if any(self.states[position] == _OPEN for position in self.groups[group]):
                return group
        return None

    def _look(self, position: int) -> None:
        """Another driver may have come before."""
        if self.states[position] != _OPEN:
            return
        name = self.plan.names[position]
        if Run(self.folder / name).is_done:
            self.settle(position, _DONE, WorkOutcome(name, "done"))
        elif _failure_stamp(self.folder / name) not in (None, self.failures.get(position)):
            self.settle(position, _FAILED, WorkOutcome(name, "failed", "in another process"))

    def take_back(self, group: int, ended: Ended) -> None:
        """What came of a group."""
        if ended.died:
            self._died(group, ended.died)
        for outcome in ended.outcomes:
            position = self.places[outcome.run]
            if outcome.state == "busy":
                continue
            self.settle(position, _FAILED if outcome.state == "failed" else _DONE, outcome)
        if any(outcome.state == "busy" for outcome in ended.outcomes):
            pause = self.pauses[group] = min(2 * self.pauses.get(group, BUSY_PAUSE / 2), BUSY_MOST)
            heapq.heappush(self.later, (time.monotonic() + pause, group))

    def _died(self, group: int, how: str) -> None:
        count = self.deaths[group] = self.deaths.get(group, 0) + 1
        if count <= self.retries:
            self.queue.append(group)
            return
        for position in self.groups[group]:
            self._look(position)
            if self.states[position] == _OPEN:
                name = self.plan.names[position]
                message = f"Its worker died {count} times; the last time: {how}."
                remedy = "Does it fit in memory? Try fewer --workers, then run the command again."
                record_failure(self.folder / name, "Died", message, remedy, "")
                self.settle(position, _FAILED, WorkOutcome(name, "failed", message))

    def task(self, group: int, device: str, *, lease: bool) -> Task:
        # The whole group, also those of its runs that are done: what is stacked stays stacked.
        jobs = tuple(Job(self.plan.names[i], to_dict(self.plan[i])) for i in self.groups[group])
        return Task(str(self.folder.resolve()), jobs, device, lease, str(Path.cwd()))


def _failure_stamp(run: Path) -> int | None:
    try:
        return failure_path(run).stat().st_mtime_ns
    except OSError:
        return None


def _survey(plan: Plan, folder: Path, groups: Sequence[Sequence[int]], retries: int) -> _Board:
    there = set(os.listdir(folder))
    states = bytearray(len(plan))
    failures: dict[int, int] = {}
    for position, name in enumerate(plan.names):
        if name not in there:
            continue
        if Run(folder / name).is_done:
            states[position] = _DONE
        elif (stamp := _failure_stamp(folder / name)) is not None:
            failures[position] = stamp
    places = {name: position for position, name in enumerate(plan.names)}
    board = _Board(plan, folder, groups, retries, states, failures, places)
    board.done_count = states.count(_DONE)
    board.queue.extend(
        group
        for group, members in enumerate(groups)
        if any(states[position] == _OPEN for position in members)
    )
    return board


def sweep(
    plan: Plan,
    folder: Path,
    engine: Engine,
    *,
    retries: int = 2,
    device: str = "auto",
    groups: Groups | None = None,
    lease: bool | None = None,
    stop: Callable[[], int] = lambda: 0,
) -> Iterator[Status]:
    """Trains all runs of a plan into `folder`; yields where it stands, about once a second.

    A run whose worker died is tried again up to `retries` times. One that fails leaves
    `failed.json` with its traceback, is not tried again by this call, and stops nobody else. Runs
    that another driver has are waited for. `lease` claims runs by lease as well; by default where
    the folder is on a file system that machines share. `groups` says what is trained together; by
    default what pays, on the CPU. The engine is closed at the end.
    """
    if device not in DEVICES:
        raise UsageError(f"There is no device {device}.", f"Use one of {', '.join(DEVICES)}.")
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    leased = is_shared(folder) if lease is None else lease
    begun = time.monotonic()
    together = groups or (stacked if device in ("auto", "cpu") else alone)
    board = _survey(plan, folder, together(plan), retries)
    skipped = board.done_count
    under_way: dict[str, int] = {}  # first run of the task -> group

    def status() -> Status:
        ended, board.ended = tuple(board.ended), []
        seconds = time.monotonic() - begun
        finished = board.done_count - skipped + board.failed_count
        rest = len(plan) - board.done_count - board.failed_count
        pace = board.pace(finished)
        eta = None if pace is None else pace * rest
        running = sum(len(board.groups[group]) for group in under_way.values())
        return Status(
            len(plan), board.done_count, board.failed_count, skipped, running, seconds, eta, ended
        )

    with closing(engine):
        yield status()
        while under_way or not board.over:
            if number := stop():
                raise Interrupted(
                    f"Stopped by signal {number}: {board.done_count} of {len(plan)} runs are done, "
                    "those under way are saved.",
                    "Run the same command again to resume.",
                    number,
                )
            tasks = []
            while len(under_way) < engine.slots and (group := board.next_group()) is not None:
                task = board.task(group, device, lease=leased)
                under_way[task.jobs[0].name] = group
                tasks.append(task)
            engine.submit(tasks)
            for ended in engine.wait(1.0) if under_way or board.later else []:
                board.take_back(under_way.pop(ended.task.jobs[0].name), ended)
            yield status()
