"""Rows held out of training say when to stop, and which weights are kept."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.build import build_data, training_rows
from vaescope.data import Dataset
from vaescope.data.in_memory import from_arrays
from vaescope.encoding import load_vae
from vaescope.errors import Interrupted, UsageError
from vaescope.presets import PRESETS
from vaescope.runs import Run
from vaescope.settings import from_command_line, preset
from vaescope.specs import digest, to_dict
from vaescope.training import run as run_module
from vaescope.training.many import stackable
from vaescope.training.run import train_run
from vaescope.training.validation import held_out_elbo, validation_rows

CPU = torch.device("cpu")
#: Few rows and a large network: the ELBO of unseen rows is best long before the end.
OVERFITTING = [
    "data.name=linear-gaussian", "data.n=40", "data.noise=1", "data.dimension=30",
    "latent=4", "steps=600", "logging.every=40",
    "net.name=mlp", "optimiser.lr=1e-2", "batch=16", "objective.beta=0.01",
    "likelihood.name=gaussian", "likelihood.scale=0.3",
    "validation.fraction=0.25", "validation.patience=3", "validation.every=25",
]  # fmt: skip


def start(folder: Path, *settings: str) -> tuple[Run, Dataset]:
    spec = from_command_line("beta-vae", [*OVERFITTING, *settings])
    run = Run.of(spec, "beta-vae", folder)
    run.create(spec)
    return run, build_data(spec.data)


def finish(run: Run, data: Dataset, stop_after: int | None = None) -> None:
    seen = 0

    def stop() -> int:
        nonlocal seen
        seen += 1
        return signal.SIGTERM if seen == stop_after else 0

    for _ in train_run(run, run.open(), data, device=CPU, stop=stop):
        pass


@pytest.mark.slow
def test_training_stops_when_patience_ends_and_keeps_the_best_weights(tmp_path: Path) -> None:
    run, data = start(tmp_path)
    finish(run, data)
    measured = run.validations()
    done = json.loads((run.path / "done.json").read_text())
    elbos = [row["elbo"] for row in measured]
    best = int(np.argmax(elbos))
    assert len(elbos) == best + 4  # three that were not better, then the end
    assert done["steps"] == measured[-1]["step"] < 600
    assert done["best_step"] == measured[best]["step"]
    spec = run.open()
    unseen = validation_rows(spec, data)
    assert unseen is not None and len(unseen) == 10
    kept = held_out_elbo(load_vae(run), spec, unseen, CPU)
    assert kept["elbo"] == pytest.approx(elbos[best], rel=1e-6)
    assert kept["elbo"] > elbos[-1] + 1  # nats: the last weights are another model


@pytest.mark.slow
def test_stopped_at_any_step_and_resumed_it_ends_the_same(tmp_path: Path) -> None:
    whole, data = start(tmp_path / "a")
    finish(whole, data)
    last = whole.validations()[-1]["step"]
    broken, _ = start(tmp_path / "b")
    for after in (30, 25, 7, last - 62):  # the last is the step at which it stops
        with pytest.raises(Interrupted):
            finish(broken, data, stop_after=after)
    finish(broken, data)
    for name in ("weights.safetensors", "history.jsonl", "validation.jsonl"):
        assert (whole.path / name).read_bytes() == (broken.path / name).read_bytes(), name


@pytest.mark.slow
def test_rows_held_out_are_not_trained_on(tmp_path: Path) -> None:
    endless = ["validation.patience=1000", "steps=50"]
    run, data = start(tmp_path / "a", *endless)
    finish(run, data)
    spec = run.open()
    unseen, seen = validation_rows(spec, data), training_rows(spec, data)
    assert unseen is not None and len(seen) == 30
    rows = data.rows(np.arange(40))
    places = [int(np.flatnonzero((rows == row).all(1))[0]) for row in unseen.rows(np.arange(10))]
    rows[places] = rows[places] + 1.0
    other = Run.of(spec, "beta-vae", tmp_path / "b")
    other.create(spec)
    finish(other, from_arrays(rows))
    assert other.history.read_bytes() == run.history.read_bytes()
    assert other.validation.read_bytes() != run.validation.read_bytes()


@pytest.mark.slow
def test_the_elbo_is_that_of_the_model_whatever_was_trained(tmp_path: Path) -> None:
    """Against the closed form of a Gaussian likelihood and posterior, over many samples."""
    run, data = start(tmp_path, "steps=100", "validation.patience=1000")
    finish(run, data)
    spec, vae = run.open(), load_vae(run)
    x = torch.from_numpy(data.rows(np.arange(40)))
    with torch.no_grad():
        q = vae.encoder(x)
        generator = torch.Generator().manual_seed(0)
        total = torch.zeros(40, dtype=torch.float64)
        for _ in range(400):
            z = q.mean + q.variance.sqrt() * torch.randn(q.mean.shape, generator=generator)
            gap = (vae.decoder(z).mean - x).double()
            scale = 0.3
            total += (-0.5 * (gap / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)).sum(1)
        kl = 0.5 * (q.mean**2 + q.variance - 1 - q.variance.log()).sum(1).double()
        expected = total / 400 - kl
    # One sample of each row: its error is that of a mean over 40 rows.
    got = held_out_elbo(vae, spec, data, CPU)
    assert got["rate"] == pytest.approx(kl.mean().item(), rel=1e-5)
    assert got["elbo"] == pytest.approx(-got["distortion"] - got["rate"], rel=1e-6)
    assert got["elbo"] == pytest.approx(expected.mean().item(), rel=0.1)


def test_without_validation_specs_and_digests_are_what_they_were() -> None:
    for name in PRESETS:
        spec = from_command_line(name, [])
        assert "validation" not in to_dict(spec)
        if name in ("pcl", "weak-gan"):  # they train no ELBO
            with pytest.raises(UsageError, match="needs a held-out ELBO"):
                digest(from_command_line(name, ["validation.patience=3"]))
            continue
        assert digest(spec) != digest(from_command_line(name, ["validation.patience=3"]))
    assert "validation" not in preset("vae")


def test_validation_and_a_split_are_one_idea() -> None:
    shares = ["split.shares=[0.7, 0.2, 0.1]", "split.seed=5"]
    spec = from_command_line("beta-vae", ["data.name=pinwheel", *shares, "validation.fraction=0.2"])
    data = build_data(spec.data)
    train, validation, _ = data.split(5, (0.7, 0.2, 0.1))
    rows = validation_rows(spec, data)
    assert rows is not None
    np.testing.assert_array_equal(rows.rows(np.arange(80)), validation.rows(np.arange(80)))
    assert len(training_rows(spec, data)) == len(train) == 280
    other = from_command_line("beta-vae", [*shares, "validation.patience=2"])
    with pytest.raises(UsageError, match=r"validation\.fraction=0\.2"):
        digest(other)


def test_python_takes_the_same_settings_and_models_with_validation_train_alone(
    tmp_path: Path,
) -> None:
    run = vs.train("vae", "pinwheel", steps=4, latent=2, out=tmp_path, patience=2, fraction=0.5)
    assert run.open().validation is not None
    assert [row["step"] for row in run.validations()] == [4]
    small = ["data.name=synth-linear", "latent=2"]
    assert stackable(from_command_line("vae", small))
    assert not stackable(from_command_line("vae", [*small, "validation.patience=2"]))


def test_a_fraction_that_leaves_no_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leaves 3 rows to train on and 0 held out"):
        vs.train("vae", np.eye(3), steps=2, latent=2, out=tmp_path, fraction=0.01)


@pytest.mark.slow
def test_a_measurement_written_after_the_last_checkpoint_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, data = start(tmp_path / "a")
    finish(whole, data)
    broken, _ = start(tmp_path / "b")
    with pytest.raises(Interrupted):
        finish(broken, data, stop_after=30)
    real = run_module._append

    def killed(file: object, row: dict[str, object]) -> None:
        real(file, row)  # type: ignore[arg-type]
        if row["step"] == 50 and "elbo" in row:
            raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "_append", killed)
    with pytest.raises(KeyboardInterrupt):
        finish(broken, data)
    monkeypatch.setattr(run_module, "_append", real)
    finish(broken, data)
    assert whole.validation.read_bytes() == broken.validation.read_bytes()
