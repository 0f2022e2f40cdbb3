"""Linear-Gaussian data with two factors, six latents: two are used and four are not, under every
objective and prior for which an unused latent has a posterior. Issue of the papers read again."""

from pathlib import Path

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.build import build_data
from vaescope.latents import types
from vaescope.latents.types import TRAPPED
from vaescope.models import OpenModel
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import resolve
from vaescope.training.loop import new_state, steps
from vaescope.training.run import finish, train_run

TASK = [
    "data.name=linear-gaussian", "data.eigenvalues=[4.0, 2.0, 0.05, 0.05, 0.05, 0.05]",
    "data.dimension=6", "data.n=3000", "net.name=linear", "latent=6",
    "likelihood.name=squared-error", "batch=128", "steps=2000", "optimiser.lr=0.01",
]  # fmt: skip

#: Preset and settings at a strength that uses two latents.
PAIRS = {
    "beta-vae": ("beta-vae", ["objective.beta=1"]),
    "beta-tcvae": ("beta-tcvae", ["objective.beta=2"]),
    "factor-vae": (
        "factor-vae",
        ["objective.gamma=2", "objective.critic_width=50", "objective.critic_layers=2"],
    ),
    "dip-vae-ii": ("dip-vae-ii", ["objective.off_diagonal=1", "objective.diagonal=1"]),
    "entropy-vae": ("entropy-vae", ["objective.beta=2"]),
    "decomposition": (
        "vae",
        ["objective.name=decomposition", "objective.beta=1", "objective.alpha=1"],
    ),
    "anisotropic": ("anisotropic-vae", ["objective.beta=1", "steps=3000"]),
    "student-t": ("student-t-vae", ["objective.name=beta-vae", "objective.beta=1"]),
}


def trained(folder: Path, preset: str, settings: list[str]) -> Run:
    torch.set_num_threads(1)
    spec = from_command_line(preset, TASK + settings)
    run = Run.of(spec, preset, folder)
    run.create(spec)
    for _ in train_run(run, run.open(), build_data(resolve(spec).data), device=torch.device("cpu")):
        pass
    return run


def costs(model: OpenModel) -> tuple[float, float]:
    """Distortion and rate over the codes, nats."""
    places = np.arange(model.codes.n)
    noise = model.noise(places)
    return float(model.distortion(places, noise).mean()), float(model.rate(places, noise).mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_two_are_used_and_four_are_pruned_at_the_price_of_their_floors(
    name: str, tmp_path: Path
) -> None:
    run = trained(tmp_path / "run", *PAIRS[name])
    before = vs.open_model(run)
    kinds = types(before.codes)
    assert len(kinds.passive) == 4 and not kinds.why
    # The latents that are used are those that hold the factors: by variances of the means.
    used = set(np.argsort(kinds.movement)[-2:].tolist())
    assert used.isdisjoint(kinds.passive.tolist())
    result = vs.prune(run, out=tmp_path / "pruned")
    assert result.dropped == tuple(kinds.passive.tolist())
    distortion, rate = costs(before)
    after_distortion, after_rate = costs(vs.open_model(result.model))
    assert abs(after_distortion - distortion) < 0.05
    assert before.unused is not None
    floors = before.unused.floor_nats[list(result.dropped)].sum()
    assert after_rate - rate == pytest.approx(-floors, abs=0.05)


def sparse(folder: Path, *, start: float | None) -> Run:
    """Under the sparse prior; `start` is where the logarithms of the posterior variances begin."""
    torch.set_num_threads(1)
    # The spike is narrow: the last steps must be small for the rate to come down to its floor.
    settings = [
        "objective.name=beta-vae", "objective.beta=1", "optimiser.lr.name=cosine",
        "optimiser.lr.start=0.01", "optimiser.lr.stop=0", "optimiser.lr.steps=2000",
    ]  # fmt: skip
    spec = from_command_line("sparse-vae", TASK[:-1] + settings)
    run = Run.of(spec, "sparse-vae", folder)
    run.create(spec)
    data, cpu = build_data(resolve(spec).data), torch.device("cpu")
    state = new_state(spec, cpu)
    if start is not None:
        head = state.vae.encoder.posterior.head  # type: ignore[union-attr]
        with torch.no_grad():
            head.bias[spec.latent :] = start
    for _ in steps(state, spec, data, "fp32"):
        pass
    finish(run, spec, state.vae)
    return run


@pytest.mark.slow
def test_under_the_sparse_prior_four_sit_in_the_spike_and_dropping_them_gains_their_floors(
    tmp_path: Path,
) -> None:
    """Four floors of .189 nats: .76."""
    run = sparse(tmp_path / "run", start=-6.0)
    before = vs.open_model(run)
    assert len(types(before.codes).passive) == 4
    result = vs.prune(run, out=tmp_path / "pruned")
    (distortion, rate), after = costs(before), costs(vs.open_model(result.model))
    assert abs(after[0] - distortion) < 0.05
    assert rate - after[1] == pytest.approx(0.76, abs=0.05)


@pytest.mark.slow
def test_from_the_usual_start_latents_are_trapped_in_the_slab_and_types_say_so(
    tmp_path: Path,
) -> None:
    """The second minimum of the rate is at variance .47, one nat above the spike's. They ignore x
    as passive ones do, and are dropped with that gain."""
    run = sparse(tmp_path / "run", start=None)
    before = vs.open_model(run)
    kinds = types(before.codes)
    trapped = [j for j, kind in enumerate(kinds.kind_of_mixed) if kind == TRAPPED]
    assert len(trapped) == 4
    np.testing.assert_allclose(kinds.trapped_nats[trapped], 1.187 - 0.189, atol=0.05)
    assert "local minimum of the rate" in kinds.summary()
    result = vs.prune(run, out=tmp_path / "pruned")
    assert result.dropped == tuple(trapped) and "local minimum" in result.reason
    (distortion, rate), after = costs(before), costs(vs.open_model(result.model))
    assert abs(after[0] - distortion) < 0.05
    assert rate - after[1] == pytest.approx(4 * 1.187, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "settings"),
    [("dip-vae-i", []), ("annealed-vae", ["objective.capacity=25"])],
    ids=["dip-vae-i", "capacity"],
)
def test_where_there_is_no_unused_posterior_types_say_why_they_cannot_tell(
    preset: str, settings: list[str], tmp_path: Path
) -> None:
    run = trained(tmp_path / "run", preset, [*settings, "steps=300"])
    kinds = types(vs.open_model(run).codes)
    assert not len(kinds.passive)
    assert kinds.why.startswith("the types cannot tell which latents ignore x: ")
    result = vs.prune(run, out=tmp_path / "pruned")
    assert not result.dropped and kinds.why in result.reason
