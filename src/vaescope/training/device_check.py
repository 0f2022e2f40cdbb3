"""The first steps on a device beside the same steps on the CPU in float32: do they agree?"""

from dataclasses import asdict, dataclass
from typing import Any

import torch

from vaescope.build import start_from_data, training_rows
from vaescope.data import Dataset
from vaescope.specs import Experiment, LoggingSpec, resolve
from vaescope.training.loop import Record, new_state, steps
from vaescope.training.precision import Precision, choose
from vaescope.training.run import check_range

__all__ = ["STEPS", "DeviceCheck", "check_device"]

STEPS = 20
#: How far a term may lie from the CPU's, as a share of the loss. float32 has 24 bits, of which sums
#: in another order and twenty steps of Adam, which scales small gradients up, leave about ten;
#: bf16 has 8.
TOLERANCES: dict[Precision, float] = {"fp32": 2.0**-10, "bf16": 2.0**-5}


@dataclass(frozen=True)
class DeviceCheck:
    """Each term of the loss at each step, here and on the CPU."""

    device: str
    precision: Precision
    steps: int
    tolerance: float
    difference: float  # the largest of a term from the CPU's, as a share of the loss
    step: int  # at which that was
    term: str

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance

    def summary(self) -> str:
        """Two sentences."""
        verdict = "agrees with" if self.agrees else "DIFFERS from"
        return (
            f"{self.device} in {self.precision} {verdict} the CPU in fp32 over {self.steps} steps. "
            f"The largest difference is {self.difference:.2g} of the loss ({self.term} at step "
            f"{self.step}); the tolerance is {self.tolerance:.2g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "agrees": self.agrees}


def check_device(experiment: Experiment, data: Dataset, device: torch.device) -> DeviceCheck:
    """Trains the experiment's first steps on `device`, as `train_run` would, and on the CPU.

    Weights, rows and noise are drawn on the CPU for both, so that only the arithmetic differs.
    A term that is not finite raises `NonFiniteError`, as in training.
    """
    spec = resolve(experiment)
    length = min(STEPS, spec.steps)
    spec = spec.model_copy(update={"steps": length, "logging": LoggingSpec(every=1)})
    check_range(data, spec)
    rows = training_rows(spec, data)
    precision = choose(spec.precision, device, new_state(spec, device).vae)
    here = _history(spec, rows, device, precision)
    there = _history(spec, rows, torch.device("cpu"), "fp32")
    difference, step, term = max(
        (abs(value - _terms(known)[name]) / abs(known.loss), known.step, name)
        for record, known in zip(here, there, strict=True)
        for name, value in _terms(record).items()
    )
    return DeviceCheck(
        device.type, precision, length, TOLERANCES[precision], difference, step, term
    )


def _terms(record: Record) -> dict[str, float]:
    return {"loss": record.loss, **record.parts}


def _history(
    spec: Experiment, data: Dataset, device: torch.device, precision: Precision
) -> list[Record]:
    state = new_state(spec, device)
    start_from_data(spec, data, [state.vae])
    return [record for record in steps(state, spec, data, precision) if record is not None]
