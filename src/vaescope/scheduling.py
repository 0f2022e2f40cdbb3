"""From the settings of a strength or a rate to its schedule, and back."""

from typing import Any

from vaescope.schedules import Constant, Cosine, Linear, Schedule
from vaescope.specs import CosineSpec, LinearSpec, Value

__all__ = ["build_schedule", "schedule_settings"]


def build_schedule(value: Value) -> Schedule:
    """A number or a schedule's settings as a function of the step."""
    if isinstance(value, LinearSpec):
        return Linear(value.start, value.stop, value.steps)
    if isinstance(value, CosineSpec):
        return Cosine(value.start, value.stop, value.steps)
    return Constant(value)


def schedule_settings(schedule: Any) -> Any:
    """The settings of a schedule; of a constant its value. Anything else stays what it is."""
    if isinstance(schedule, Constant):
        return schedule.value
    if isinstance(schedule, Linear | Cosine):
        kind = LinearSpec if isinstance(schedule, Linear) else CosineSpec
        return kind(start=float(schedule.start), stop=float(schedule.stop), steps=schedule.steps)
    return schedule
