"""Active units, entropy of means, courses of ordered factors, DCI-ES and similarities."""

from typing import Any

import numpy as np
import pytest

from vaescope.errors import ShapeError, UsageError
from vaescope.metrics import (
    active_units,
    cka,
    dci_explicitness,
    dci_size,
    entropy_of_means,
    monotonicity,
    procrustes,
    smoothness,
)
from vaescope.metrics.dci_es import DEPTHS, area


def test_active_units_of_known_variances(make: Any) -> None:
    x = np.tile([-1.0, 1.0], 500)[:, None]  # of variance 1
    codes = make(x * np.sqrt([0.0101, 0.0099, 4.0, 0.0]), np.zeros((1000, 1), int))
    score = active_units(codes)
    assert score.value == 2
    assert (score.interval, score.chance) == ((2.0, 2.0), 0.0)
    np.testing.assert_allclose(score.details["variance_of_mean"], [0.0101, 0.0099, 4.0, 0.0])
    with pytest.raises(UsageError, match="takes means"):
        active_units(codes, on="sample")


def test_active_units_of_a_linear_gaussian_posterior(make: Any) -> None:
    # Means w x with x of variance 1 vary by w^2 = 1 - v: .02 is active at .98, .005 is not.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 3))
    codes = make(x * np.sqrt([0.02, 0.005, 0.9]), np.zeros((20_000, 1), int))
    assert active_units(codes).value == 2


def test_entropy_of_means_of_even_latents_is_the_logarithm_of_the_bins(make: Any) -> None:
    even = np.linspace(0.0, 1.0, 5000)
    z = np.column_stack([even, even / 2, np.full(5000, 3.0), 0.001 * even])
    score = entropy_of_means(make(z, np.zeros((5000, 1), int)))
    wide, half, none, thin = score.details["entropy"]
    # The outer hundredths have bins of their own: 20 bins of .049 and two of .01.
    assert wide == pytest.approx(-20 * 0.049 * np.log(0.049) - 0.02 * np.log(0.01), abs=1e-3)
    # Half as wide, about the middle of a bin: nine whole bins and two of six tenths.
    assert half == pytest.approx(-9 * 0.098 * np.log(0.098) - 2 * 0.059 * np.log(0.059), abs=1e-3)
    assert (none, thin) == (0.0, 0.0)
    assert score.value == pytest.approx((wide + half) / 4)


def test_courses_of_ordered_factors(make: Any) -> None:
    v = np.tile(np.arange(8), 50)[:, None]
    straight = make(np.hstack([2.0 * v, 0.0 * v]), v)
    assert monotonicity(straight).value == smoothness(straight).value == 1.0
    jump = make((v > 3).astype(float), v)
    assert monotonicity(jump).value == 1.0
    assert smoothness(jump).value == pytest.approx(0.0)  # one step: it bends twice as much
    folded = make(np.where(v < 6, v, 12 - v).astype(float), v)  # 0 1 2 3 4 5 6 5
    assert monotonicity(folded).value == pytest.approx(5 / 7)
    assert smoothness(folded).value == pytest.approx(1 - 2 / 14)
    noise = make(np.random.default_rng(0).normal(size=(400, 2)), v)
    score = monotonicity(noise)
    assert score.chance is not None
    assert score.chance == pytest.approx(score.value, abs=0.3)
    with pytest.raises(ShapeError, match="three or more values in order"):
        monotonicity(make(v, v, factor_names=("shape",)))


def test_explicitness_is_the_area_above_the_least_loss() -> None:
    late = np.where(np.array(DEPTHS) < 32, 0.4, 0.0)  # only the deepest reads the factor
    assert area(late, 0.5) == pytest.approx(1 - 2 * (0.4 * 19 + 0.2 * 12) / (31 * 0.5))
    assert area(np.full(12, 0.3), 0.5) == 1.0


def test_explicit_codes_need_less_depth_than_scrambled_ones(make: Any) -> None:
    rng = np.random.default_rng(0)
    v = rng.integers(2, size=(1500, 2))
    plain = v + 0.01 * rng.normal(size=v.shape)
    spiral = np.sin(25 * (plain + rng.random(v.shape)))[:, :1] + v * 0.05
    both = [dci_explicitness(make(z, v), train=1000, test=500).value for z in (plain, spiral)]
    assert both[0] == pytest.approx(1.0, abs=0.01)
    assert both[1] < both[0] - 0.05


def test_size_is_factors_over_latents(make: Any) -> None:
    v = np.random.default_rng(0).integers(3, size=(60, 2))
    assert dci_size(make(np.zeros((60, 5)), v)).value == pytest.approx(2 / 5)
    assert dci_size(make(np.zeros((60, 1)), v)).value == 1.0


@pytest.mark.parametrize("similarity", [cka, procrustes])
def test_rotation_and_scale_leave_two_representations_alike(similarity: Any, make: Any) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 3)) * [3.0, 1.0, 0.2]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    v = np.zeros((500, 1), int)
    assert similarity(make(z, v), make(7.0 * z @ turn + 5.0, v)).value == pytest.approx(1.0)
    other = similarity(make(z, v), make(rng.normal(size=(500, 2)), v))
    assert other.chance is not None
    assert other.interval is not None
    assert other.value == pytest.approx(other.chance, abs=0.06)
    with pytest.raises(ShapeError, match="same rows; got 500 and 499"):
        similarity(make(z, v), make(z[1:], v[1:]))


def test_similarities_of_known_matrices(make: Any) -> None:
    # Orthogonal columns of lengths 2 and 1 against the first alone.
    z = np.array([[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]])
    a, b = (make(own, np.zeros((4, 1), int)) for own in (z, z[:, :1]))
    assert cka(a, b, resamples=0).value == pytest.approx(16 / np.sqrt(16**2 + 4**2))
    assert procrustes(a, b, resamples=0).value == pytest.approx(2 / np.sqrt(5))
