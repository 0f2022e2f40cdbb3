"""Weights of normal densities have tails and effective sizes in closed form."""

import numpy as np
import pytest

from vaescope.errors import ShapeError
from vaescope.importance_weights import (
    effective_size,
    log_mean,
    tail_shape,
    tempered,
)


@pytest.mark.parametrize("ratio", [0.3, 0.5, 0.9])
def test_the_tail_of_a_narrow_normal_proposal_has_one_minus_the_ratio_of_variances(
    ratio: float,
) -> None:
    # w = exp(z^2 (1/v - 1) / 2) with z ~ N(0, v): P(w > t) ~ t^(-1/(1 - v)).
    draw = np.random.default_rng(0)
    shapes = []
    for _ in range(20):
        z = np.sqrt(ratio) * draw.normal(size=4000)
        shapes.append(tail_shape(0.5 * z**2 * (1.0 / ratio - 1.0)))
    assert np.mean(shapes) == pytest.approx(1.0 - ratio, abs=0.1)


def test_bounded_weights_have_no_tail_and_one_that_outweighs_all_has_any() -> None:
    assert tail_shape(np.zeros(100)) == -np.inf
    assert tail_shape(np.r_[np.zeros(99), 1000.0]) == np.inf
    z = 1.3 * np.random.default_rng(0).normal(size=1000)
    assert tail_shape(-0.5 * z**2 * (1.0 - 1.0 / 1.69)) < 0.0
    with pytest.raises(ShapeError, match="25"):
        tail_shape(np.zeros(10))


def test_the_effective_size_of_a_wide_normal_proposal_is_known() -> None:
    # E[w]^2 / E[w^2] = sqrt(2 r - 1) / r with r the ratio of variances.
    r, n = 4.0, 200_000
    z = np.sqrt(r) * np.random.default_rng(0).normal(size=n)
    log_weights = 0.5 * (np.log(r) + z**2 / r - z**2)
    assert effective_size(log_weights) / n == pytest.approx(np.sqrt(2 * r - 1) / r, rel=0.02)
    assert log_mean(log_weights) == pytest.approx(0.0, abs=0.01)


def test_levelled_weights_have_the_effective_size_that_was_asked_for() -> None:
    log_weights = np.random.default_rng(0).normal(size=200) * 10.0
    weights = tempered(log_weights, 50.0)
    assert weights.sum() == pytest.approx(1.0)
    assert 1.0 / np.square(weights).sum() == pytest.approx(50.0, rel=1e-3)
    np.testing.assert_allclose(tempered(np.zeros(4), 2.0), 0.25)
