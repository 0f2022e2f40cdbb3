import warnings
from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.metrics import downstream


def test_downstream_is_one_for_perfect_codes_and_chance_for_constant_ones(
    perfect: Codes, constant: Codes
) -> None:
    assert downstream(perfect).value > 0.99
    score = downstream(constant)
    np.testing.assert_allclose(score.details["accuracy"], score.details["chance"])


def test_a_rotation_keeps_it(make: Any, factors: np.ndarray) -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    straight, turned = (
        downstream(make(z, factors[:1200])).value for z in (factors[:1200], factors[:1200] @ turn)
    )
    assert turned == pytest.approx(straight, abs=0.02)


@pytest.mark.slow
def test_folds_choose_a_penalty_and_nothing_is_warned_of(make: Any, factors: np.ndarray) -> None:
    v = factors[:300, :2] % 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = downstream(make(v, v), folds=True)
    assert score.value > 0.95
    assert "5-fold" in score.protocol.settings["estimator"]


def test_steep_lines_are_allowed(make: Any) -> None:
    x = np.random.default_rng(0).integers(32, size=(2000, 1))
    assert downstream(make(x / 31, x)).value > 0.95  # C = 1 reads 40%
