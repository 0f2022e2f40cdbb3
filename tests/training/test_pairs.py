"""Training with pairs: partners are functions of (seed, step), within the training rows."""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

import vaescope as vs
from vaescope.build import build_data, build_pairs, training_rows
from vaescope.data import Dataset
from vaescope.errors import Interrupted, UsageError
from vaescope.runs import Run
from vaescope.settings import from_command_line, from_python
from vaescope.specs import Experiment, digest, to_dict
from vaescope.training.loop import new_state, steps
from vaescope.training.many import stackable
from vaescope.training.run import train_run

PLACES = list(range(0, 32, 4))  # all images differ
GRID = f'data.grid={{"shape": [0], "scale": [5], "orientation": [0], "x": {PLACES}, "y": {PLACES}}}'
SMALL = ["data.size=32", GRID, "net.name=linear", "latent=2", "batch=32", "steps=6"]
OWN = ["objective.name=mylab:slow", "objective.weight=0.5"]
#: ELBO of both rows, and codes of a pair close to each other.
SLOW = """
import vaescope as vs

def slow(vae, batch, step, noise, *, weight=1.0):
    elbo = vs.objectives.BetaVAE()(vae, batch, step, noise)
    drift = (vae.encoder(batch.pair).mean - elbo.posterior.mean).abs().sum(1).mean()
    return vs.Terms(elbo.loss + weight * drift, {**elbo.parts, "drift": drift}, elbo.posterior)
"""


@dataclass(frozen=True)
class Noting(vs.Objective):
    """A beta-VAE that keeps the batches that it saw."""

    seen: list[vs.Batch] = dataclasses.field(default_factory=list)
    needs_pairs: ClassVar[bool] = True

    def __call__(self, vae: vs.VAE, batch: vs.Batch, step: Tensor, noise: Tensor) -> vs.Terms:
        self.seen.append(batch)
        return vs.objectives.BetaVAE()(vae, batch, step, noise)


def spec(*settings: str) -> Experiment:
    return from_command_line("vae", [*SMALL, *settings])


def batches(experiment: Experiment, data: Dataset) -> list[vs.Batch]:
    state = new_state(experiment, torch.device("cpu"))
    state.objective = Noting()
    for _ in steps(state, experiment, data, "fp32"):
        pass
    return state.objective.seen  # type: ignore[attr-defined, no-any-return]


def classes(data: Dataset, rows: Tensor) -> np.ndarray[Any, Any]:
    """The factors of images, found by comparing them with all of the data."""
    every = data.rows(np.arange(len(data))).reshape(len(data), -1)
    flat = rows.reshape(len(rows), -1).numpy()
    found = [int(np.flatnonzero((every == row).all(1))[0]) for row in flat]
    return data.require_factors("test").classes(np.array(found))


@pytest.mark.parametrize("split", [[], ["split.shares=[0.5, 0.25, 0.25]"]])
def test_laplace_pairs_are_rows_of_the_training_part_that_moved(split: list[str]) -> None:
    experiment = spec("pairs.name=laplace", "pairs.rate=6", *split)
    whole = build_data(experiment.data)
    data = training_rows(experiment, whole)
    for batch in batches(experiment, data):
        assert batch.pair is not None and batch.pair.shape == batch.x.shape
        assert batch.shared is None
        before, after = classes(data, batch.x), classes(data, batch.pair)  # all are among them
        assert (before != after).any(axis=1).all()
        assert np.abs(before - after).mean() < 1.5  # of places from 0 to 7; at random 2.6


def test_shared_pairs_share_the_factor_that_the_batch_names() -> None:
    experiment = spec("pairs.name=shared", "validation.fraction=0.25")
    data = training_rows(experiment, build_data(experiment.data))
    for batch in batches(experiment, data):
        assert batch.pair is not None and batch.shared is not None
        before, after = classes(data, batch.x), classes(data, batch.pair)
        place = batch.shared.numpy()[:, None]
        np.testing.assert_array_equal(
            np.take_along_axis(before, place, 1), np.take_along_axis(after, place, 1)
        )
        assert set(batch.shared.tolist()) == {0, 1}


def test_pairs_differ_by_step_and_seed_and_not_by_anything_else() -> None:
    experiment = spec("pairs.name=laplace")
    data = build_data(experiment.data)
    pairs = build_pairs(experiment, data)
    assert pairs is not None
    one, same, other = (
        [batch.pair for batch in batches(chosen, data)]
        for chosen in (experiment, experiment, spec("pairs.name=laplace", "seed=1"))
    )
    for a, b, c in zip(one, same, other, strict=True):
        assert a is not None and b is not None and c is not None
        assert torch.equal(a, b) and not torch.equal(a, c)


def test_an_own_objective_with_pairs_is_resumed_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mylab.py").write_text(SLOW)
    experiment = spec(*OWN, "pairs.name=laplace", "pairs.rate=2", "split.shares=[0.8, 0.1, 0.1]")
    data, cpu = build_data(experiment.data), torch.device("cpu")

    def train(folder: Path, stop_after: int) -> Run:
        run = Run.of(experiment, "vae", folder)
        run.create(experiment)
        calls = iter([0] * stop_after + [15])
        with pytest.raises(Interrupted):
            list(train_run(run, experiment, data, device=cpu, stop=lambda: next(calls)))
        list(train_run(run, experiment, data, device=cpu))
        return run

    first, second = train(tmp_path / "a", 2), train(tmp_path / "b", 4)
    assert first.weights.read_bytes() == second.weights.read_bytes()
    assert first.history.read_bytes() == second.history.read_bytes()
    assert "drift" in first.records()[-1]
    assert vs.encode(first).mean.shape == (64, 2)


def test_the_setting_is_left_out_where_it_is_not_given_and_in_the_digest_where_it_is() -> None:
    assert "pairs" not in to_dict(spec())
    digests = {digest(spec(*given)) for given in (
        [], ["pairs.name=laplace"], ["pairs.name=laplace", "pairs.rate=2"], ["pairs.name=shared"],
    )}  # fmt: skip
    assert len(digests) == 4
    assert not stackable(spec("pairs.name=laplace"))
    given = from_python("vae", {"name": "dsprites"}, {"pairs": "laplace", "pairs.rate": 2.0})
    assert to_dict(given)["pairs"] == {"name": "laplace", "rate": 2.0, "categorical": None}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["pairs.name=laplac"], "laplace"),
        (["pairs.rate=2"], "pairs"),
        (["pairs.name=laplace", "pairs.rate=0"], "pairs.rate"),
    ],
)
def test_wrong_settings_are_refused_in_words(settings: list[str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        spec(*settings)
    assert says in f"{caught.value.message} {caught.value.remedy}"


def test_an_objective_that_needs_pairs_is_refused_without_them(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    with pytest.raises(UsageError, match="needs pairs of rows"):
        vs.train("vae", rows, objective=Noting(), latent=2, steps=2, out=tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="needs ground-truth factors"):
        vs.train("vae", rows, pairs="laplace", latent=2, steps=2, out=tmp_path)
