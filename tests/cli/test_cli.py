"""The command line as users and scripts see it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import vaescope


def failed(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = vaescope(*arguments, "--json")
    return done.returncode, json.loads(done.stdout)["error"]


TINY = ["data.name=synth-linear", "data.n=200", "latent=2", "steps=4"]


@pytest.mark.slow
def test_train_then_encode(tmp_path: Path) -> None:
    done = json.loads(vaescope("train", "vae", *TINY, "--out", str(tmp_path), "--json").stdout)
    run = done["runs"][0]
    assert run.keys() == {"path", "digest", "seed", "steps", "done", "resumed_from"}
    assert run["done"] and Path(run["path"]).name == f"vae-s0-{run['digest'][:8]}"
    codes = tmp_path / "codes.npz"
    out = json.loads(vaescope("encode", run["path"], "--out", str(codes), "--json").stdout)
    assert out == {"codes": str(codes), "n": 200, "d": 2}
    with np.load(codes) as file:
        assert file["mean"].shape == (200, 2)
    again = vaescope("train", "vae", *TINY, "--out", str(tmp_path))
    assert "is done" in again.stderr


@pytest.mark.slow
def test_seeds_are_inclusive_and_seed_is_a_setting(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path), "--json", "--quiet"]
    many = json.loads(vaescope("train", "vae", *TINY, "--seeds", "1..3", *out).stdout)
    assert [run["seed"] for run in many["runs"]] == [1, 2, 3]
    one = json.loads(vaescope("train", "vae", *TINY, "seed=3", *out).stdout)
    assert one["runs"][0]["path"] == many["runs"][2]["path"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["train", "beta-vae", "objective.betta=4"], 2, "objective.beta"),
        (["train", "beta-vae", "objective.beta=yes"], 2, "a number"),
        (["train", "betavae"], 2, "beta-vae"),
        (["train"], 2, "preset"),
        (["nonsense"], 2, "nonsense"),
        (["train", "vae", "--seeds", "x"], 2, "--seeds"),
        (["train", "vae", *TINY, "--device", "tpu"], 2, "tpu"),
        (["encode", "nowhere", "--out", "x.npz"], 1, "nowhere"),
    ],
)
def test_mistakes_are_explained_with_their_exit_code(
    arguments: list[str], code: int, says: str
) -> None:
    got, error = failed(*arguments)
    assert got == code
    assert error.keys() == {"type", "message", "remedy"}
    assert says in error["message"] + error["remedy"]


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, error = failed("train", "vae", *TINY, "--out", str(tmp_path / "file"))
    assert (code, error["type"]) == (1, "DiskError")


@pytest.mark.slow
def test_help_has_an_example_and_leaves_torch_out() -> None:
    for command in ("demo", "train", "encode"):
        assert "Example: vaescope" in vaescope(command, "--help").stdout
    for option in ("--help", "--version"):
        code = (
            "import sys; sys.argv = ['vaescope', sys.argv[1]]\n"
            "from vaescope.cli import main\n"
            "try: main()\n"
            "except SystemExit: sys.exit(int('torch' in sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, option], check=False, capture_output=True
        )
        assert done.returncode == 0


@pytest.mark.slow
def test_a_plain_model_is_built_without_scipy() -> None:
    """It is slow to import, and the first step waits for it."""
    code = (
        "import sys, torch, vaescope.cli.train, vaescope.training.run\n"
        "from vaescope.settings import from_command_line\n"
        "from vaescope.training.loop import new_state\n"
        "new_state(from_command_line('beta-vae', []), torch.device('cpu'))\n"
        "sys.exit(int('scipy' in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
