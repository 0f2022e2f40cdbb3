"""Optimisers by name, one for each group of parameters; the loop sets their learning rates."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn

from vaescope.specs import AdagradSpec, AdamSpec, Experiment, FactorVAESpec

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
    """Settings of one optimiser group: FactorVAE's critic has its own."""
    if group == "critic" and isinstance(experiment.objective, FactorVAESpec):
        return experiment.objective.critic
    return experiment.optimiser


def build_optimiser(
    experiment: Experiment, group: str, parameters: _Parameters
) -> torch.optim.Optimizer:
    """An optimiser whose learning rate the loop sets at each step."""
    spec = optimiser_spec(experiment, group)
    return OPTIMISERS[spec.name](spec, parameters)
