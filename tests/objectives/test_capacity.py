from collections.abc import Callable
from typing import Any

import pytest
import torch

from vaescope.objectives.capacity import CapacityVAE
from vaescope.objectives.elbo import BetaVAE
from vaescope.schedules import Constant, Linear


def test_without_capacity_it_is_the_beta_vae_of_gamma(make_case: Callable[..., Any]) -> None:
    case = make_case()
    ours = case(CapacityVAE(Constant(0.0), Constant(7.0)))
    theirs = case(BetaVAE(Constant(7.0)))
    torch.testing.assert_close(ours.loss, theirs.loss, atol=1e-5, rtol=0)


@pytest.mark.parametrize("capacity", [0.2, 50.0])  # below and above the rate
def test_it_weighs_the_distance_of_the_rate_from_a_capacity_that_grows(
    capacity: float, make_case: Callable[..., Any]
) -> None:
    case = make_case()
    parts = case(BetaVAE()).parts
    assert 0.2 < parts["rate"] < 50.0
    terms = case(CapacityVAE(Linear(0.0, 2 * capacity, 10)))  # at step 5
    expected = parts["distortion"] + 1000.0 * abs(parts["rate"] - capacity)
    torch.testing.assert_close(terms.loss, expected)
    assert terms.parts["capacity"].item() == capacity
