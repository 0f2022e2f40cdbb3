import pytest
import torch

from vaescope.schedules import Constant, Cosine, Linear


@pytest.mark.parametrize("schedule", [Linear(1.0, 3.0, 10), Cosine(1.0, 3.0, 10)])
def test_a_schedule_starts_ends_and_passes_the_middle(schedule: Linear | Cosine) -> None:
    at = [schedule(torch.tensor(float(step))).item() for step in (0, 5, 10, 1000)]
    assert at == pytest.approx([1.0, 2.0, 3.0, 3.0])


def test_schedules_of_stacked_strengths_are_stacked() -> None:
    stops = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(Linear(0.0, stops, 10)(torch.tensor(5.0)), stops / 2)
    torch.testing.assert_close(Constant(stops)(torch.tensor(5.0)), stops)
