"""A clean folder with a short module: every command takes its parts, from another process each."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until

import vaescope
from vaescope.settings import dump_yaml, read_scalar

# As the installed command: the current folder is not on Python's path by itself.
PYTHON = [sys.executable, "-P"]
VAESCOPE = [*PYTHON, "-m", "vaescope"]
SMALL = ["data.name=synth-linear", "data.n=500", "latent=2", "steps=60", "logging.every=10"]
OWN = ["objective.name=mylab:weighted", "objective.weight=0.5", "net.name=mylab:build"]
#: Stands still after 30 steps while there is a file `hold`, and says so.
HOLD = """
import time
from pathlib import Path
free = weighted
def weighted(vae, batch, step, noise, *, weight=1.0):
    while step >= 30 and Path("hold").exists():
        Path("held").touch()
        time.sleep(0.01)
    return free(vae, batch, step, noise, weight=weight)
"""


def environment() -> dict[str, str]:
    source = str(Path(vaescope.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "RAY_USAGE_STATS_ENABLED": "0"}


def run(command: list[str], *, code: int = 0) -> Any:
    """What a command gives as JSON."""
    ended = subprocess.run(
        [*VAESCOPE, *command, "--json"], capture_output=True, env=environment(), check=False
    )
    assert ended.returncode == code, (ended.stdout + ended.stderr).decode()
    return json.loads(ended.stdout)


@pytest.fixture
def clean(lab: Path, shown: str) -> Path:
    """A folder with the ten lines of the docs and nothing else."""
    (lab / "mylab.py").write_text(shown)
    return lab


def code(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_an_objective_and_a_network_have_ten_lines_and_a_beta_vae_twelve(
    shown: str, shown_class: str
) -> None:
    assert len(code(shown)) <= 10
    assert len(code(shown_class)) <= 12


@pytest.mark.slow
def test_killed_it_resumes_to_the_same_bytes_and_changed_source_is_refused(
    clean: Path, shown: str
) -> None:
    (clean / "mylab.py").write_text(shown + HOLD)
    command = ["train", "vae", *SMALL, *OWN]
    whole = Path(run([*command, "--out", "whole"])["runs"][0]["path"])

    cut = clean / "cut" / whole.name
    for number in (signal.SIGTERM, signal.SIGKILL):  # the second as it has just resumed
        (clean / "hold").touch()
        process = subprocess.Popen(
            [*VAESCOPE, *command, "--out", "cut", "--quiet"], env=environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until((clean / "held").exists, process)
        process.send_signal(number)
        for name in ("hold", "held"):
            (clean / name).unlink()
        assert process.wait() in (143, -signal.SIGKILL) and not (cut / "done.json").exists()
        (clean / "held").unlink(missing_ok=True)

    (clean / "mylab.py").write_text(shown.replace("weight * elbo", "2 * weight * elbo"))
    refused = run([*command, "--out", "cut"], code=1)["error"]
    assert cut.name in refused["message"] and "other source code" in refused["message"]
    assert "Restore" in refused["remedy"]
    assert [path.name for path in (clean / "cut").iterdir()] == [cut.name]

    (clean / "mylab.py").write_text(shown + HOLD)
    resumed = run([*command, "--out", "cut"])["runs"][0]
    assert 0 < resumed["resumed_from"] < 60
    for name in ("weights.safetensors", "history.jsonl", "spec.json"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.slow
def test_a_finished_run_stays_and_changed_source_gets_its_own(clean: Path, shown: str) -> None:
    command = ["train", "vae", *SMALL, *OWN, "--out", "runs"]
    first = run(command)["runs"][0]["path"]
    (clean / "mylab.py").write_text(shown + "\n")
    assert run(command)["runs"][0]["path"] != first
    opened = run(["encode", first, "--out", "codes.npz"], code=1)["error"]
    assert "mylab.py is not the source" in opened["message"]
    assert "was not imported" in opened["message"]


@pytest.mark.slow
def test_it_is_inspected_compared_and_exported(clean: Path) -> None:
    mine = run(["train", "vae", *SMALL, *OWN, "--out", "runs"])["runs"][0]["path"]
    ours = run(["train", "vae", *SMALL, "--out", "runs"])["runs"][0]["path"]
    found = run(["inspect", mine, "--fast", "--out", "report.html"])
    assert found["d"] == 2 and (clean / "report.html").stat().st_size > 0
    compared = run(["compare", mine, ours])
    assert "objective.name" in json.dumps(compared["spec_diff"]) and len(compared["runs"]) == 2
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    code = f"import vaescope as vs; print(vs.export_onnx({mine!r}, 'onnx').largest_difference)"
    ended = subprocess.run(
        [*PYTHON, "-c", code], capture_output=True, env=environment(), check=True
    )
    assert float(ended.stdout.split()[-1]) < 1e-5 and (clean / "onnx" / "encoder.onnx").exists()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_sweep_of_four_settings_runs_over_two_workers(
    clean: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="ray is not installed: pip install 'vaescope[ray]'")
        monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "0")
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
    fixed = [setting.split("=") for setting in [*SMALL, *OWN] if ".weight=" not in setting]
    grid = {"objective.weight": [0.1, 1.0], "net.width": [8, 16]}
    settings = {key: read_scalar(value) for key, value in fixed}
    (clean / "sweep.yaml").write_text(dump_yaml({"preset": "vae", "fixed": settings, "grid": grid}))
    command = ["sweep", "sweep.yaml", "--out", "runs", "--on", engine, "--workers", "2"]
    swept = run(command)
    assert (swept["total"], swept["done"], swept["failed"]) == (4, 4, 0)
    if engine == "local":  # what is skipped is the driver's matter
        assert run(command)["skipped"] == 4
    alone = run(["train", "vae", *SMALL, OWN[0], OWN[2], "objective.weight=1.0", "net.width=8",
                 "--out", "alone"])["runs"][0]["path"]  # fmt: skip
    same = clean / "runs" / Path(alone).name
    assert (same / "weights.safetensors").read_bytes() == (
        Path(alone) / "weights.safetensors"
    ).read_bytes()
