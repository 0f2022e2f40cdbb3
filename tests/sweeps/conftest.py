"""Small sweeps, and ways to disturb them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vaescope.sweeps import Plan, plan, product

SMALL = {"data.name": "synth-linear", "data.n": 500, "latent": 2, "logging.every": 20}
#: Steps of a run that no machine trains to its end while a test looks on.
ENDLESS = 10**9


@pytest.fixture
def small_plan() -> Callable[..., Plan]:
    """So many runs of so many steps: three strengths, as many seeds as it takes."""

    def make(runs: int = 6, steps: int = 40) -> Plan:
        axes = {"objective.beta": [0.001, 0.01, 0.1], "seed": range(runs // 3)}
        cells = [{**SMALL, "steps": steps, **cell} for cell in product(axes)]
        return plan(cells, preset_name="beta-vae")

    return make


@pytest.fixture
def holders() -> Callable[[Path], dict[str, int]]:
    """Who trains what just now: run -> process, as the system's table of locks has it."""

    def look(folder: Path) -> dict[str, int]:
        inodes = {}
        for lock in folder.glob("*/.lock"):
            inodes[lock.stat().st_ino] = lock.parent.name
        found = {}
        for line in Path("/proc/locks").read_text().splitlines():
            _, kind, _, _, process, place, *_ = line.split()
            if kind == "->":  # somebody who waits
                continue
            inode = int(place.split(":")[2])
            if kind == "FLOCK" and inode in inodes:
                found[inodes[inode]] = int(process)
        return found

    return look


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Others may fill this machine: Ray neither kills its workers for that nor puts them last.
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")
    os.environ.pop("RAY_ADDRESS", None)
