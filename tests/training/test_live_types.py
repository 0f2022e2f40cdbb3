"""Latents are typed while a model trains by their own prior: unused ones are passive under any."""

import math

import numpy as np
import pytest
import torch

from vaescope.build import build_data, start_from_data
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.training.loop import State, new_state, steps, unused_variance
from vaescope.training.many import train_many

CPU = torch.device("cpu")
SMALL = ["net.name=mlp", "net.encoder=[8]", "net.decoder=[8]", "batch=16", "steps=1",
         "logging.every=1", "latent=3", "data.name=synth-linear", "data.n=100"]  # fmt: skip
PRIORS = {
    "normal": ["prior.name=normal"],
    "student-t": ["prior.name=student-t", "prior.df=3"],
    "wide student-t": ["prior.name=student-t", "prior.df=3", "prior.variance=4"],
    "anisotropic": ["prior.name=anisotropic", "latent=2"],
}


def silent(state: State) -> State:
    """All latents ignore x and are what costs least; nothing is learnt."""
    variance = unused_variance(state.vae.prior)
    head = state.vae.encoder.posterior.head
    latent = head.bias.numel() // 2
    with torch.no_grad():
        head.weight.zero_()
        head.bias[:latent] = 0.0
        wanted = np.ones(latent) if variance is None else variance
        head.bias[latent:] = torch.from_numpy(np.log(wanted)).float()
    return state


@pytest.mark.parametrize("prior", PRIORS)
def test_latents_that_ignore_x_are_counted_as_passive(prior: str) -> None:
    spec = from_command_line("vae", [*SMALL, *PRIORS[prior]])
    data = build_data(spec.data)
    state = new_state(spec, CPU)
    start_from_data(spec, data, [state.vae])
    (record,) = filter(None, steps(silent(state), spec, data, "fp32"))
    assert record.types == {"active": 0, "mixed": 0, "passive": spec.latent}


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


@pytest.mark.parametrize("prior", PRIORS)
def test_stacked_models_are_counted_as_solo_ones(prior: str) -> None:
    def spec_of(seed: int) -> Experiment:
        settings = [*SMALL, *PRIORS[prior], f"seed={seed}", "steps=30", "logging.every=10"]
        return from_command_line("vae", settings)

    data = build_data(spec_of(0).data)
    stacked = [m.records for m in train_many([spec_of(0), spec_of(1)], data, compiled=False)]
    for seed, spec in enumerate((spec_of(0), spec_of(1))):
        state = new_state(spec, CPU)
        start_from_data(spec, data, [state.vae])
        solo = [record for record in steps(state, spec, data, "fp32") if record]
        assert [r[seed].types for r in stacked if r] == [r.types for r in solo]
