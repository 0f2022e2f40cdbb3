"""Sweeps outlive early deaths, clocks and files that stand in their way, and run nobody's code."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vaescope.errors import RunError, UsageError
from vaescope.runs import Run
from vaescope.sweeps import leases, local, plan, product, sweep
from vaescope.sweeps.local import LocalEngine
from vaescope.sweeps.worker import InlineEngine

CELL = {"preset": "vae", "data.name": "synth-linear", "data.n": 100, "latent": 2, "steps": 4}


def cells(count: int) -> list[dict[str, Any]]:
    return [{**CELL, "seed": seed} for seed in range(count)]


@pytest.mark.slow
def test_workers_import_no_python_files_of_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in ("torch", "queue", "numpy", "runpy"):
        text = f"open({str(tmp_path / 'executed')!r}, 'a').write({name!r}); raise SystemExit(3)\n"
        (here / f"{name}.py").write_text(text)
    monkeypatch.chdir(here)
    *_, status = sweep(plan(cells(1)), tmp_path / "out", LocalEngine(tmp_path / "out", 1))
    assert status.done == 1
    assert not (tmp_path / "executed").exists()


@pytest.mark.slow
def test_a_worker_that_dies_before_it_is_ready_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "died"
    once = (
        f"import os, signal\nif not os.path.exists({str(mark)!r}):\n"
        f"    open({str(mark)!r}, 'w').close(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "from vaescope.sweeps.worker import serve; serve()"
    )
    monkeypatch.setattr(local, "_COMMAND", [sys.executable, "-P", "-c", once])
    *_, status = sweep(plan(cells(1)), tmp_path / "out", LocalEngine(tmp_path / "out", 1))
    assert mark.exists() and (status.done, status.failed) == (1, 0)


def test_workers_that_never_become_ready_end_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_COMMAND", [sys.executable, "-c", "raise SystemExit(7)"])
    with pytest.raises(RunError, match=r"3 workers ended before they could begin, .* code 7"):
        list(sweep(plan(cells(2)), tmp_path, LocalEngine(tmp_path, 1), retries=9))


def test_a_run_without_its_weights_is_not_done(tmp_path: Path) -> None:
    experiments = plan(cells(1))
    *_, status = sweep(experiments, tmp_path, InlineEngine())
    run = Run(tmp_path / experiments.names[0])
    weights = run.weights.read_bytes()
    run.weights.unlink()
    *_, status = sweep(experiments, tmp_path, InlineEngine())
    assert (status.done, status.skipped) == (1, 0)
    assert run.weights.read_bytes() == weights


def test_a_lease_dated_ahead_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after the clock of the server was set back by a year."""
    file = tmp_path / ".lease-1"
    file.touch()
    ahead = file.stat().st_mtime + 365 * 86400
    os.utime(file, (ahead, ahead))
    assert leases.held(tmp_path)  # its owner may live
    assert file.stat().st_mtime < ahead - 86400
    monkeypatch.setattr(leases, "EXPIRY", 0.0)
    assert not leases.held(tmp_path)


def test_a_grid_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"99,990,000.*1,000,000 \(VAESCOPE_LIMIT_CELLS"):
        product({"seed": range(10_000), "latent": range(9_999)})
    monkeypatch.setenv("VAESCOPE_LIMIT_CELLS", "5")
    assert len(product({"seed": range(5)})) == 5
    with pytest.raises(UsageError, match="VAESCOPE_LIMIT_CELLS"):
        product({"seed": range(6)})


@pytest.mark.slow
def test_the_error_of_a_run_has_no_path_of_the_installation(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from vaescope.sweeps import plan, sweep\n"
        "from vaescope.sweeps import worker\n"
        "from vaescope.sweeps.worker import InlineEngine\n"
        "worker._steps = lambda *_: 1 / 0\n"
        f"list(sweep(plan([{CELL!r}]), Path(sys.argv[1]), InlineEngine()))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    (failed,) = tmp_path.glob("*/failed.json")
    text = failed.read_text()
    assert "ZeroDivisionError" in text and "vaescope/sweeps/worker.py" in text
    for place in (sys.prefix, str(Path(local.__file__).parents[2])):
        assert place not in text
