"""Runs whose types are set by hand, pruned: answers known beforehand."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.command import vaescope

import vaescope as vs
from vaescope.build import build_vae
from vaescope.encoding import load_vae
from vaescope.errors import RunError, UsageError
from vaescope.opening import encode
from vaescope.priors import ConditionalPrior
from vaescope.pruning import Pruning
from vaescope.pruning.result import PruningPlan
from vaescope.pruning.run import pruned_vae
from vaescope.report import page_of
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import Experiment, digest, resolve, to_dict
from vaescope.tables import read_table
from vaescope.training.checkpoint import weights_bytes
from vaescope.vae import VAE

VECTORS = ("data.name=synth-linear", "data.n=300", "latent=4")
MLP = ("net.name=mlp", "net.encoder=[8]", "net.decoder=[8]")
PASSIVE = (0, 2)
CONSTANT = 0.1  # the mean of passive latents: 0.005 nats at variance 1


def run_of(folder: Path, spec: Experiment, vae: VAE) -> Run:
    run = Run.of(spec, "hand", folder)
    run.create(spec)
    run.weights.write_bytes(weights_bytes(vae))
    run.finish({})
    return run


def hand_made(
    folder: Path, *settings: str, passive: tuple[int, ...] = PASSIVE, preset: str = "demo"
) -> Run:
    """Posterior variances 0.01 and those of unused latents. Passive means are constants, active
    ones depend on x."""
    spec = from_command_line(preset, ["steps=20", *settings])
    vae = build_vae(spec)
    head = vae.encoder.posterior.head
    variances = torch.full((spec.latent,), math.log(0.01))
    conditional = isinstance(vae.prior, ConditionalPrior)
    own = np.ones(spec.latent) if conditional else vae.prior.density().unused_variance()
    variances[list(passive)] = torch.from_numpy(np.log(own)).float()[list(passive)]
    with torch.no_grad():
        head.weight[spec.latent :] = 0.0
        head.bias[spec.latent :] = variances
        head.weight[list(passive)] = 0.0
        head.bias[list(passive)] = CONSTANT
    return run_of(folder, spec, vae)


def pruned(run: Run, folder: Path) -> Pruning:
    return vs.prune(run, out=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        (*VECTORS, "net.name=linear"),
        (*VECTORS, *MLP),
        (*VECTORS, "net.name=mlp", "net.encoder=[8]", "net.decoder=[]"),
        ("latent=4",),
        ("latent=4", "prior.name=student-t"),
        ("latent=4", "prior.name=subspaces", "prior.size=[1, 3]"),
        ("latent=4", "likelihood.name=gaussian", "likelihood.learned=true"),
    ],
    ids=["linear", "mlp", "mlp-no-hidden", "conv", "student-t", "subspaces", "gaussian"],
)
def test_latents_that_are_constant_go_without_a_trace(
    settings: tuple[str, ...], tmp_path: Path
) -> None:
    run = hand_made(tmp_path, *settings)
    result = pruned(run, tmp_path / "pruned")
    assert (result.before, result.after, result.dropped) == (4, 2, PASSIVE)
    assert result.constants == pytest.approx([CONSTANT] * 2)
    assert result.max_reconstruction_change < 1e-5
    before, after = encode(run), encode(Run(tmp_path / "pruned"))
    np.testing.assert_array_equal(after.mean, before.mean[:, [1, 3]])
    np.testing.assert_array_equal(after.variance, before.variance[:, [1, 3]])


def test_the_constants_matter(tmp_path: Path) -> None:
    """The same decoder without them gives other outputs: the test above can fail."""
    run = hand_made(tmp_path, *VECTORS, *MLP)
    vae = load_vae(run)
    z = torch.zeros(1, 4)
    z[:, list(PASSIVE)] = CONSTANT
    assert (vae.decoder(z).mean - vae.decoder(torch.zeros(1, 4)).mean).abs().max() > 1e-3
    pruned(run, tmp_path / "pruned")
    small = load_vae(Run(tmp_path / "pruned"))
    torch.testing.assert_close(small.decoder(torch.zeros(1, 2)).mean, vae.decoder(z).mean)


def test_the_elbo_gains_the_rate_of_latents_that_the_decoder_does_not_hear(
    tmp_path: Path,
) -> None:
    run = hand_made(tmp_path, *VECTORS, *MLP)
    vae = load_vae(run)
    with torch.no_grad():
        vae.decoder.body[0].weight[:, list(PASSIVE)] = 0.0
    run.weights.write_bytes(weights_bytes(vae))
    # KL(N(m, 1) || N(0, 1)) = m^2 / 2 each.
    assert pruned(run, tmp_path / "p").elbo_change == pytest.approx(CONSTANT**2, rel=1e-3)


def test_the_elbo_gains_the_noise_of_latents_that_a_linear_decoder_hears(tmp_path: Path) -> None:
    run = hand_made(tmp_path, "data.name=synth-linear", "data.n=2000", "latent=4")
    vae = load_vae(run)
    columns = vae.decoder.body[0].weight[:, list(PASSIVE)].detach()
    # E ||x - x' - W noise||^2 = ||x - x'||^2 + ||W||^2: squared error is -log p.
    expected = CONSTANT**2 + float(columns.square().sum())
    assert pruned(run, tmp_path / "p").elbo_change == pytest.approx(expected, rel=0.15)


def test_the_largest_change_of_a_linear_decoder_is_that_of_its_columns(tmp_path: Path) -> None:
    run = hand_made(tmp_path, *VECTORS)
    vae = load_vae(run)
    with torch.no_grad():  # the mean of latent 0 moves a little with x
        vae.encoder.posterior.head.weight[0] = 0.01
    run.weights.write_bytes(weights_bytes(vae))
    mean = encode(run).mean.astype(np.float64)[:, 0]
    column = vae.decoder.body[0].weight[:, 0].detach().double().numpy()
    expected = np.abs(np.outer(mean - mean.mean(), column)).max()
    result = pruned(run, tmp_path / "p")
    assert expected > 1e-3
    assert result.max_reconstruction_change == pytest.approx(expected, rel=1e-3)
    assert result.constants[0] == pytest.approx(mean.mean(), rel=1e-5)
    assert (result.n, result.dropped) == (300, PASSIVE)


@pytest.mark.parametrize(
    ("settings", "passive", "says"),
    [
        ((), (), "no latent is passive (4 active"),
        ((), (0, 1, 2, 3), "all 4 latents are passive"),
    ],
)
def test_where_nothing_can_be_dropped_nothing_is_written_and_it_is_said(
    settings: tuple[str, ...], passive: tuple[int, ...], says: str, tmp_path: Path
) -> None:
    run = hand_made(tmp_path, *VECTORS, *settings, passive=passive)
    result = pruned(run, tmp_path / "p")
    assert (result.before, result.after, result.dropped, result.model) == (4, 4, (), run)
    assert (result.max_reconstruction_change, result.elbo_change) == (0.0, 0.0)
    assert says in result.reason
    assert not (tmp_path / "p").exists()


def test_codes_without_noise_have_nothing_to_drop(tmp_path: Path) -> None:
    spec = from_command_line("ae", [*VECTORS, "posterior.name=point"])
    result = pruned(run_of(tmp_path, spec, build_vae(spec)), tmp_path / "p")
    assert (result.dropped, result.after) == ((), 4)
    assert "points" in result.reason


def test_a_pruned_run_has_nothing_left_to_drop(tmp_path: Path) -> None:
    pruned(hand_made(tmp_path, *VECTORS), tmp_path / "p")
    again = pruned(Run(tmp_path / "p"), tmp_path / "q")
    assert (again.before, again.after) == (2, 2)


@pytest.mark.slow
def test_a_pruned_run_is_dissected_and_says_which_run_it_was(tmp_path: Path) -> None:
    run = hand_made(tmp_path, *VECTORS, *MLP)
    origin = digest(run.open())
    pruned(run, tmp_path / "p")
    found = vs.inspect(Run(tmp_path / "p"), effort="fast")
    assert [latent.type for latent in found.latents] == ["active", "active"]
    assert any(origin in note and "0, 2" in note for note in found.notes)
    assert origin[:8] in found.subject.says
    assert origin in str(page_of(found))
    spec = Run(tmp_path / "p").open()
    assert spec.pruned is not None
    assert (spec.pruned.run, spec.pruned.latent, spec.pruned.dropped) == (origin, 4, PASSIVE)
    table = read_table(tmp_path)
    assert set(table.columns["pruned.run"]) == {None, origin}


def test_a_pruned_run_is_not_the_one_trained_with_fewer_latents(tmp_path: Path) -> None:
    run = hand_made(tmp_path, *VECTORS)
    pruned(run, tmp_path / "p")
    spec = Run(tmp_path / "p").open()
    trained = resolve(run.open()).model_copy(update={"latent": 2})
    assert digest(spec) != digest(trained)
    assert digest(spec.model_copy(update={"pruned": None})) == digest(trained)
    assert "pruned" not in to_dict(trained)


def test_nobody_trains_a_pruned_run() -> None:
    with pytest.raises(UsageError, match="vaescope prune"):
        from_command_line("demo", ["pruned.run=abc"])


def test_pruning_again_writes_the_same_bytes_and_never_over_another_run(tmp_path: Path) -> None:
    run = hand_made(tmp_path, *VECTORS)
    pruned(run, tmp_path / "p")
    first = {file.name: file.read_bytes() for file in (tmp_path / "p").iterdir()}
    pruned(run, tmp_path / "p")
    assert {file.name: file.read_bytes() for file in (tmp_path / "p").iterdir()} == first
    assert json.loads(first["done.json"])["pruned"]["dropped"] == list(PASSIVE)
    with pytest.raises(RunError, match="another experiment"):
        pruned(run, run.path)


@pytest.mark.slow
def test_a_decoder_without_a_bias_is_refused_and_python_wraps_it(tmp_path: Path) -> None:
    run = hand_made(tmp_path, "net.name=dcgan", "net.base=4", "latent=4")
    with pytest.raises(RunError, match=r"net\.name=dcgan.*load_vae"):
        pruned(run, tmp_path / "p")
    assert not (tmp_path / "p").exists()
    data = vs.load_dataset("dsprites", size=32, grid={"shape": [1], "orientation": [0]})
    result = vs.prune(load_vae(run), data)
    assert (result.after, result.dropped) == (2, PASSIVE)
    assert result.max_reconstruction_change < 1e-5
    found = vs.inspect(result.model, data.pick(np.arange(0, len(data), 9)), effort="fast")
    assert [latent.type for latent in found.latents] == ["active", "active"]
    assert found.geometry is not None and "dto_random_decoder" in found.geometry.measures


def test_a_posterior_with_full_covariance_is_refused(tmp_path: Path) -> None:
    spec = from_command_line("demo", [*VECTORS, "posterior.name=full"])
    vae = build_vae(spec)
    with torch.no_grad():
        vae.encoder.posterior.head.weight.zero_()
        vae.encoder.posterior.head.bias.zero_()  # L = I: each marginal is the prior
        vae.encoder.posterior.head.weight[1] = 5.0  # but for the one whose means move
    with pytest.raises(RunError, match="share their noise"):
        pruned(run_of(tmp_path, spec, vae), tmp_path / "p")


PLAN = PruningPlan(3, (1,), np.array([0.0, 0.5, 0.0]), "")


def smaller(*settings: str, set_prior: torch.Tensor | None = None) -> tuple[VAE, VAE]:
    spec = resolve(from_command_line("demo", ["data.name=synth-linear", "latent=3", *settings]))
    vae = build_vae(spec)
    if set_prior is not None:
        vae.prior.load_state_dict({"log_shares": set_prior})
    return vae, pruned_vae(spec, vae, PLAN)[1]


def test_an_anisotropic_prior_keeps_the_variances_of_the_kept() -> None:
    shares = torch.tensor([0.2, 1.0, -0.7])
    before, after = smaller("prior.name=anisotropic", "prior.variance=2.0", set_prior=shares)
    torch.testing.assert_close(after.prior().variance, before.prior().variance[:, [0, 2]])


def test_a_mixture_prior_keeps_the_marginal_of_the_kept() -> None:
    means = "prior.means=[[0, 1, 2], [3, 4, 5]]"
    before, after = smaller("prior.name=mixture", means)
    torch.testing.assert_close(after.prior().mean, before.prior().mean[:, [0, 2]])
    torch.testing.assert_close(after.prior().variance, before.prior().variance[:, [0, 2]])


def test_a_conditional_prior_keeps_its_functions_of_u_for_the_kept() -> None:
    u = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    before, after = smaller(
        "prior.name=conditional", "prior.width=2", "prior.learned_mean=true", *MLP
    )
    torch.testing.assert_close(after.prior(u).mean, before.prior(u).mean[:, [0, 2]])
    torch.testing.assert_close(after.prior(u).variance, before.prior(u).variance[:, [0, 2]])
    x = torch.randn(5, *before_shape(after, u), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(after.encoder(x, u).mean, before.encoder(x, u).mean[:, [0, 2]])


def before_shape(vae: VAE, u: torch.Tensor) -> tuple[int, ...]:
    return tuple(vae.decoder(torch.zeros(len(u), 2)).mean.shape[1:])


def test_an_isotropic_head_keeps_its_one_variance() -> None:
    before, after = smaller("posterior.name=isotropic", "net.name=linear")
    x = torch.randn(5, *before_shape(after, torch.zeros(5, 1)))
    q, p = before.encoder(x), after.encoder(x)
    torch.testing.assert_close(p.mean, q.mean[:, [0, 2]])
    torch.testing.assert_close(p.variance, q.variance[:, [0, 2]])


def test_a_run_needs_a_folder_and_nothing_else(tmp_path: Path) -> None:
    run = hand_made(tmp_path, *VECTORS)
    with pytest.raises(UsageError, match="folder"):
        vs.prune(run)
    with pytest.raises(UsageError, match="meaning of outputs is known"):
        vs.prune(run, out=tmp_path / "p", output="logits")


def test_the_summary_has_the_numbers(tmp_path: Path) -> None:
    result = replace(
        pruned(hand_made(tmp_path, *VECTORS), tmp_path / "p"), max_reconstruction_change=0.0123
    )
    assert (
        "0.0123" in result.summary() and "2 of 4 latents are passive: 0 and 2" in result.summary()
    )
    assert set(result.to_dict()) >= {
        "before", "after", "dropped", "max_reconstruction_change", "elbo_change", "reason",
    }  # fmt: skip


def command(*arguments: str | Path) -> dict[str, Any]:
    done = vaescope(*arguments, "--json")
    content: dict[str, Any] = json.loads(done.stdout)
    return content | {"code": done.returncode}


@pytest.mark.slow
def test_the_command_writes_a_run_that_other_commands_take(tmp_path: Path) -> None:
    run, out = hand_made(tmp_path, *VECTORS, *MLP), tmp_path / "p"
    done = command("prune", run.path, "--out", out)
    assert done.keys() == {
        "before", "after", "dropped", "max_reconstruction_change", "elbo_change", "reason", "price",
        "constants", "elbo_error", "n", "run", "code", "rms_reconstruction_change",
    }  # fmt: skip
    assert (done["before"], done["after"], done["dropped"]) == (4, 2, [0, 2])
    assert (done["run"], done["code"]) == (str(out), 0)
    codes = command("encode", out, "--out", tmp_path / "codes.npz")
    assert (codes["n"], codes["d"]) == (300, 2)
    found = command("inspect", out, "--fast", "--out", tmp_path / "report.html")
    assert found["latents"]["types"] == ["active", "active"]
    assert digest(run.open()) in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_the_command_on_a_run_without_passive_latents_is_done_at_once(tmp_path: Path) -> None:
    run = hand_made(tmp_path, *VECTORS, passive=())
    done = command("prune", run.path, "--out", tmp_path / "p")
    assert (done["code"], done["run"], done["dropped"]) == (0, None, [])
    assert "no latent is passive" in done["reason"]
    missing = command("prune", tmp_path / "nowhere", "--out", tmp_path / "q")
    assert (missing["code"], missing["error"]["type"]) == (2, "UsageError")  # as of inspect
    assert "nowhere does not exist" in missing["error"]["message"]
