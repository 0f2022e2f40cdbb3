"""A driver loses nothing, takes nothing twice and is stopped by nobody's failure."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from vaescope.errors import Interrupted, UsageError
from vaescope.runs import Run
from vaescope.specs import Experiment, to_dict
from vaescope.sweeps import Plan, Status, alone, driver, make_engine, plan, sweep
from vaescope.sweeps.engine import Ended, Job, Task, WorkOutcome
from vaescope.sweeps.worker import record_failure, work
from vaescope.tables import read_table

from .conftest import SMALL

Make = Callable[..., Plan]


class Fake:
    """An engine that trains nothing: `act` says what becomes of a task."""

    def __init__(self, act: Callable[[Task], Ended], slots: int = 2) -> None:
        self.act, self.slots = act, slots
        self.waiting: list[Task] = []
        self.taken: list[str] = []
        self.most = 0
        self.closed = False

    def submit(self, tasks: Sequence[Task]) -> None:
        self.waiting += tasks
        self.taken += [task.jobs[0].name for task in tasks]
        self.most = max(self.most, len(self.waiting))

    def wait(self, seconds: float) -> list[Ended]:
        now, self.waiting = self.waiting, []
        return [self.act(task) for task in now]

    def close(self) -> None:
        self.closed = True


def finish(task: Task) -> Ended:
    """What a worker leaves behind, without the training."""
    for job in task.jobs:
        run = Path(task.folder) / job.name
        run.mkdir(exist_ok=True)
        (run / "done.json").write_text("{}")
        (run / "weights.safetensors").touch()
    return Ended(task, tuple(WorkOutcome(job.name, "trained") for job in task.jobs))


def last(statuses: Iterator[Status]) -> Status:
    *_, status = statuses
    return status


def test_an_unknown_device_is_refused_before_anything_is_trained(
    tmp_path: Path, small_plan: Make
) -> None:
    engine = Fake(finish)
    with pytest.raises(UsageError, match="no device tpu"):
        last(sweep(small_plan(6), tmp_path / "sweep", engine, device="tpu"))
    assert not engine.taken and not (tmp_path / "sweep").exists()


@pytest.mark.slow
def test_a_sweep_trains_all_and_the_same_command_again_nothing(
    tmp_path: Path, small_plan: Make
) -> None:
    found = small_plan(6)
    statuses = list(sweep(found, tmp_path, make_engine("local", tmp_path, 2)))
    first, end = statuses[0], statuses[-1]
    assert (first.total, first.done, first.running) == (6, 0, 0)
    assert (end.done, end.failed, end.skipped, end.running) == (6, 0, 0, 0)
    assert end.eta_seconds == 0.0
    assert sorted(o.run for s in statuses for o in s.ended) == sorted(found.names)
    table = read_table(tmp_path)
    assert all(table.columns["done"]) and len(table) == 6
    before = {f: f.stat().st_mtime_ns for f in tmp_path.glob("*-s*/*")}
    idle = Fake(finish)
    again = last(sweep(found, tmp_path, idle))
    assert (again.done, again.skipped) == (6, 6) and not idle.taken and idle.closed
    assert {f: f.stat().st_mtime_ns for f in tmp_path.glob("*-s*/*")} == before


@pytest.mark.slow
def test_a_failing_run_keeps_its_traceback_and_stops_nobody(tmp_path: Path) -> None:
    bad = {"optimiser.lr": 1e30, "likelihood.name": "gaussian", "optimiser.name": "adam"}
    cells = [
        {**SMALL, "steps": 40, "seed": seed, **(bad if seed == 1 else {})} for seed in range(4)
    ]
    found = plan(cells, preset_name="beta-vae")
    end = last(sweep(found, tmp_path, make_engine("local", tmp_path, 1)))
    assert (end.done, end.failed) == (3, 1)
    (failure,) = tmp_path.glob("*/failed.json")
    content = json.loads(failure.read_text())
    assert content["type"] == "NonFiniteError" and "train_run" in content["traceback"]
    assert failure.parent.name == found.names[1]
    assert [row["done"] for row in read_table(tmp_path).rows()] == [True, False, True, True]
    assert "NonFiniteError" in str(list(read_table(tmp_path).rows())[1]["error"])
    again = Fake(finish)
    assert last(sweep(found, tmp_path, again)).done == 4  # an error may have been of the moment
    assert again.taken == [found.names[1]]


@pytest.mark.parametrize("retries", [0, 2])
def test_what_died_is_tried_again_so_many_times(
    tmp_path: Path, small_plan: Make, retries: int
) -> None:
    found = small_plan(3)

    def act(task: Task) -> Ended:
        poison = task.jobs[0].name == found.names[0]
        return Ended(task, died="signal 9") if poison else finish(task)

    engine = Fake(act)
    end = last(sweep(found, tmp_path, engine, retries=retries))
    assert (end.done, end.failed) == (2, 1)
    assert engine.taken.count(found.names[0]) == retries + 1
    kept = json.loads((tmp_path / found.names[0] / "failed.json").read_text())
    assert kept["type"] == "Died" and "signal 9" in kept["message"]


def test_a_death_after_the_done_marker_is_no_failure(tmp_path: Path, small_plan: Make) -> None:
    def act(task: Task) -> Ended:
        finish(task)
        return Ended(task, died="signal 9")

    end = last(sweep(small_plan(3), tmp_path, Fake(act), retries=0))
    assert (end.done, end.failed) == (3, 0)


def test_runs_of_another_driver_are_waited_for(
    tmp_path: Path, small_plan: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "BUSY_PAUSE", 0.001)
    found = small_plan(3)
    asked: list[str] = []

    def act(task: Task) -> Ended:
        name = task.jobs[0].name
        asked.append(name)
        if name != found.names[1]:
            return finish(task)
        if asked.count(name) == 3:  # the other one is done with it
            finish(task)
        return Ended(task, (WorkOutcome(name, "busy"),))

    end = last(sweep(found, tmp_path, Fake(act)))
    assert (end.done, end.failed, end.skipped) == (3, 0, 0)
    assert asked.count(found.names[1]) == 3


def test_a_failure_in_another_driver_is_not_repeated(tmp_path: Path, small_plan: Make) -> None:
    found = small_plan(3)

    def act(task: Task) -> Ended:
        record_failure(tmp_path / found.names[2], "DiskError", "full", "", "")
        return finish(task)

    engine = Fake(act, slots=1)
    end = last(sweep(found, tmp_path, engine))
    assert (end.done, end.failed) == (2, 1)
    assert found.names[2] not in engine.taken


def test_no_more_tasks_are_under_way_than_there_are_slots(tmp_path: Path, small_plan: Make) -> None:
    engine = Fake(finish, slots=3)
    assert last(sweep(small_plan(30), tmp_path, engine)).done == 30
    assert engine.most == 3


def test_a_signal_stops_the_sweep_and_closes_the_engine(tmp_path: Path, small_plan: Make) -> None:
    engine = Fake(finish, slots=1)
    signals = iter([0, 0, signal.SIGTERM])
    with pytest.raises(Interrupted, match="2 of 6 runs are done"):
        last(sweep(small_plan(6), tmp_path, engine, stop=lambda: next(signals)))
    assert engine.closed


def test_groups_depend_on_the_sweep_and_never_on_what_remains(
    tmp_path: Path, small_plan: Make
) -> None:
    found = small_plan(6)
    seen: list[int] = []

    def pairs(experiments: Sequence[Experiment]) -> list[list[int]]:
        seen.append(len(experiments))
        assert experiments[0].steps == 40
        return [[0, 1], [2, 3], [4, 5]]

    (tmp_path / found.names[2]).mkdir()
    (tmp_path / found.names[2] / "done.json").write_text("{}")
    (tmp_path / found.names[2] / "weights.safetensors").touch()
    tasks: list[tuple[str, ...]] = []

    def act(task: Task) -> Ended:
        tasks.append(tuple(job.name for job in task.jobs))
        return finish(task)

    end = last(sweep(found, tmp_path, Fake(act), groups=pairs))
    assert seen == [6] and (end.done, end.skipped) == (6, 1)
    assert sorted(tasks) == sorted(found.names[i : i + 2] for i in (0, 2, 4))


@pytest.mark.slow
def test_a_group_trains_each_of_its_runs(tmp_path: Path, small_plan: Make) -> None:
    found = small_plan(3, 20)
    tables = []
    for name, groups in (("together", lambda plan: [[0, 1, 2]]), ("alone", alone)):
        engine = make_engine("local", tmp_path / name, 1)
        (tmp_path / name).mkdir()
        assert last(sweep(found, tmp_path / name, engine, groups=groups)).done == 3
        tables.append(read_table(tmp_path / name))
        facts = (tmp_path / name / found.names[1] / "environment.json").read_text()
        assert json.loads(facts)["stack_size"] == (3 if name == "together" else 1)
    assert tables[0].settings == tables[1].settings
    for measure in ("loss", "rate", "distortion"):
        np.testing.assert_allclose(*(t.numbers(measure) for t in tables), rtol=1e-4)


def group_task(plan: Plan, folder: Path, *, lease: bool = False) -> Task:
    jobs = tuple(Job(name, to_dict(spec)) for name, spec in zip(plan.names, plan, strict=True))
    return Task(str(folder), jobs, "cpu", lease)


def test_a_group_is_busy_as_a_whole_and_done_as_a_whole(tmp_path: Path, small_plan: Make) -> None:
    found = small_plan(3, 20)
    (tmp_path / found.names[2]).mkdir()
    with Run(tmp_path / found.names[2]).lock():
        assert [o.state for o in work(group_task(found, tmp_path))] == ["busy"] * 3
    (tmp_path / found.names[1] / ".lease-1").touch()
    for leased in (False, True):
        outcomes = work(group_task(found, tmp_path, lease=leased))
        assert [o.state for o in outcomes] == ["busy"] * 3
    (tmp_path / found.names[1] / ".lease-1").unlink()
    assert [o.state for o in work(group_task(found, tmp_path, lease=True))] == ["trained"] * 3
    assert [o.state for o in work(group_task(found, tmp_path))] == ["done"] * 3


def test_one_that_fails_leaves_the_others_of_its_group_done(tmp_path: Path) -> None:
    cells = [{**SMALL, "steps": 20, "seed": s, "optimiser.lr": 1e30 if s else 1e-3} for s in (0, 1)]
    found = plan(cells, preset_name="beta-vae")
    assert [o.state for o in work(group_task(found, tmp_path))] == ["trained", "failed"]
    kept = json.loads((tmp_path / found.names[1] / "failed.json").read_text())
    assert kept["type"] == "NonFiniteError" and found.names[1] in kept["message"]
    assert not (tmp_path / found.names[0] / "failed.json").exists()


@pytest.mark.slow
def test_with_leases_a_run_is_trained_and_given_back(tmp_path: Path, small_plan: Make) -> None:
    found = small_plan(3, 20)
    engine = make_engine("local", tmp_path, 1)
    assert last(sweep(found, tmp_path, engine, lease=True)).done == 3
    for name in found.names:
        (file,) = (tmp_path / name).glob(".lease-*")
        assert file.stat().st_mtime == 0


def test_a_run_under_somebodys_lease_is_busy(tmp_path: Path, small_plan: Make) -> None:
    found = small_plan(3, 20)
    (tmp_path / found.names[0]).mkdir()
    (tmp_path / found.names[0] / ".lease-1").touch()
    for leased in (False, True):
        task = Task(str(tmp_path), (Job(found.names[0], to_dict(found[0])),), "cpu", leased)
        assert [o.state for o in work(task)] == ["busy"]
