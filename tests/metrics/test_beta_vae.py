from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.metrics import beta_vae


@pytest.mark.parametrize("standardised", [True, False])
def test_beta_vae_is_one_for_perfect_codes_and_chance_for_constant_ones(
    standardised: bool, perfect: Codes, constant: Codes
) -> None:
    good = beta_vae(perfect, votes=1000, test_votes=500, standardised=standardised)
    assert good.value > 0.95
    bad = beta_vae(constant, votes=1000, test_votes=500, standardised=standardised)
    assert bad.value == pytest.approx(0.2, abs=0.08)


def test_a_mixture_of_the_factors_scores_as_high(make: Any, factors: np.ndarray) -> None:
    turned = factors @ np.linalg.qr(np.random.default_rng(3).normal(size=(5, 5)))[0]
    assert beta_vae(make(turned, factors), votes=2000, test_votes=500).value > 0.9


def test_the_classifier_is_in_the_protocol(perfect: Codes) -> None:
    names = [
        beta_vae(perfect, votes=100, test_votes=50, standardised=own).protocol.settings["estimator"]
        for own in (True, False)
    ]
    assert "multinomial" in names[0]
    assert "one-against-rest" in names[1]
