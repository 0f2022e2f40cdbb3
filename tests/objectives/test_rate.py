"""The weight of the rate in objectives that add a term of their own to it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from vaescope.objectives import BetaVAE, Objective
from vaescope.objectives.dip import DIPII
from vaescope.objectives.factor import FactorVAE, make_critic
from vaescope.objectives.total_correlation import BetaTCVAE
from vaescope.schedules import Constant
from vaescope.settings import from_command_line
from vaescope.specs import digest, to_dict

RATE = Constant(0.25)
#: Each with its own term weighted by nothing.
WITHOUT = {
    "beta-tcvae": BetaTCVAE(RATE, rate=RATE),
    "factor-vae": FactorVAE(make_critic(3, width=8, layers=1).double(), Constant(0.0), RATE),
    "dip-vae-ii": DIPII(Constant(0.0), Constant(0.0), RATE),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_without_their_own_term_they_are_a_beta_vae_of_that_weight(
    make_case: Callable[..., Any], name: str
) -> None:
    objective: Objective = WITHOUT[name]
    case = make_case()
    torch.testing.assert_close(case(objective).loss, case(BetaVAE(RATE)).loss, rtol=0, atol=1e-5)
    assert objective.rate_weight(0.0) == 0.25


def test_the_penalty_of_dip_ii_is_in_units_of_the_weight() -> None:
    pull = DIPII(Constant(1.0), Constant(2.0), RATE).pull(0.0)
    assert (pull.weight, pull.spread) == (0.25, 8.0)  # spread * weight is the penalty's 2


@pytest.mark.parametrize("name", WITHOUT)
def test_a_weight_of_one_leaves_the_digest_and_any_other_changes_it(name: str) -> None:
    plain, said, other = (
        from_command_line(name, settings)
        for settings in ([], ["objective.rate=1"], ["objective.rate=0.25"])
    )
    assert "rate" not in to_dict(plain)["objective"]
    assert digest(plain) == digest(said) != digest(other)
