"""Every preset trains: twenty steps on fewer images, to a finished run that encodes."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import vaescope as vs
from vaescope.build import build_data
from vaescope.cli.app import app
from vaescope.data.in_memory import from_arrays
from vaescope.presets import PRESETS
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.training.run import train_run

#: Their nets are for 64 pixels only.
LARGE = ("student-t-vae", "anisotropic-vae", "slow-vae")
#: The fast tests have one of each kind: no noise, a diagonal posterior, another prior.
QUICK = ("ae", "beta-vae", "pinwheel")
FEW = ["data.grid.shape=[1]", "data.grid.orientation=[0]", "data.size=32"]


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PRESETS],
)
def test_every_preset_trains_at_twenty_steps(name: str, tmp_path: Path) -> None:
    import torch

    spec = from_command_line(name, [])
    settings = ["steps=20", "batch=8", "logging.every=10"]
    if spec.data.name == "dsprites":
        settings += FEW[:2] if name in LARGE else FEW
    if name == "ivae-dsprites":
        settings += ["prior.width=3"]  # scale, x and y
    spec = from_command_line(name, settings)
    if spec.data.name in (
        "fashion-mnist",
        "celeba",
        "faces3d",
    ):  # not on every machine: any images will do
        data = from_arrays(np.random.default_rng(0).random((64, *spec.data.shape)))
        run = Run.of(spec, name, tmp_path)
        run.create(spec)
        for _ in train_run(run, run.open(), data, device=torch.device("cpu")):
            pass
    else:
        data = build_data(spec.data)
        done = CliRunner().invoke(app, ["train", name, *settings, "--out", str(tmp_path), "--json"])
        assert done.exit_code == 0, done.output
        run = Run(Path(json.loads(done.stdout)["runs"][0]["path"]))
    assert run.is_done
    records = run.records()
    assert [row["step"] for row in records] == [10, 20]
    assert all(np.isfinite(row["loss"]) for row in records)
    codes = vs.encode(run, data, index=np.arange(8))
    assert codes.d == spec.latent
