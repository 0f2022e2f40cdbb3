"""What holds of every objective through specs, loop and files: the whole table of `build`."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
import torch

from vaescope.build import DIVERGENCES, ESTIMATORS, OBJECTIVES, PRIORS, build_data, start_from_data
from vaescope.data import Dataset
from vaescope.data.specs import DataSpec
from vaescope.settings import from_command_line
from vaescope.specs import Experiment, digest
from vaescope.training.checkpoint import load_state, save_state
from vaescope.training.loop import State, new_state, steps

CPU = torch.device("cpu")
SMALL = ["data.name=ica-segments", "data.segments=4", "data.per_segment=40", "net.name=mlp",
         "net.encoder=[8]", "net.decoder=[8]", "latent=3", "batch=16", "steps=8",
         "logging.every=3", "optimiser.lr=1e-2"]  # fmt: skip
POINT = "posterior.name=point"
#: What an objective takes beside its name.
BESIDE: Mapping[str, Sequence[str]] = {
    "ae": [POINT],
    "pcl": ["pairs.name=laplace", "posterior.name=normalised"],
    "weak-gan": ["pairs.name=shared", "objective.width=8"],
    "slow-vae": ["pairs.name=laplace"],
    "factor-vae": ["objective.critic_width=16", "objective.critic_layers=2"],
}
OBJECTIVE_CASES: dict[str, list[str]] = {
    **{name: [f"objective.name={name}", *BESIDE.get(name, ())] for name in OBJECTIVES},
    "orthogonal ae": ["objective.name=orthogonal", "objective.base=ae", POINT],
    **{f"decomposition {d}": ["objective.name=decomposition", f"objective.divergence={d}"]
       for d in DIVERGENCES},
    **{f"beta-tcvae {e}": ["objective.name=beta-tcvae", f"objective.estimator={e}"]
       for e in ESTIMATORS},
}  # fmt: skip
PRIOR_CASES: dict[str, list[str]] = {
    **{f"{name} prior": [f"prior.name={name}"] for name in PRIORS},
    "mixture prior": ["prior.name=mixture", "prior.means=[[0, 0, 1], [1, 0, 0]]"],
    "subspaces prior": ["prior.name=subspaces", "prior.size=[1, 2]"],
    "conditional prior": ["prior.name=conditional", "prior.u=one-hot", "prior.width=4"],
    "learned anisotropic prior": ["prior.name=anisotropic", "prior.learned=true"],
    "learned conditional mean": ["prior.name=conditional", "prior.width=1",
                                 "prior.learned_mean=true"],
}  # fmt: skip
CASES = {**OBJECTIVE_CASES, **PRIOR_CASES}


@cache
def data_of(spec: DataSpec) -> Dataset:
    return build_data(spec)


def spec_of(name: str, *settings: str) -> Experiment:
    return from_command_line("vae", [*SMALL, *CASES[name], *settings])


def trained(spec: Experiment, state: State | None = None, *, stop: int = 8) -> State:
    data = data_of(spec.data)
    if state is None:
        state = new_state(spec, CPU)
        start_from_data(spec, data, [state.vae])
    for _ in steps(state, spec, data, "fp32"):
        if state.step == stop:
            break
    return state


def tensors(state: State) -> dict[str, torch.Tensor]:
    return {
        f"{group}/{name}": value
        for group, module in state.groups.items()
        for name, value in module.state_dict().items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_weights_and_another_one_others(name: str) -> None:
    one, again, other = (tensors(trained(spec_of(name, f"seed={s}"))) for s in (0, 0, 1))
    assert all(value.isfinite().all() for value in one.values())
    assert all(torch.equal(value, again[key]) for key, value in one.items())
    assert not all(torch.equal(value, other[key]) for key, value in one.items())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_saved_loaded_and_trained_on_it_is_what_it_would_have_been(
    name: str, tmp_path: Path
) -> None:
    spec = spec_of(name)
    whole = tensors(trained(spec))
    save_state(tmp_path / "state", trained(spec, stop=5), digest(spec))
    fresh = new_state(spec, CPU)
    load_state(tmp_path / "state", fresh, digest(spec))
    assert fresh.step == 5
    resumed = tensors(trained(spec, fresh))
    assert resumed.keys() == whole.keys()
    assert all(torch.equal(value, resumed[key]) for key, value in whole.items())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_parameter_moves(name: str) -> None:
    spec = spec_of(name)
    state = new_state(spec, CPU)
    start_from_data(spec, data_of(spec.data), [state.vae])
    before = {
        (group, name): parameter.detach().clone()
        for group, module in state.groups.items()
        for name, parameter in module.named_parameters()
    }
    trained(spec, state)
    after = {
        (group, name): parameter
        for group, module in state.groups.items()
        for name, parameter in module.named_parameters()
    }
    still = [key for key, value in before.items() if torch.equal(value, after[key])]
    assert still == []
