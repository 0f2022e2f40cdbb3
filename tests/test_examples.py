"""Every example runs as a user runs it, in its own process, with few steps."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import vaescope

FOLDER = Path(__file__).parents[1] / "examples"
SOURCE = Path(vaescope.__file__).parents[1]


def run(name: str, *options: str, folder: Path) -> str:
    paths = [str(SOURCE), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, FOLDER / name, *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested() -> None:
    tested = {"own_loop.py", "with_lightning.py"}
    assert {file.name for file in FOLDER.glob("*.py")} == tested


@pytest.mark.slow
def test_the_loop_in_plain_torch_counts_the_latents(tmp_path: Path) -> None:
    last = run("own_loop.py", "--steps", "20", folder=tmp_path).splitlines()[-1]
    assert last.split()[0] == "20"
    assert "1,280 examples" in last


@pytest.mark.slow
def test_the_loop_in_plain_torch_is_told_of_a_collapse(tmp_path: Path) -> None:
    says = run("own_loop.py", "--steps", "400", "--beta", "1000", folder=tmp_path)
    assert "Posterior collapse: all 10 latents" in says


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("lightning") is None,
    reason="Lightning is an extra: pip install 'vaescope[lightning]'",
)
def test_the_lightning_example_trains_watches_and_writes_a_report(tmp_path: Path) -> None:
    says = run("with_lightning.py", "--epochs", "2", "--out", "page.html", folder=tmp_path)
    assert "12,288 examples" in says  # the callback saw both epochs
    assert "<html" in (tmp_path / "page.html").read_text("utf-8")
