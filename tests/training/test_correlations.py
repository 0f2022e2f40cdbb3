"""Correlations of means at chosen steps: kept, right, resumed, and without effect on the run."""

import signal
from pathlib import Path

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.build import build_data
from vaescope.checking import check
from vaescope.data import Dataset
from vaescope.errors import Interrupted, UsageError
from vaescope.inspection.dissect import training_of
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import digest
from vaescope.training.group import train_group
from vaescope.training.many import stackable
from vaescope.training.run import train_run

SPEC = [
    "data.name=linear-gaussian", "data.n=300", "data.dimension=8", "latent=3", "steps=90",
    "net.name=mlp", "net.encoder=[16]", "net.decoder=[16]", "optimiser.lr=1e-2", "batch=16",
    "logging.every=40",
]  # fmt: skip


def start(folder: Path, *settings: str) -> tuple[Run, Dataset]:
    spec = from_command_line("beta-vae", [*SPEC, *settings])
    run = Run.of(spec, "beta-vae", folder)
    run.create(spec)
    return run, build_data(spec.data)


def finish(run: Run, data: Dataset, stop_after: int | None = None) -> None:
    seen = 0

    def stop() -> int:
        nonlocal seen
        seen += 1
        return signal.SIGTERM if seen == stop_after else 0

    for _ in train_run(run, run.open(), data, device=torch.device("cpu"), stop=stop):
        pass


def test_they_are_those_of_the_models_codes_at_that_step(tmp_path: Path) -> None:
    run, data = start(tmp_path, "logging.correlations=30")
    finish(run, data)
    rows = run.read_correlations()
    assert [row["step"] for row in rows] == [30, 60, 90]
    codes = vs.encode(run, data)  # all 300 rows, in their own order
    last = rows[-1]
    assert last["n"] == 300
    np.testing.assert_allclose(last["correlation"], np.corrcoef(codes.mean.T), atol=1e-5)
    np.testing.assert_allclose(last["variance_of_mean"], codes.mean.var(0), rtol=1e-4)
    np.testing.assert_allclose(last["mean_variance"], codes.variance.mean(0), rtol=1e-4)


@pytest.mark.slow
def test_chosen_steps_resume_to_the_same_bytes_and_change_nothing_else(tmp_path: Path) -> None:
    plain, data = start(tmp_path / "plain")
    finish(plain, data)
    chosen = "logging.correlations=[1, 37, 80]"
    whole, _ = start(tmp_path / "whole", chosen)
    finish(whole, data)
    broken, _ = start(tmp_path / "broken", chosen)
    for after in (37, 20, 30):
        with pytest.raises(Interrupted):
            finish(broken, data, stop_after=after)
    finish(broken, data)
    assert [row["step"] for row in whole.read_correlations()] == [1, 37, 80]
    assert whole.correlations.read_bytes() == broken.correlations.read_bytes()
    for name in ("weights.safetensors", "history.jsonl"):
        assert (whole.path / name).read_bytes() == (broken.path / name).read_bytes()
        assert (whole.path / name).read_bytes() == (plain.path / name).read_bytes()
    assert digest(whole.open()) == digest(plain.open())
    assert stackable(plain.open()) and stackable(whole.open())


@pytest.mark.parametrize("chosen", ["30", "[7,45]"])
def test_stacked_runs_keep_the_traces_that_they_have_alone(tmp_path: Path, chosen: str) -> None:
    alone, data = start(tmp_path / "alone", f"logging.correlations={chosen}")
    finish(alone, data)
    together = [
        start(tmp_path / "stacked", f"logging.correlations={chosen}", f"seed={seed}")[0]
        for seed in range(2)
    ]
    for _ in train_group(together, [run.open() for run in together], data):
        pass
    rows, wanted = together[0].read_correlations(), alone.read_correlations()
    assert [row["step"] for row in rows] == [row["step"] for row in wanted]
    for row, other in zip(rows, wanted, strict=True):
        np.testing.assert_allclose(row["correlation"], other["correlation"], atol=2e-2)
        np.testing.assert_allclose(row["mean_variance"], other["mean_variance"], rtol=2e-2)
    assert [row["step"] for row in together[0].records()] == [40, 80, 90]
    assert together[1].read_correlations() != rows and not check(together[0].path).damaged


def test_a_changed_trace_is_found(tmp_path: Path) -> None:
    run, data = start(tmp_path, "logging.correlations=45")
    finish(run, data)
    lines = run.correlations.read_text()
    run.correlations.write_text(lines.replace("0.", "1.", 1))
    assert any(
        found.path == run.correlations and found.state == "damaged"
        for found in check(run.path).findings
    )


def test_the_kl_of_each_latent_adds_up_to_the_rate_and_is_drawn(tmp_path: Path) -> None:
    run, data = start(tmp_path, "logging.latent_kl=true")
    finish(run, data)
    rows = run.records()
    for row in rows:
        assert sum(row["latent_kl"]) == pytest.approx(row["rate"], rel=1e-4)
    plain, _ = start(tmp_path / "plain")
    finish(plain, data)
    assert "latent_kl" not in plain.records()[0]
    assert plain.weights.read_bytes() == run.weights.read_bytes()
    training = training_of(rows, run.open())
    assert training is not None and training.latent_kl is not None
    np.testing.assert_allclose(training.latent_kl.sum(1), training.rate, rtol=1e-4)


def test_a_prior_without_a_kl_by_latent_is_refused(tmp_path: Path) -> None:
    run, data = start(tmp_path, "logging.latent_kl=true", "prior.name=student-t")
    with pytest.raises(UsageError, match=r"latent_kl needs diagonal Gaussians"):
        finish(run, data)
