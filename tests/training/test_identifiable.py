"""Identifiable VAEs through specs, loop and codes: u goes with its rows, all else is as it was."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.build import build_auxiliary, build_data, build_vae
from vaescope.data import Dataset
from vaescope.data.in_memory import from_arrays
from vaescope.encoding import load_vae
from vaescope.errors import Interrupted, UsageError
from vaescope.inspection import inspect
from vaescope.metrics import mcc
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import Experiment, resolve
from vaescope.training.loop import fetch
from vaescope.training.many import stackable, train_many
from vaescope.training.run import train_run
from vaescope.vae import ConditionalEncoder

CPU = torch.device("cpu")
SMALL = ["data.segments=4", "data.per_segment=50", "prior.width=4", "net.encoder=[8]",
         "net.decoder=[8]", "batch=16", "steps=30", "logging.every=10"]  # fmt: skip


def spec_of(*settings: str) -> Experiment:
    return from_command_line("ivae", [*SMALL, *settings])


def train(folder: Path, spec: Experiment, stops: Sequence[int] = ()) -> tuple[Run, Dataset]:
    run = Run.of(spec, "ivae", folder)
    run.create(spec)
    data = build_data(spec.data)
    for after in stops:
        calls = iter([0] * (after - 1) + [15])
        with pytest.raises(Interrupted):
            list(train_run(run, run.open(), data, device=CPU, stop=lambda: next(calls)))  # noqa: B023
    list(train_run(run, run.open(), data, device=CPU))
    return run, data


@pytest.mark.slow
@pytest.mark.parametrize("learned_mean", ["false", "true"])
def test_stopped_and_resumed_it_ends_the_same(tmp_path: Path, learned_mean: str) -> None:
    spec = spec_of(f"prior.learned_mean={learned_mean}")
    whole, _ = train(tmp_path / "a", spec)
    broken, _ = train(tmp_path / "b", spec, stops=(7, 10))
    assert whole.weights.read_bytes() == broken.weights.read_bytes()
    assert whole.history.read_bytes() == broken.history.read_bytes()


def test_a_batch_has_the_u_of_its_rows_and_a_plain_one_has_none() -> None:
    spec = spec_of()
    data = build_data(spec.data)
    index = np.array([3, 160, 51])
    batch = fetch(data, index, CPU, build_auxiliary(spec, data))
    assert batch.u is not None
    np.testing.assert_array_equal(batch.u.argmax(1), [0, 3, 1])
    plain = from_command_line("vae", ["data.name=ica-segments"])
    assert build_auxiliary(plain, data) is None
    assert fetch(data, index, CPU).u is None


def test_codes_hold_the_prior_of_each_row_and_say_that_the_encoder_saw_factors(
    tmp_path: Path,
) -> None:
    run, data = train(tmp_path, spec_of("prior.learned_mean=true"))
    rows = np.array([0, 60, 110, 199])
    codes = vs.encode(run, index=rows, batch=3)
    vae, auxiliary = load_vae(run), build_auxiliary(run.open(), data)
    assert auxiliary is not None and isinstance(vae.encoder, ConditionalEncoder)
    u = torch.from_numpy(auxiliary(rows))
    with torch.no_grad():
        q, p = vae.encoder(torch.from_numpy(data.rows(rows)), u), vae.prior(u)
    wanted = {"mean": q.mean, "prior_mean": p.mean, "prior_variance": p.variance, "u": u}
    for name, value in wanted.items():
        np.testing.assert_allclose(getattr(codes, name), value, rtol=1e-5, atol=1e-6, err_msg=name)
    assert codes.supervised and np.ptp(codes.prior_variance, axis=0).min() > 0
    codes.save(tmp_path / "codes.npz")
    back = vs.Codes.load(tmp_path / "codes.npz")
    assert back.supervised
    np.testing.assert_array_equal(back.prior_variance, codes.prior_variance)
    assert mcc(codes).summary().endswith("supervised")


def test_codes_of_a_plain_vae_have_no_u_and_are_not_supervised(tmp_path: Path) -> None:
    settings = [setting for setting in SMALL if not setting.startswith("prior.")]
    run, _ = train(tmp_path, from_command_line("ivae", [*settings, "prior.name=normal"]))
    codes = vs.encode(run, index=np.arange(5))
    assert codes.u is None and codes.prior_variance is None and not codes.supervised


@pytest.mark.slow
def test_own_arrays_with_factors_train_too(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    factors = generator.integers(0, 3, size=(40, 2))
    data = from_arrays(generator.normal(size=(40, 6)), factors)
    run = vs.train("ivae", data, steps=5, u="scaled", factors=[], width=2, out=tmp_path)
    codes = vs.encode(run, data)
    assert codes.u is not None and codes.u.shape == (40, 2)
    assert len(inspect(run, data).latents) == 5


def test_a_wrong_width_says_which_is_right(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"4 values.*prior.width=3.*Give prior.width=4"):
        train(tmp_path, spec_of("prior.width=3"))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["net.name=linear"], "no encoder that sees u"),
        (["objective.name=decomposition"], "a different one for each u"),
        (["objective.name=beta-tcvae"], "a different one for each u"),
    ],
)
def test_what_does_not_go_with_u_is_refused(settings: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resolve(from_command_line("ivae", settings))


def test_a_bare_model_without_u_says_what_to_do() -> None:
    spec = spec_of()
    with pytest.raises(UsageError, match="depends on u"):
        vs.encode(build_vae(spec), build_data(spec.data), index=np.arange(3))


def test_it_is_not_stacked() -> None:
    specs = [spec_of(f"seed={seed}") for seed in range(4)]
    assert not stackable(specs[0])
    with pytest.raises(UsageError, match="do not see u"):
        next(train_many(specs, build_data(specs[0].data)))


@pytest.mark.slow
def test_linear_mixtures_are_undone_by_an_ivae_and_not_by_a_vae(tmp_path: Path) -> None:
    """Khemakhem et al., theorem 1: with u the sources are found up to order, scale and shift."""
    decay = '{"name": "cosine", "start": 0.01, "stop": 0, "steps": 2000}'
    settings = ["data.depth=1", "steps=2000", f"optimiser.lr={decay}"]
    found, _ = train(tmp_path, from_command_line("ivae", settings))
    plain, _ = train(tmp_path, from_command_line("ivae", [*settings, "prior.name=normal"]))
    assert mcc(vs.encode(found), resamples=0).value > 0.95
    assert mcc(vs.encode(plain), resamples=0).value < 0.85
