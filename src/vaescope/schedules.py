"""Values that change with the step: strengths, capacities, learning rates.

A schedule is a function of the step tensor, so that nothing recompiles as training proceeds and
many models with different settings can be stacked.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

__all__ = ["Constant", "Cosine", "Linear", "Schedule", "value_at"]


class Schedule(Protocol):
    def __call__(self, step: Tensor) -> Tensor: ...


def value_at(schedule: Schedule, step: float) -> float:
    """The value as a plain number; at `math.inf` what the schedule ends with.

    >>> value_at(Linear(0.0, 4.0, steps=10), math.inf)
    4.0
    """
    return float(schedule(torch.tensor(step, dtype=torch.float64)))


@dataclass(frozen=True)
class Constant:
    """The same value at every step."""

    value: float | Tensor

    def __call__(self, step: Tensor) -> Tensor:
        return torch.as_tensor(self.value, dtype=step.dtype, device=step.device)


@dataclass(frozen=True)
class Linear:
    """From `start` to `stop` over the first `steps` steps, then `stop`.

    >>> Linear(0.0, 4.0, steps=10)(torch.tensor(5.0)).item()
    2.0
    """

    start: float | Tensor
    stop: float | Tensor
    steps: int

    def __call__(self, step: Tensor) -> Tensor:
        share = torch.clamp(step / self.steps, 0.0, 1.0)
        return self.start + (self.stop - self.start) * share


@dataclass(frozen=True)
class Cosine:
    """From `start` to `stop` along half a cosine over `steps` steps, then `stop`."""

    start: float | Tensor
    stop: float | Tensor
    steps: int

    def __call__(self, step: Tensor) -> Tensor:
        share = torch.clamp(step / self.steps, 0.0, 1.0)
        return self.stop + (self.start - self.stop) * 0.5 * (1.0 + torch.cos(math.pi * share))
