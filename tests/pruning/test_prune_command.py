"""`vaescope prune` of somebody's checkpoint: the answer without a folder."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.command import vaescope

import vaescope as vs
from vaescope.cli.prune import prune
from vaescope.errors import RunError

NETS = """
import numpy as np
import vaescope as vs


def make():
    return vs.known.linear_vae(np.load("x.npy"))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    images = np.asarray(vs.known.signals())
    np.save("x.npy", images)
    Path("prune_nets.py").write_text(NETS)
    torch.save(vs.known.linear_vae(images).state_dict(), "model.pt")
    return tmp_path


@pytest.mark.slow
def test_a_checkpoint_is_answered_for_and_nothing_is_written(folder: Path) -> None:
    before = sorted(folder.iterdir())
    arguments = ("model.pt", "--model", "prune_nets:make", "--data", "x.npy")
    found = json.loads(vaescope("prune", *arguments, "--json", check=True).stdout)
    assert found["dropped"] == [3, 4, 5] and found["run"] is None
    assert {path for path in folder.iterdir() if path.name != "__pycache__"} == set(before)
    written = vaescope("prune", *arguments, "--out", "small")
    assert written.returncode == 2 and "only a run is written to a folder" in written.stderr


def test_a_run_needs_a_folder_and_a_checkpoint_a_model(folder: Path) -> None:
    run = vs.train("vae", np.load("x.npy"), latent=2, steps=2, net={"name": "linear"}, out=folder)
    assert "Give --out, a folder" in vaescope("prune", run.path).stderr
    assert "a checkpoint with --model" in vaescope("prune", "model.pt").stderr


def test_a_folder_without_a_run_is_not_called_one(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run folder"):
        prune(tmp_path)
