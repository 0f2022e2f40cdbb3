"""What users install: the wheel alone, in a clean environment."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_installs_and_trains_in_a_clean_environment(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(
        [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-compile",
            "-c",
            ROOT / "constraints.txt",
            wheel,
        ],
        check=True,
        capture_output=True,
        env=environment,
    )
    done = subprocess.run(
        [python, "-m", "vaescope", "train", "beta-vae", "data.size=32", "data.grid.shape=[1]",
         "data.grid.orientation=[0]", "steps=3", "--out", tmp_path / "runs", "--json"],
        check=True, capture_output=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert json.loads(done.stdout)["runs"][0]["done"]
