"""`vs.tune_beta` and `vaescope tune-beta` on small models."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import vaescope as vs
from vaescope.cli.app import app
from vaescope.data.synthetic import linear_gaussian, principal_axes, synth_linear
from vaescope.errors import Interrupted, NonFiniteError, RunError, UsageError
from vaescope.settings import from_command_line
from vaescope.tuning import Tuning
from vaescope.tuning.run import TuningProgress, _Runner
from vaescope.tuning.store import Folder
from vaescope.tuning.tune import known_factors, template_of, tune_experiment

SMALL = ["data.name=synth-linear", "data.n=500", "latent=2", "optimiser.lr=1e-2", "batch=32"]
CPU = torch.device("cpu")


def silent(_: TuningProgress) -> None:
    pass


def tuned(out: Path, *settings: str, **options: Any) -> Tuning:
    """A tune in rounds of four steps: it ends at once, and finds whatever it finds."""
    asked: dict[str, Any] = {
        "by": "onset", "needed": None, "between": (0.05, 0.6), "round_steps": 4, "short_lr": None,
        "folder": out, "device": "cpu", "watch": silent,
    }  # fmt: skip
    spec = from_command_line("beta-vae", [*SMALL, *settings])
    return tune_experiment(spec, "beta-vae", None, **(asked | options))


def stop_after(calls: int) -> Callable[[], int]:
    """A signal that comes at the given look."""
    left = iter(range(calls))
    return lambda: 0 if next(left, None) is not None else 2


def plain(found: Tuning) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name != "folder"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Tuning:
    """A tune that nobody disturbed."""
    return tuned(tmp_path_factory.mktemp("whole"))


@pytest.mark.slow
def test_a_range_is_kept_to_whatever_else_the_folder_holds(tmp_path: Path) -> None:
    tuned(tmp_path, between=(0.001, 0.01))
    for low, high in ((50.0, 100.0), (0.002, 0.008)):
        there = tuned(tmp_path, between=(low, high))
        assert there.folder.parent == tmp_path
        betas = [point.beta for point in there.curve]
        assert min(betas) == low and max(betas) <= high
    alone = tuned(tmp_path / "alone", between=(50.0, 100.0))
    assert plain(tuned(tmp_path, between=(50.0, 100.0))) == plain(alone)


@pytest.mark.slow
def test_a_tune_stopped_anywhere_ends_as_one_that_was_not(tmp_path: Path, whole: Tuning) -> None:
    for calls in (0, 7, 50):  # within a round, between two, in a later run
        with pytest.raises(Interrupted, match="is saved"):
            tuned(tmp_path / "cut", stop=stop_after(calls))
    again = tuned(tmp_path / "cut")
    assert plain(again) == plain(whole)


@pytest.mark.slow
def test_what_a_killed_process_left_half_done_is_made_anew(tmp_path: Path, whole: Tuning) -> None:
    """Half a line, and rounds of a run whose weights were not saved yet."""
    with pytest.raises(Interrupted):
        tuned(tmp_path / "cut", stop=stop_after(60))
    (folder,) = (tmp_path / "cut").iterdir()
    max(folder.glob("*.safetensors"), key=lambda file: file.stat().st_mtime_ns).unlink()
    for name in ("curve", "rounds"):
        with (folder / f"{name}.jsonl").open("a") as file:
            file.write('{"beta": 0.1, "mean_var')
    assert plain(tuned(tmp_path / "cut")) == plain(whole)


@pytest.mark.slow
def test_a_tune_that_is_done_trains_nothing_and_another_rule_reads_the_same_points(
    tmp_path: Path, whole: Tuning
) -> None:
    shutil.copytree(whole.folder.parent, tmp_path / "done")
    told: list[TuningProgress] = []
    again = tuned(tmp_path / "done", watch=told.append)
    assert plain(again) == plain(whole) and not told
    tuned(tmp_path / "done", by="dto", watch=told.append)
    assert all(progress.checking for progress in told)  # the curve is there


def test_a_short_run_begins_with_the_weights_of_the_beta_below(whole: Tuning) -> None:
    folder = Folder(whole.folder)
    template = template_of(from_command_line("beta-vae", SMALL), 4)
    runner = _Runner(template, synth_linear(n=500), folder, CPU, lambda: 0, silent)
    low = whole.curve[0].beta
    state = runner._begin("beta-new", 2.0, low)
    before = runner._begin(f"beta-{low:g}", low, None)  # as it was saved
    fresh = runner._begin("beta-other", 2.0, None)
    for name, weight in state.vae.state_dict().items():
        torch.testing.assert_close(weight, before.vae.state_dict()[name], rtol=0, atol=0)
        assert not torch.equal(weight, fresh.vae.state_dict()[name])
    assert state.step == 0 and before.step > 0
    assert not any(optimiser.state for optimiser in state.optimisers.values())


def test_a_learning_rate_that_is_too_high_is_said(tmp_path: Path) -> None:
    with pytest.raises(NonFiniteError, match=r"That was at beta 0\.05.*--lr"):
        tuned(tmp_path, short_lr=1e30)


def test_a_damaged_line_is_named(tmp_path: Path, whole: Tuning) -> None:
    shutil.copytree(whole.folder.parent, tmp_path / "done")
    (file,) = tmp_path.glob("done/*/curve.jsonl")
    file.write_text("nonsense\n")
    with pytest.raises(RunError, match=r"Line 1 of .*curve\.jsonl"):
        tuned(tmp_path / "done")


@pytest.mark.slow
def test_json_has_the_keys_of_the_interface_and_no_word_besides(tmp_path: Path) -> None:
    command = ["tune-beta", "beta-vae", *SMALL, "--steps", "4", "--between", "0.05,0.6"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path), "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert {"beta", "onset", "over_pruning", "curve"} <= content.keys()
    betas = [point["beta"] for point in content["curve"]]
    assert betas == sorted(betas)
    for point in content["curve"]:
        assert {"beta", "mean_variance", "active", "distortion", "dto"} <= point.keys()
        assert len(point["mean_variance"]) == 2
        assert point["active"] == sum(one < 0.9 for one in point["mean_variance"])


@pytest.mark.parametrize(
    ("settings", "options", "said"),
    [
        (["objective.name=vae"], {}, "objective.name=vae has no beta"),
        (["objective.name=ae", "posterior.name=point"], {}, "has no beta"),
        (["objective.name=factor-vae"], {}, "has no beta"),
        (["objective.name=beta-tcvae"], {"between": None}, "does not weight the full rate"),
        ([], {"by": "luck"}, "no rule 'luck'"),
        ([], {"needed": 3}, "--needed is 3; there are 2 latents"),
        ([], {"between": (2.0, 1.0)}, "from 2 to 1 is empty"),
        ([], {"round_steps": 0}, "--steps is 0"),
        ([], {"short_lr": 0.0}, "--lr is 0.0"),
    ],
)
def test_what_cannot_be_tuned_is_refused_before_anything_is_written(
    tmp_path: Path, settings: list[str], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        tuned(tmp_path / "out", *settings, **options)
    assert not (tmp_path / "out").exists()


def test_a_range_that_is_none_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="is not a range"):
        app(["tune-beta", "beta-vae", "--between", "low"], standalone_mode=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["beta-tcvae", "decomposition", "orthogonal", "entropy-vae"])
def test_other_objectives_with_a_beta_can_be_tuned(tmp_path: Path, name: str) -> None:
    found = tuned(tmp_path, f"objective.name={name}", between=(0.1, 0.3))
    assert found.curve[0].beta == 0.1
    assert all(np.isfinite(point.mean_variance).all() for point in found.curve)


def test_short_runs_take_a_larger_learning_rate_and_say_so(tmp_path: Path) -> None:
    found = tuned(tmp_path, "optimiser.lr=1e-4", between=(0.1, 0.3))
    assert "learning rate 0.001, not the 0.0001" in found.summary()
    spec = from_command_line("beta-vae", SMALL)
    assert template_of(spec).optimiser.lr == 1e-2
    assert template_of(spec, short_lr=1e-5).optimiser.lr == 1e-5


def test_factors_are_known_of_full_grids_and_sources_not_of_labels(small_sprites: Any) -> None:
    assert known_factors(synth_linear(n=10)) == 2
    assert known_factors(small_sprites) == 3
    assert known_factors(small_sprites.pick(np.arange(50))) is None
    assert known_factors(vs.load_dataset("digits")) is None


def closed_form(*settings: str) -> float:
    """Twice the second eigenvalue: above it a linear VAE has lost the second factor."""
    spec = from_command_line("beta-vae", ["data.name=synth-linear", *settings])
    data = synth_linear(**spec.data.model_dump(exclude={"name"}))
    return float(2.0 * principal_axes(data.rows(np.arange(len(data))))[0][1])


TRAINED = ["data.name=synth-linear", "data.n=5000", "optimiser.lr=1e-2", "batch=256"]


@pytest.mark.slow
def test_with_two_latents_over_pruning_is_at_twice_the_least_eigenvalue(tmp_path: Path) -> None:
    found = trained(tmp_path, "latent=2", "seed=0")
    assert found.over_pruning == pytest.approx(closed_form("data.n=5000"), rel=0.2)
    assert found.beta is not None and found.beta < found.over_pruning
    assert "no spare latent" in found.summary()


@pytest.mark.slow
def test_with_noise_and_five_latents_beta_lies_between_onset_and_over_pruning(
    tmp_path: Path,
) -> None:
    found = trained(tmp_path, "latent=5", "data.noise=0.01", "seed=1")
    expected = closed_form("data.n=5000", "data.noise=0.01")
    assert found.over_pruning == pytest.approx(expected, rel=0.2)
    assert found.onset is not None and found.beta is not None
    assert found.onset < found.beta < found.over_pruning


def trained(out: Path, *settings: str) -> Tuning:
    spec = from_command_line("beta-vae", [*TRAINED, *settings])
    return tune_experiment(
        spec, "beta-vae", None, by="onset", needed=None, between=None, round_steps=60,
        short_lr=None, folder=out, device="cpu", watch=silent,
    )  # fmt: skip


@pytest.mark.slow
def test_python_takes_arrays_and_bare_settings(tmp_path: Path) -> None:
    data = linear_gaussian(eigenvalues=(2.0, 1.0), dimension=3, n=300)
    found = vs.tune_beta(
        "beta-vae", data.rows(np.arange(300)), latent=2, batch=32, lr=1e-2,
        between=(0.5, 2.0), round_steps=4, out=tmp_path,
    )  # fmt: skip
    assert found.needed.source == "curve"
    assert "latents in use" in found._repr_html_()
