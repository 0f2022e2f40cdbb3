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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from vaescope.sweeps import Plan, make_engine, plan, product, sweep
from vaescope.tables import csv_text, read_table

from .conftest import SMALL
from .test_sweep import Fake, finish

pytestmark = pytest.mark.slow

Holders = Callable[[Path], dict[str, int]]

RUNS = 24
#: Models by strength and seed, each alone; and by architecture and seed, so that eight are stacked.
APART = {"objective.beta": [0.0001, 0.01, 0.1], "seed": "0..7"}
STACKED = {"net.encoder": [[8], [12], [16]], "seed": "0..7"}


def sweep_file(path: Path, grid: dict[str, Any], **fixed: Any) -> Path:
    content = {"preset": "beta-vae", "fixed": {**SMALL, **fixed}, "grid": grid}
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of 24 small models."""
    return sweep_file(tmp_path_factory.mktemp("sweep") / "sweep.yaml", APART, steps=700)


def command(file: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "vaescope", "sweep", str(file), "--out", str(out),
            "--workers", "2", "--json", "--quiet"]  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return table_of_undisturbed(file, tmp_path_factory.mktemp("undisturbed"))


def table_of_undisturbed(file: Path, out: Path) -> str:
    """The table of a sweep that nobody disturbs."""
    done = subprocess.run(command(file, out), check=True, capture_output=True)
    got = json.loads(done.stdout)
    assert (got["total"], got["done"], got["failed"], got["skipped"]) == (RUNS, RUNS, 0, 0)
    return csv_text(read_table(out))


@contextmanager
def started(file: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A sweep in a group of processes of its own, of which nothing is left afterwards."""
    process = subprocess.Popen(
        command(file, out), start_new_session=True, stdout=subprocess.PIPE
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # the driver and its workers


def markers(out: Path) -> dict[str, int]:
    """When each run was done, by the file that is written last."""
    return {f.parent.name: f.stat().st_mtime_ns for f in out.glob("*/done.json")}


def test_killed_five_times_it_ends_as_if_undisturbed(
    file: Path, undisturbed: str, tmp_path: Path, holders: Holders
) -> None:
    killed_five_times(file, undisturbed, tmp_path, holders)


def test_killed_five_times_stacked_models_end_as_if_undisturbed(
    tmp_path: Path, holders: Holders
) -> None:
    file = sweep_file(tmp_path / "s.yaml", STACKED, **{"net.name": "mlp", "steps": 2500})
    undisturbed = table_of_undisturbed(file, tmp_path / "undisturbed")
    killed_five_times(file, undisturbed, tmp_path / "out", holders)
    for facts in (tmp_path / "out").glob("*/environment.json"):
        assert json.loads(facts.read_text())["stack_size"] == 8


def killed_five_times(file: Path, undisturbed: str, out: Path, holders: Holders) -> None:
    chance = random.Random(6)
    weights: dict[str, int] = {}
    kills = 0
    while kills < 5:
        before = len(markers(out))
        # At a random moment while it trains: at most three runs further on, or a group; a third of
        # the runs is left for the last command.
        further = min(before + chance.randint(0, 3), 2 * RUNS // 3)
        with started(file, out) as process:
            while len(markers(out)) < further or not holders(out):
                assert process.poll() is None, "it ended before it could be killed"
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 1.0))
            assert process.poll() is None, "it ended before it could be killed"
        kills += 1
        for name in markers(out):
            weights.setdefault(name, (out / name / "weights.safetensors").stat().st_mtime_ns)
    assert 0 < len(weights) < RUNS
    early = markers(out)
    last = subprocess.run(command(file, out), check=True, capture_output=True)
    got = json.loads(last.stdout)
    assert (got["total"], got["done"], got["failed"]) == (RUNS, RUNS, 0)
    assert got["skipped"] == len(early)
    after = markers(out)
    assert len(after) == RUNS and {name: after[name] for name in early} == early
    for name, stamp in weights.items():  # none was trained again after it was done
        assert (out / name / "weights.safetensors").stat().st_mtime_ns == stamp
    assert csv_text(read_table(out)) == undisturbed


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
    tmp_path: Path, holders: Holders, number: int, code: int
) -> None:
    sweep_file(tmp_path / "sweep.yaml", {"seed": [0, 1]}, steps=400_000)
    out = tmp_path / "out"
    with started(tmp_path / "sweep.yaml", out) as process:
        while len(list(out.glob("*/timing.jsonl"))) < 2 or len(holders(out)) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, number)  # as a terminal does
        answer, _ = process.communicate(timeout=90)
    assert process.returncode == code
    assert json.loads(answer)["error"]["type"] == "Interrupted"
    assert len(list(out.glob("*/state.safetensors"))) == 2 and not holders(out)
