"""Sweeps that are killed, doubled, spread over nodes that vanish, or very long.

Where a sweep is to be disturbed before its end, the test itself has some of its runs, as another
driver would: the sweep waits for them, so it cannot end, however fast the machine is.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.waiting import LIMIT, until

from vaescope.runs import Run
from vaescope.sweeps import (
    Groups,
    Plan,
    alone,
    make_engine,
    plan,
    product,
    read_plan,
    stacked,
    sweep,
)  # fmt: skip
from vaescope.sweeps.worker import InlineEngine
from vaescope.tables import csv_text, read_table
from vaescope.training import many

from .conftest import ENDLESS, SMALL
from .test_sweep import Fake, finish

pytestmark = pytest.mark.slow

Holders = Callable[[Path], dict[str, int]]

RUNS, KILLS = 12, 2
#: Models by strength and seed, each alone; and by architecture and seed, so that four are stacked.
APART = {"objective.beta": [0.01, 0.1], "seed": "0..5"}
STACKED = {"net.encoder": [[n] for n in (6, 8, 10)], "seed": "0..3"}
#: The real command; and the one that stacks however few the steps are, and gives workers all the
#: time they want to save.
COMMAND = "from vaescope.cli import main; main()"
STACK_ALL = f"import vaescope.training.many as many; many.WORTH = 0; {COMMAND}"
PATIENT = f"import vaescope.sweeps.local as local; local.GRACE = {LIMIT}; {COMMAND}"


def sweep_file(path: Path, grid: dict[str, Any], **fixed: Any) -> Path:
    content = {"preset": "beta-vae", "fixed": {**SMALL, **fixed}, "grid": grid}
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of 12 small models."""
    return sweep_file(tmp_path_factory.mktemp("sweep") / "sweep.yaml", APART, steps=200)


def command(file: Path, out: Path, code: str = COMMAND) -> list[str]:
    return [sys.executable, "-c", code, "sweep", str(file), "--out", str(out),
            "--workers", "2", "--json", "--quiet"]  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return table_of_undisturbed(file, tmp_path_factory.mktemp("undisturbed"))


def table_of_undisturbed(file: Path, out: Path, groups: Groups = alone) -> str:
    """The table of a sweep that nobody disturbs, trained in this process."""
    *_, last = sweep(read_plan(file), out, InlineEngine(), groups=groups)
    assert (last.total, last.done, last.failed, last.skipped) == (RUNS, RUNS, 0, 0)
    return csv_text(read_table(out))


@contextmanager
def started(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A sweep in a group of processes of its own, of which nothing is left afterwards."""
    process = subprocess.Popen(arguments, start_new_session=True, stdout=subprocess.PIPE)
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # the driver and its workers


@contextmanager
def kept(out: Path, names: Sequence[str]) -> Iterator[None]:
    """These runs are somebody else's: a sweep waits for them and does not end."""
    with ExitStack() as locks:
        for name in names:
            (out / name).mkdir(parents=True, exist_ok=True)
            locks.enter_context(Run(out / name).lock())
        yield


def markers(out: Path) -> dict[str, int]:
    """When each run was done, by the file that is written last."""
    return {f.parent.name: f.stat().st_mtime_ns for f in out.glob("*/done.json")}


def test_killed_twice_it_ends_as_if_undisturbed(
    file: Path, undisturbed: str, tmp_path: Path, holders: Holders
) -> None:
    killed_twice(file, undisturbed, tmp_path, holders)


def test_killed_twice_stacked_models_end_as_if_undisturbed(
    tmp_path: Path, holders: Holders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "WORTH", 0)
    file = sweep_file(tmp_path / "s.yaml", STACKED, **{"net.name": "mlp", "steps": 100})
    undisturbed = table_of_undisturbed(file, tmp_path / "undisturbed", stacked)
    killed_twice(file, undisturbed, tmp_path / "out", holders, STACK_ALL)
    facts = list((tmp_path / "out").glob("*/environment.json"))
    assert [json.loads(one.read_text())["stack_size"] for one in facts] == [4] * RUNS


def killed_twice(
    file: Path, undisturbed: str, out: Path, holders: Holders, code: str = COMMAND
) -> None:
    names = read_plan(file).names
    chance = random.Random(6)
    weights: dict[str, int] = {}
    for kill in range(KILLS):
        # Four more runs, which may be one group, are free each time, so that there is always
        # something to train; at most three of them, and then some, are done when the kill comes.
        free = 4 * (kill + 1)
        further = max(kill, len(markers(out)) + chance.randint(0, 3))  # the last has some done
        assert further < free

        def under_way(free: int = free, further: int = further) -> bool:
            done = len(markers(out))
            return done == free or (done >= further and bool(holders(out).keys() & names[:free]))

        with kept(out, names[free:]), started(command(file, out, code)) as process:
            until(under_way, process)
            time.sleep(chance.choice([0.0, chance.uniform(0.0, 0.5)]))  # any moment will do
            assert process.poll() is None
        until(lambda: not holders(out))  # the dead have let go, and write no more
        for name in markers(out):
            weights.setdefault(name, (out / name / "weights.safetensors").stat().st_mtime_ns)
    assert 0 < len(weights) <= free < RUNS
    early = markers(out)
    last = subprocess.run(command(file, out, code), check=True, capture_output=True)
    got = json.loads(last.stdout)
    assert (got["total"], got["done"], got["failed"]) == (RUNS, RUNS, 0)
    assert got["skipped"] == len(early)
    after = markers(out)
    assert len(after) == RUNS and {name: after[name] for name in early} == early
    for name, stamp in weights.items():  # none was trained again after it was done
        assert (out / name / "weights.safetensors").stat().st_mtime_ns == stamp
    assert csv_text(read_table(out)) == undisturbed


# A driver that says which runs it trained itself, and asks for those of others every second.
DRIVER = """
import json, sys
from pathlib import Path
from vaescope.sweeps import driver, make_engine, read_plan, sweep
driver.BUSY_MOST = 1.0
file, out = map(Path, sys.argv[1:])
ended = [o for s in sweep(read_plan(file), out, make_engine("local", out, 1)) for o in s.ended]
print(json.dumps({state: [o.run for o in ended if o.state == state]
                  for state in ("trained", "done", "failed")}))
"""


def test_two_drivers_take_no_run_twice(file: Path, undisturbed: str, tmp_path: Path) -> None:
    names = read_plan(file).names
    driver = [sys.executable, "-c", DRIVER, str(file), str(tmp_path)]
    with ExitStack() as drivers:
        with kept(tmp_path, names[2:]):
            # Each has one run for itself, so that both are at it when the others are let go.
            with kept(tmp_path, names[1:2]):
                one = drivers.enter_context(started(driver))
                until(lambda: len(markers(tmp_path)) == 1, one)
                os.killpg(one.pid, signal.SIGSTOP)
            two = drivers.enter_context(started(driver))
            until(lambda: len(markers(tmp_path)) == 2, two)
            os.killpg(one.pid, signal.SIGCONT)
        first, second = (json.loads(process.communicate()[0]) for process in (one, two))
    assert not first["failed"] and not second["failed"]
    assert names[0] in first["trained"] and names[1] in second["trained"]
    assert sorted(first["trained"] + second["trained"]) == sorted(markers(tmp_path))
    # Each saw the whole sweep to its end; one run was done before the second came.
    assert len(first["trained"]) + len(first["done"]) == RUNS
    assert len(second["trained"]) + len(second["done"]) == RUNS - 1
    assert csv_text(read_table(tmp_path)) == undisturbed


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three nodes of one core each on this machine; the head only coordinates."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'vaescope[ray]'")
    from ray.cluster_utils import Cluster

    # A dead node refuses the connection at once; one that is merely busy has a minute to answer.
    health = {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 500,
        "health_check_failure_threshold": 3,
        "health_check_timeout_ms": 60_000,
    }
    size = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": health, **size}
    )
    made.spare = [made.add_node(num_cpus=1, **size) for _ in range(3)]
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def test_ray_loses_a_node_and_no_run(
    cluster: Any, file: Path, undisturbed: str, tmp_path: Path
) -> None:
    engine = make_engine("ray", tmp_path)
    assert engine.slots == 3
    removed = False
    for status in sweep(read_plan(file), tmp_path, engine):
        if status.done >= RUNS // 3 and not removed:
            cluster.remove_node(cluster.spare[0], allow_graceful=False)
            removed = True
    assert removed
    until(lambda: engine.slots == 2)
    assert (status.done, status.failed) == (RUNS, 0)
    assert csv_text(read_table(tmp_path)) == undisturbed


def test_the_drivers_memory_stays_flat_over_thousands_of_runs(tmp_path: Path) -> None:
    """It may grow by 110 bytes with each: a megabyte with ten thousand."""
    found: Plan = plan(
        product({"objective.beta": range(40), "seed": range(50)}), preset_name="beta-vae"
    )
    used: dict[int, int] = {}
    tracemalloc.start()
    try:
        for status in sweep(found, tmp_path, Fake(finish, slots=8)):
            for mark in (500, 2000):
                if status.done >= mark and mark not in used:
                    used[mark] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert status.done == 2000
    assert used[2000] - used[500] < 1500 * 110, used


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_what_is_under_way_and_exits(
    tmp_path: Path, holders: Holders, number: int, code: int
) -> None:
    file = sweep_file(tmp_path / "sweep.yaml", {"seed": [0, 1]}, steps=ENDLESS)
    out = tmp_path / "out"

    def both_train() -> bool:
        return len(list(out.glob("*/timing.jsonl"))) == len(holders(out)) == 2

    with started(command(file, out, PATIENT)) as process:
        until(both_train, process)
        os.killpg(process.pid, number)  # as a terminal does
        answer, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == code
    assert json.loads(answer)["error"]["type"] == "Interrupted"
    assert len(list(out.glob("*/state.safetensors"))) == 2 and not holders(out)
