"""A function as an objective: (vae, batch, step, noise, *, settings) -> Terms."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from vaescope.objectives import Objective, Terms
from vaescope.vae import VAE, Batch

__all__ = ["STEP", "FunctionObjective", "is_objective_function"]

#: The parameters by which a function is known to be an objective.
STEP = ("vae", "batch", "step", "noise")


def is_objective_function(value: Any) -> bool:
    """Whether a function's first parameters are those of an objective.

    >>> is_objective_function(lambda vae, batch, step, noise, weight=1.0: ...)
    True
    >>> is_objective_function(lambda latent: ...)
    False
    """
    if isinstance(value, type | Objective) or not callable(value):
        return False
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    return tuple(parameters)[: len(STEP)] == STEP


@dataclass(frozen=True)
class FunctionObjective(Objective):
    """Calls `function` with its settings. What a latent that ignores x becomes is not known."""

    function: Callable[..., Terms]
    settings: Mapping[str, Any]

    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        return self.function(vae, batch, step, noise, **self.settings)
