"""A prior that starts from the data: computed once, then kept with the run."""

from pathlib import Path

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.build import build_data
from vaescope.data import Dataset
from vaescope.encoding import load_vae
from vaescope.errors import Interrupted, NonFiniteError
from vaescope.priors import AnisotropicPrior
from vaescope.priors.anisotropic import log_principal_variances, log_released_variances
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.training.loop import new_state, steps
from vaescope.training.many import stackable, train_many
from vaescope.training.run import train_run

CPU = torch.device("cpu")
SMALL = ["data.name=linear-gaussian", "data.n=400", "data.dimension=24", "data.noise=0.1",
         f"data.eigenvalues={[float(v) for v in range(22, 0, -1)]}", "latent=4", "net.name=mlp",
         "net.encoder=[8]", "net.decoder=[8]", "batch=16", "steps=24", "logging.every=8",
         "likelihood.name=squared-error"]  # fmt: skip


def spec_of(*settings: str) -> Experiment:
    return from_command_line("anisotropic-vae", [*SMALL, *settings])


def train(folder: Path, spec: Experiment, stop_after: int | None = None) -> tuple[Run, Dataset]:
    run = Run.of(spec, "anisotropic-vae", folder)
    run.create(spec)
    data = build_data(spec.data)
    if stop_after is not None:
        calls = iter([0] * (stop_after - 1) + [15])
        with pytest.raises(Interrupted):
            list(train_run(run, run.open(), data, device=CPU, stop=lambda: next(calls)))
    list(train_run(run, run.open(), data, device=CPU))
    return run, data


def shares(run: Run) -> torch.Tensor:
    prior = load_vae(run).prior
    assert isinstance(prior, AnisotropicPrior)
    return prior.log_shares.detach()


@pytest.mark.parametrize(
    ("start", "wanted"),
    [("principal", log_principal_variances), ("released", log_released_variances)],
)
def test_a_fixed_prior_is_that_of_the_data_and_comes_back_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, wanted: object
) -> None:
    run, data = train(tmp_path, spec_of(f"prior.start={start}"))
    monkeypatch.setattr(Dataset, "rows", lambda *_: pytest.fail("a reload reads no data"))
    found = shares(run)
    monkeypatch.undo()
    torch.testing.assert_close(found, wanted(data, 4), rtol=0, atol=0)  # type: ignore[operator]


def test_a_learned_prior_starts_there_and_moves(tmp_path: Path) -> None:
    run, data = train(tmp_path, spec_of("prior.learned=true"))
    moved = (shares(run) - log_principal_variances(data, 4)).abs()
    assert 0 < moved.max() < 0.1  # 24 steps of at most 5e-4 or so each


@pytest.mark.parametrize("learned", ["false", "true"])
def test_stopped_and_resumed_it_ends_the_same(tmp_path: Path, learned: str) -> None:
    spec = spec_of(f"prior.learned={learned}")
    whole, _ = train(tmp_path / "a", spec)
    broken, _ = train(tmp_path / "b", spec, stop_after=11)
    assert whole.weights.read_bytes() == broken.weights.read_bytes()
    assert whole.history.read_bytes() == broken.history.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("learned", ["false", "true"])
def test_stacked_models_have_the_prior_they_have_alone(tmp_path: Path, learned: str) -> None:
    specs = [spec_of(f"seed={seed}", f"prior.learned={learned}") for seed in range(4)]
    assert stackable(specs[0])
    *_, last = train_many(specs, build_data(specs[0].data), compiled=False)
    alone, _ = train(tmp_path, specs[2])
    together, single = last.weights(2).state_dict(), load_vae(alone).state_dict()
    assert together.keys() == single.keys()
    for name, value in single.items():
        torch.testing.assert_close(together[name], value, rtol=1e-4, atol=1e-5, msg=name)


def test_codes_hold_its_variances(tmp_path: Path) -> None:
    run, data = train(tmp_path, spec_of("prior.variance=2"))
    codes = vs.encode(run, data, index=np.arange(7))
    assert codes.prior_variance is not None and not codes.supervised and codes.u is None
    expected = 2.0 * 4.0 * log_principal_variances(data, 4).softmax(0).numpy()
    np.testing.assert_allclose(codes.prior_variance, np.tile(expected, (7, 1)), rtol=1e-5)


def test_without_its_data_it_does_not_train_as_something_else() -> None:
    spec = spec_of()
    with pytest.raises(NonFiniteError, match="rate became nan at step 0"):
        next(steps(new_state(spec, CPU), spec, build_data(spec.data), "fp32"))
