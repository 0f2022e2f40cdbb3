"""One contract for all engines: every task ends once, whatever happens to its worker."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.waiting import LIMIT, until

from vaescope.errors import RunError, UsageError
from vaescope.specs import to_dict
from vaescope.sweeps import Engine, Plan, make_engine
from vaescope.sweeps import local as local_module
from vaescope.sweeps.engine import Ended, Job, Task

from .conftest import ENDLESS

Make = Callable[[Path, int], Engine]


def _local(folder: Path, workers: int) -> Engine:
    return make_engine("local", folder, workers)


def _ray(folder: Path, workers: int) -> Engine:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'vaescope[ray]'")
    return make_engine("ray", folder, workers)


def _slurm(folder: Path, workers: int) -> Engine:
    """submitit's own executor on this machine: there is no Slurm to test with."""
    pytest.importorskip("submitit", reason="submitit is not installed: pip install submitit")
    from vaescope.sweeps.slurm_engine import SlurmEngine

    return SlurmEngine(folder, workers, cluster="local", parameters={"timeout_min": 60})


@pytest.fixture(
    params=[
        pytest.param(_local, id="local"),
        pytest.param(_ray, id="ray", marks=pytest.mark.slow),
        pytest.param(_slurm, id="slurm", marks=pytest.mark.slow),
    ]
)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    made = request.param(tmp_path, 2)
    yield made
    made.close()


def tasks(plan: Plan, folder: Path) -> list[Task]:
    jobs = [Job(name, to_dict(spec)) for name, spec in zip(plan.names, plan, strict=True)]
    return [Task(str(folder), (job,), "cpu") for job in jobs]


def drive(engine: Engine, todo: list[Task], each: Callable[[], None] = lambda: None) -> list[Ended]:
    """Keeps all slots full until everything that was submitted has ended."""
    ended: list[Ended] = []
    running = 0
    while todo or running:
        free = engine.slots - running
        now, todo = todo[:free], todo[free:]
        engine.submit(now)
        running += len(now)
        back = engine.wait(0.2)
        running -= len(back)
        ended += back
        each()
    return ended


@pytest.mark.slow
def test_an_engine_keeps_the_contract(
    engine: Engine,
    tmp_path: Path,
    small_plan: Callable[..., Plan],
    holders: Callable[[Path], dict[str, int]],
) -> None:
    assert engine.slots == 2
    good = tasks(small_plan(3), tmp_path)
    victim = tasks(small_plan(3, ENDLESS), tmp_path)[0]
    bad = Task(str(tmp_path), (Job("bad", {**good[0].jobs[0].spec, "steps": -1}),), "cpu")
    killed: list[int] = []

    def kill() -> None:
        process = holders(tmp_path).get(victim.jobs[0].name)
        started = (tmp_path / victim.jobs[0].name / "timing.jsonl").exists()
        if process is not None and started and not killed:
            killed.append(process)
            os.kill(process, signal.SIGKILL)

    ended = drive(engine, [victim, bad, *good], kill)

    assert len(ended) == 5 and len({e.task.jobs[0].name for e in ended}) == 5
    by_name = {e.task.jobs[0].name: e for e in ended}
    assert killed and by_name[victim.jobs[0].name].died
    assert not by_name[victim.jobs[0].name].outcomes
    (failure,) = by_name["bad"].outcomes
    assert failure.state == "failed" and "steps" in failure.message
    kept = json.loads((tmp_path / "bad" / "failed.json").read_text())
    assert "Traceback" in kept["traceback"] and kept["type"] == "UsageError"
    for task in good:
        name = task.jobs[0].name
        assert [o.state for o in by_name[name].outcomes] == ["trained"]
        assert (tmp_path / name / "done.json").exists()
        environment = json.loads((tmp_path / name / "environment.json").read_text())
        assert environment["threads"] == 1
    again = drive(engine, good[:1])
    assert [o.state for e in again for o in e.outcomes] == ["done"]
    assert engine.wait(0.1) == []


@pytest.mark.slow
def test_a_closed_local_engine_leaves_saved_runs_and_no_process(
    tmp_path: Path,
    small_plan: Callable[..., Plan],
    holders: Callable[[Path], dict[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_module, "GRACE", LIMIT)
    engine = make_engine("local", tmp_path, 1)
    (task, *_) = tasks(small_plan(3, ENDLESS), tmp_path)
    engine.submit([task])
    history = tmp_path / task.jobs[0].name / "history.jsonl"
    while not history.exists() or not history.stat().st_size:
        assert engine.wait(0.1) == []
    (process,) = holders(tmp_path).values()
    engine.close()
    assert not Path(f"/proc/{process}").exists()
    assert (history.parent / "state.safetensors").exists()
    assert not holders(tmp_path)


@pytest.mark.slow
def test_a_worker_goes_when_its_driver_was_killed(
    tmp_path: Path, small_plan: Callable[..., Plan], holders: Callable[[Path], dict[str, int]]
) -> None:
    engine = make_engine("local", tmp_path, 1)
    (task, *_) = tasks(small_plan(3, ENDLESS), tmp_path)
    engine.submit([task])
    while not holders(tmp_path) or not (tmp_path / task.jobs[0].name / "timing.jsonl").exists():
        engine.wait(0.1)
    assert isinstance(engine, local_module.LocalEngine)
    (worker,) = engine._workers
    assert worker.process.stdin is not None
    worker.process.stdin.close()  # what the system does to a dead driver's pipes
    until(lambda: not holders(tmp_path))
    assert worker.process.wait(LIMIT) == 0
    engine.close()


def test_workers_that_cannot_start_are_reported_once(
    tmp_path: Path, small_plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "_COMMAND", [sys.executable, "-c", "raise SystemExit(3)"])
    engine = make_engine("local", tmp_path, 1)
    given = tasks(small_plan(3), tmp_path)
    ended: list[Ended] = []
    for task in given[: local_module.EARLY - 1]:  # each may be a kill by chance: it is tried again
        engine.submit([task])
        ended.clear()
        until(lambda: ended or ended.extend(engine.wait(0.2)))
        assert ended[0].died == "exit code 3"
    engine.submit(given[-1:])
    with pytest.raises(RunError, match="code 3"):
        until(lambda: engine.wait(0.2))
    engine.close()


@pytest.mark.parametrize(("name", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_an_absent_engine_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    module = f"vaescope.sweeps.{name}_engine"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"needs {package}.*vaescope\[{name}\]"):
        make_engine(name, tmp_path)


@pytest.mark.slow
def test_ray_starts_a_cluster_of_its_own_whatever_others_left_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'vaescope[ray]'")
    asked: dict[str, object] = {}
    monkeypatch.setattr(ray, "init", lambda **options: asked.update(options))
    make_engine("ray", tmp_path, 2)
    assert asked["address"] == "local" and asked["num_cpus"] == 2


def test_an_unknown_engine_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"local.*ray.*slurm"):
        make_engine("dask", tmp_path)


def test_slurm_without_slurm_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit", reason="submitit is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="sbatch is missing"):
        make_engine("slurm", tmp_path)
