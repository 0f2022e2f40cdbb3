"""Latents are typed while a model trains by what its objective and prior make of unused ones."""

import math

import numpy as np
import pytest
import torch

from vaescope.build import build_data, start_from_data
from vaescope.data import Dataset
from vaescope.objectives import unused_posterior
from vaescope.priors import MixturePrior
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.training.loop import State, new_state, steps
from vaescope.training.many import train_many

CPU = torch.device("cpu")
SMALL = ["net.name=mlp", "net.encoder=[8]", "net.decoder=[8]", "batch=16", "steps=1",
         "logging.every=1", "latent=3", "data.name=synth-linear", "data.n=100"]  # fmt: skip
PRIORS = {
    "normal": ["prior.name=normal"],
    "student-t": ["prior.name=student-t", "prior.df=3"],
    "wide student-t": ["prior.name=student-t", "prior.df=3", "prior.variance=4"],
    "subspaces": ["prior.name=subspaces", "prior.size=[2, 1]"],
    "anisotropic": ["prior.name=anisotropic", "latent=2"],
    "sparse": ["prior.name=sparse", "prior.gamma=0.8"],
    "pinwheel": ["prior.name=mixture", "latent=2"],
    "entropy": ["objective.name=entropy-vae", "objective.beta=4"],
    "entropy, student-t": [
        "objective.name=entropy-vae",
        "objective.beta=2",
        "prior.name=student-t",
        "prior.df=5",
    ],
    "beta-tcvae": ["objective.name=beta-tcvae"],
    "dip-vae-ii": ["objective.name=dip-vae-ii"],
}
#: Nothing acts on a latent that ignores x, or it is pressed not to.
NONE = {
    "dip-vae-i": ["objective.name=dip-vae-i"],
    "capacity": ["objective.name=annealed-vae", "objective.capacity=25.0"],
    "beta 0": ["objective.name=beta-vae", "objective.beta=0"],
}


def silent(state: State, *, times: float = 1.0) -> State:
    """All latents ignore x and are what costs least, with `times` the variance; not yet trained."""
    found = unused_posterior(state.objective, state.vae.prior)
    head = state.vae.encoder.posterior.head
    latent = head.bias.numel() // 2
    assert found.units is not None
    with torch.no_grad():
        head.weight.zero_()
        head.bias[:latent] = 0.0
        if isinstance(state.vae.prior, MixturePrior):
            head.bias[:latent] = state.vae.prior.means[0]
        head.bias[latent:] = torch.from_numpy(np.log(times * found.units)).float()
    return state


def started(*settings: str) -> tuple[Experiment, Dataset, State]:
    spec = from_command_line("vae", [*SMALL, *settings])
    data = build_data(spec.data)
    state = new_state(spec, CPU)
    start_from_data(spec, data, [state.vae])
    return spec, data, state


@pytest.mark.parametrize("case", PRIORS)
def test_latents_that_ignore_x_are_counted_as_passive(case: str) -> None:
    spec, data, state = started(*PRIORS[case])
    (record,) = filter(None, steps(silent(state), spec, data, "fp32"))
    assert record.types == {"active": 0, "mixed": 0, "passive": spec.latent}


@pytest.mark.parametrize("case", ["normal", "student-t", "entropy", "anisotropic"])
def test_a_twentieth_of_the_unused_variance_is_active_and_a_half_mixed(case: str) -> None:
    for times, name in ((0.05, "active"), (0.5, "mixed")):
        spec, data, state = started(*PRIORS[case])
        (record,) = filter(None, steps(silent(state, times=times), spec, data, "fp32"))
        assert record.types[name] == spec.latent


@pytest.mark.parametrize("case", NONE)
def test_where_no_latent_is_unused_none_is_passive(case: str) -> None:
    spec, data, state = started(*NONE[case])
    (record,) = filter(None, steps(silent(state), spec, data, "fp32"))
    assert record.types == {"active": 0, "mixed": spec.latent, "passive": 0}


@pytest.mark.parametrize("case", ["normal", "entropy", "sparse"])
def test_a_latent_whose_means_move_is_not_passive_whatever_its_variance(case: str) -> None:
    """Means whose variance is half or a twentieth of the unused one: a tenth is allowed."""
    for movement, passive in ((0.5, 2), (0.05, 3)):
        spec, data, state = started(*PRIORS[case], "batch=100")
        head = silent(state).vae.encoder.posterior.head
        features = state.vae.encoder.body(torch.from_numpy(data.rows(np.arange(100))).float())
        with torch.no_grad():
            head.weight[0] = 1.0
            ratio = movement * head.bias[-1].exp() / head(features)[:, 0].var(correction=0)
            head.weight[0] *= ratio.sqrt()
        (record,) = filter(None, steps(state, spec, data, "fp32"))
        assert record.types["passive"] == passive


def test_so_are_those_of_a_prior_that_depends_on_u() -> None:
    """Its variance is 9 here: posteriors like it are passive, of a twentieth of it active."""
    settings = ["data.segments=4", "data.per_segment=50", "prior.width=4", "net.encoder=[8]",
                "net.decoder=[8]", "batch=16", "steps=1", "logging.every=1",
                "posterior.name=diagonal"]  # fmt: skip
    spec = from_command_line("ivae", settings)
    state = new_state(spec, CPU)
    *_, last = state.vae.prior.log_variance
    head = state.vae.encoder.posterior.head
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(math.log(9.0))
        head.weight.zero_()
        head.bias[spec.latent :] = math.log(9.0)
        head.bias[-1] -= math.log(20.0)
    (record,) = filter(None, steps(state, spec, build_data(spec.data), "fp32"))
    assert record.types == {"active": 1, "mixed": 0, "passive": spec.latent - 1}


@pytest.mark.slow
@pytest.mark.parametrize("prior", {**PRIORS, **NONE})
def test_stacked_models_are_counted_as_solo_ones(prior: str) -> None:
    def spec_of(seed: int) -> Experiment:
        settings = [
            *SMALL,
            *{**PRIORS, **NONE}[prior],
            f"seed={seed}",
            "steps=30",
            "logging.every=10",
        ]
        return from_command_line("vae", settings)

    data = build_data(spec_of(0).data)
    stacked = [m.records for m in train_many([spec_of(0), spec_of(1)], data, compiled=False)]
    for seed, spec in enumerate((spec_of(0), spec_of(1))):
        state = new_state(spec, CPU)
        start_from_data(spec, data, [state.vae])
        solo = [record for record in steps(state, spec, data, "fp32") if record]
        assert [r[seed].types for r in stacked if r] == [r.types for r in solo]
