"""Optimisers by name, one for each group of parameters; the loop sets their learning rates."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from vaescope.objective_specs import FactorVAESpec, WeakGANSpec
from vaescope.optimiser_specs import AdagradSpec, AdamSpec
from vaescope.specs import Experiment

__all__ = ["OPTIMISERS", "build_optimiser", "optimiser_spec"]

_Parameters = Iterable[nn.Parameter]

OPTIMISERS: Mapping[str, Callable[[Any, _Parameters], torch.optim.Optimizer]] = {
    "adam": lambda spec, parameters: torch.optim.Adam(
        parameters, lr=1.0, betas=spec.betas, eps=spec.eps, amsgrad=spec.amsgrad, fused=True
    ),
    "adagrad": lambda spec, parameters: torch.optim.Adagrad(
        parameters, lr=1.0, eps=spec.eps, fused=True
    ),
}


def optimiser_spec(experiment: Experiment, group: str) -> AdamSpec | AdagradSpec:
    """Settings of one optimiser group: FactorVAE's critic and a GAN's discriminator have their
    own."""
    if group == "critic" and isinstance(experiment.objective, FactorVAESpec):
        return experiment.objective.critic
    if group == "discriminator" and isinstance(experiment.objective, WeakGANSpec):
        return experiment.objective.discriminator
    return experiment.optimiser


def build_optimiser(
    experiment: Experiment, group: str, parameters: _Parameters
) -> torch.optim.Optimizer:
    """An optimiser whose learning rate the loop sets at each step."""
    spec = optimiser_spec(experiment, group)
    if "torch._dynamo" in sys.modules:
        return OPTIMISERS[spec.name](spec, parameters)
    with _compiler_left_out():
        return _stepping_plainly(OPTIMISERS[spec.name](spec, parameters))


@contextmanager
def _compiler_left_out() -> Iterator[None]:
    """Optimisers import torch's compiler when they are made, to say that it shall not compile
    `add_param_group`: two seconds before the first step, and nothing is compiled here. What says so
    is put for a while where torch keeps it."""
    plain = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    name = "__dynamo_disable"  # of torch/_compile.py
    vars(plain).setdefault(name, plain)
    try:
        yield
    finally:
        if vars(plain).get(name) is plain:
            delattr(plain, name)


def _stepping_plainly(optimiser: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """The same steps without their wrapper, which imports the compiler to break its graphs."""
    step = inspect.unwrap(type(optimiser).step)
    optimiser.step = torch.no_grad()(partial(step, optimiser))  # type: ignore[method-assign]
    return optimiser
