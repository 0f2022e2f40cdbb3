"""Sweeps that are killed, doubled, spread over nodes that vanish, or very long."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from vaescope.sweeps import Plan, make_engine, plan, product, sweep
from vaescope.tables import csv_text, read_table

from .conftest import SMALL
from .test_sweep import Fake, finish

pytestmark = pytest.mark.slow

RUNS, STEPS = 24, 700


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of 24 small models."""
    grid = {"objective.beta": [0.0001, 0.01, 0.1], "seed": "0..7"}
    content = {"preset": "beta-vae", "fixed": {**SMALL, "steps": STEPS}, "grid": grid}
    path = tmp_path_factory.mktemp("sweep") / "sweep.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def command(file: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "vaescope", "sweep", str(file), "--out", str(out),
            "--workers", "2", "--json", "--quiet"]  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table of a sweep that nobody disturbs."""
    out = tmp_path_factory.mktemp("undisturbed")
    done = subprocess.run(command(file, out), check=True, capture_output=True)
    got = json.loads(done.stdout)
    assert (got["total"], got["done"], got["failed"], got["skipped"]) == (RUNS, RUNS, 0, 0)
    return csv_text(read_table(out))


def markers(out: Path) -> dict[str, int]:
    """When each run was done, by the file that is written last."""
    return {f.parent.name: f.stat().st_mtime_ns for f in out.glob("*/done.json")}


def test_killed_five_times_it_ends_as_if_undisturbed(
    file: Path, undisturbed: str, tmp_path: Path
) -> None:
    chance = random.Random(6)
    weights: dict[str, int] = {}
    kills = 0
    while kills < 5:
        before = len(markers(tmp_path))
        process = subprocess.Popen(
            command(file, tmp_path), start_new_session=True, stdout=subprocess.DEVNULL
        )
        # At a random moment once there is something to lose: at most three runs further on.
        further = before + chance.randint(0, 3)
        while len(markers(tmp_path)) < further or not any(tmp_path.glob("*/.lock")):
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 1.0))
        os.killpg(process.pid, signal.SIGKILL)  # the driver and its workers
        process.wait()
        kills += 1
        for name in markers(tmp_path):
            weights.setdefault(name, (tmp_path / name / "weights.safetensors").stat().st_mtime_ns)
    assert 0 < len(weights) < RUNS
    early = markers(tmp_path)
    last = subprocess.run(command(file, tmp_path), check=True, capture_output=True)
    got = json.loads(last.stdout)
    assert (got["total"], got["done"], got["failed"]) == (RUNS, RUNS, 0)
    assert got["skipped"] == len(early)
    after = markers(tmp_path)
    assert len(after) == RUNS and {name: after[name] for name in early} == early
    for name, stamp in weights.items():  # none was trained again after it was done
        assert (tmp_path / name / "weights.safetensors").stat().st_mtime_ns == stamp
    assert csv_text(read_table(tmp_path)) == undisturbed


# A driver that says which runs it trained itself.
DRIVER = """
import json, sys
from pathlib import Path
from vaescope.sweeps import make_engine, read_plan, sweep
file, out = map(Path, sys.argv[1:])
ended = [o for s in sweep(read_plan(file), out, make_engine("local", out, 1)) for o in s.ended]
print(json.dumps({state: [o.run for o in ended if o.state == state]
                  for state in ("trained", "done", "failed")}))
"""


def test_two_drivers_take_no_run_twice(file: Path, undisturbed: str, tmp_path: Path) -> None:
    drivers = [
        subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(file), str(tmp_path)], stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    first, second = (json.loads(driver.communicate()[0]) for driver in drivers)
    assert not first["failed"] and not second["failed"]
    assert first["trained"] and second["trained"]
    assert sorted(first["trained"] + second["trained"]) == sorted(markers(tmp_path))
    for one in (first, second):  # each saw the whole sweep to its end
        assert len(one["trained"]) + len(one["done"]) == RUNS
    assert csv_text(read_table(tmp_path)) == undisturbed


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three nodes of one core each on this machine; the head only coordinates."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'vaescope[ray]'")
    from ray.cluster_utils import Cluster

    health = {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 500,
        "health_check_failure_threshold": 3,
        "health_check_timeout_ms": 500,
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
    from vaescope.sweeps import read_plan

    engine = make_engine("ray", tmp_path)
    assert engine.slots == 3
    removed = False
    for status in sweep(read_plan(file), tmp_path, engine):
        if status.done >= RUNS // 3 and not removed:
            cluster.remove_node(cluster.spare[0], allow_graceful=False)
            removed = True
    assert removed and engine.slots == 2
    assert (status.done, status.failed) == (RUNS, 0)
    assert csv_text(read_table(tmp_path)) == undisturbed


def test_the_drivers_memory_stays_flat_over_ten_thousand_runs(tmp_path: Path) -> None:
    found: Plan = plan(
        product({"objective.beta": range(200), "seed": range(50)}), preset_name="beta-vae"
    )
    used: dict[int, int] = {}
    tracemalloc.start()
    try:
        for status in sweep(found, tmp_path, Fake(finish, slots=8)):
            for mark in (1000, 10_000):
                if status.done >= mark and mark not in used:
                    used[mark] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert status.done == 10_000
    assert used[10_000] - used[1000] < 1_000_000, used


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_what_is_under_way_and_exits(
    tmp_path: Path, holders: Callable[[Path], dict[str, int]], number: int, code: int
) -> None:
    content = {"preset": "beta-vae", "fixed": {**SMALL, "steps": 400_000}, "grid": {"seed": [0, 1]}}
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(content))
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(tmp_path / "sweep.yaml", out), start_new_session=True, stdout=subprocess.PIPE
    )
    while len(list(out.glob("*/timing.jsonl"))) < 2 or len(holders(out)) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)  # as a terminal does
    answer, _ = process.communicate(timeout=90)
    assert process.returncode == code
    assert json.loads(answer)["error"]["type"] == "Interrupted"
    assert len(list(out.glob("*/state.safetensors"))) == 2 and not holders(out)
