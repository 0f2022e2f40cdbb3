"""A refused training leaves no folder; what has something to keep stays."""

import math
from pathlib import Path

import numpy as np
import pytest

import vaescope as vs
from vaescope.errors import NonFiniteError, RangeError, UsageError

NUMBERS = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
SMALL = {"latent": 2, "batch": 8, "net": {"name": "linear"}}


def test_refused_data_leave_no_folder(tmp_path: Path) -> None:
    asked = {"data.name": "dsprites", "data.size": 16, "data.correlated": ["scale", "hue", 0.5]}
    with pytest.raises(UsageError, match="hue"):
        vs.train("vae", **asked, out=tmp_path / "new" / "runs", steps=2)
    with pytest.raises(RangeError, match="Bernoulli"):
        vs.train("vae", NUMBERS, likelihood={"name": "bernoulli"}, out=tmp_path / "new", **SMALL)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_runs_that_was_there_stays(tmp_path: Path) -> None:
    (runs := tmp_path / "runs").mkdir()
    with pytest.raises(NonFiniteError):
        vs.train("vae", NUMBERS, out=runs, steps=2, lr=1e30, **SMALL)
    assert runs.is_dir() and not list(runs.iterdir())


def test_a_failure_after_rows_of_the_history_keeps_them(tmp_path: Path) -> None:
    def stop(row: object) -> None:
        raise RuntimeError("stopped by the caller")

    with pytest.raises(RuntimeError):
        vs.train("vae", NUMBERS, out=tmp_path, steps=4, logging={"every": 1}, on_record=stop,
                 **SMALL)  # fmt: skip
    (folder,) = tmp_path.iterdir()
    assert math.isfinite(vs.open_run(folder).records()[0]["loss"])


def test_a_begun_run_that_fails_again_keeps_its_folder(tmp_path: Path) -> None:
    spec = {"out": tmp_path, "steps": 4, "logging": {"every": 1}, **SMALL}
    run = vs.train("vae", NUMBERS, **spec)
    run.weights.unlink()
    (run.path / "history.jsonl").write_text("damaged\n")
    with pytest.raises(vs.errors.VaescopeError):
        vs.train("vae", NUMBERS, **spec)
    assert run.state.exists()
