"""Every example runs as a user runs it, with few steps."""

import os
import runpy
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


OF_GUIDES = {
    "judge_a_model.py": "judge", "choose_beta.py": "beta", "compare_over_seeds.py": "compare",
    "prune_latents.py": "prune", "export_a_model.py": "export", "run_a_sweep.py": "cluster",
    "check_a_claim.py": "claim", "perturb_data.py": "perturb", "own_objective.py": "objective",
}  # fmt: skip


def test_every_example_is_tested_and_every_guide_has_one() -> None:
    tested = {"own_loop.py", "with_lightning.py", *OF_GUIDES}
    assert {file.name for file in FOLDER.glob("*.py")} == tested
    guides = {file.stem for file in (FOLDER.parent / "docs" / "guides").glob("*.md")}
    assert set(OF_GUIDES.values()) == guides - {"index"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_GUIDES)
def test_the_example_of_a_guide_runs_and_draws(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process: importing torch would take longer than most of them."""
    pytest.importorskip("matplotlib").use("Agg")
    few = ["--steps", "20"] if "--steps" in (FOLDER / name).read_text("utf-8") else []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *few, "--picture", "picture.png"])
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


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
