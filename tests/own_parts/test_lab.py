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
OWN = ["objective.name=mylab:Weighted", "objective.weight=0.5", "net.name=mylab:build"]
#: Stands still after 30 steps while there is a file `hold`.
HOLD = """
import time
from pathlib import Path

free = Weighted.__call__


def held(self, vae, batch, step, noise):
    while step >= 30 and Path("hold").exists():
        time.sleep(0.01)
    return free(self, vae, batch, step, noise)


Weighted.__call__ = held
"""


def environment() -> dict[str, str]:
    source = str(Path(vaescope.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "RAY_USAGE_STATS_ENABLED": "0"}


def run(command: list[str], *, code: int = 0) -> Any:
    """What a command gives as JSON."""
    ended = subprocess.run(
        [*VAESCOPE, *command, "--json"], capture_output=True, env=environment(), check=False
    )
    assert ended.returncode == code, ended.stderr.decode()
    return json.loads(ended.stdout)


def test_the_objective_of_the_docs_has_at_most_twelve_lines(shown: str) -> None:
    lines = shown[shown.index("@dataclass") : shown.index("def build")].strip().splitlines()
    assert len(lines) <= 12


@pytest.mark.slow
def test_killed_it_resumes_to_the_same_bytes_and_changed_source_is_refused(
    lab: Path, shown: str
) -> None:
    (lab / "mylab.py").write_text(shown + HOLD)
    command = ["train", "vae", *SMALL, *OWN]
    whole = Path(run([*command, "--out", "whole"])["runs"][0]["path"])

    (lab / "hold").touch()
    process = subprocess.Popen(
        [*VAESCOPE, *command, "--out", "cut", "--quiet"], env=environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    cut = lab / "cut" / whole.name
    history = cut / "history.jsonl"
    until(lambda: history.exists() and history.read_text().count("\n") == 3, process)
    process.send_signal(signal.SIGTERM)
    (lab / "hold").unlink()
    assert process.wait() == 143 and not (cut / "done.json").exists()

    (lab / "mylab.py").write_text(shown.replace("self.weight * nats", "2 * self.weight * nats"))
    refused = run([*command, "--out", "cut"], code=1)["error"]
    assert cut.name in refused["message"] and "another source" in refused["message"]
    assert "Restore" in refused["remedy"]
    assert [path.name for path in (lab / "cut").iterdir()] == [cut.name]

    (lab / "mylab.py").write_text(shown + HOLD)
    resumed = run([*command, "--out", "cut"])["runs"][0]
    assert 0 < resumed["resumed_from"] < 60
    for name in ("weights.safetensors", "history.jsonl", "spec.json"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.slow
def test_a_finished_run_stays_and_changed_source_gets_its_own(lab: Path, shown: str) -> None:
    command = ["train", "vae", *SMALL, *OWN, "--out", "runs"]
    first = run(command)["runs"][0]["path"]
    (lab / "mylab.py").write_text(shown + "\n")
    assert run(command)["runs"][0]["path"] != first
    opened = run(["encode", first, "--out", "codes.npz"], code=1)["error"]
    assert "mylab.py is not the source" in opened["message"]
    assert "was not imported" in opened["message"]


@pytest.mark.slow
def test_it_is_inspected_compared_and_exported(lab: Path) -> None:
    mine = run(["train", "vae", *SMALL, *OWN, "--out", "runs"])["runs"][0]["path"]
    ours = run(["train", "vae", *SMALL, "--out", "runs"])["runs"][0]["path"]
    found = run(["inspect", mine, "--fast", "--out", "report.html"])
    assert found["d"] == 2 and (lab / "report.html").stat().st_size > 0
    compared = run(["compare", mine, ours])
    assert "objective.name" in json.dumps(compared["spec_diff"]) and len(compared["runs"]) == 2
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    code = f"import vaescope as vs; print(vs.export_onnx({mine!r}, 'onnx').largest_difference)"
    ended = subprocess.run(
        [*PYTHON, "-c", code], capture_output=True, env=environment(), check=True
    )
    assert float(ended.stdout.split()[-1]) < 1e-5 and (lab / "onnx" / "encoder.onnx").exists()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_sweep_of_four_settings_runs_over_two_workers(
    lab: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="ray is not installed: pip install 'vaescope[ray]'")
        monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "0")
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
    fixed = [setting.split("=") for setting in [*SMALL, *OWN] if "weight" not in setting]
    grid = {"objective.weight": [0.1, 1.0], "net.width": [8, 16]}
    settings = {key: read_scalar(value) for key, value in fixed}
    (lab / "sweep.yaml").write_text(dump_yaml({"preset": "vae", "fixed": settings, "grid": grid}))
    command = ["sweep", "sweep.yaml", "--out", "runs", "--on", engine, "--workers", "2"]
    swept = run(command)
    assert (swept["total"], swept["done"], swept["failed"]) == (4, 4, 0)
    assert run(command)["skipped"] == 4
    alone = run(["train", "vae", *SMALL, *OWN, "objective.weight=1.0", "net.width=8",
                 "--out", "alone"])["runs"][0]["path"]  # fmt: skip
    same = lab / "runs" / Path(alone).name
    assert (same / "weights.safetensors").read_bytes() == (
        Path(alone) / "weights.safetensors"
    ).read_bytes()
