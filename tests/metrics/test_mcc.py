from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vaescope.metrics import mcc, mcc_spearman


def test_mcc_is_one_up_to_order_sign_and_scale(make: Any, generator: np.random.Generator) -> None:
    x = generator.uniform(size=(300, 3))
    score = mcc(make(x[:, [2, 0, 1]] * [-2.0, 1.0, 0.1], factor_values=x))
    assert score.value == pytest.approx(1.0)
    np.testing.assert_array_equal(score.details["latent_of_factor"], [1, 2, 0])


def test_each_factor_needs_a_latent_of_its_own(make: Any, generator: np.random.Generator) -> None:
    x = generator.uniform(size=(300, 1))
    both = np.hstack([x, x])
    assert mcc(make(x, factor_values=both)).value == pytest.approx(0.5)
    assert mcc(make(both, factor_values=x)).value == pytest.approx(1.0)


def test_ranks_see_monotonic_relations(make: Any, generator: np.random.Generator) -> None:
    x = generator.uniform(-4, 4, size=(500, 2))
    codes = make(np.exp(2 * x), factor_values=x)
    assert mcc_spearman(codes).value == pytest.approx(1.0)
    assert mcc(codes).value < 0.8


def test_classes_are_taken_as_numbers_and_constant_latents_count_nothing(make: Any) -> None:
    v = np.random.default_rng(0).integers(5, size=(400, 2))
    score = mcc(make(np.column_stack([v[:, 0], np.ones(400)]), v))
    assert score.value == pytest.approx(0.5, abs=0.05)
    assert score.protocol.settings["factors_as"] == "classes"


def test_mcc_does_not_depend_on_where_a_source_counts_from(
    make: Any, generator: np.random.Generator
) -> None:
    """Seconds since 1970 vary by little in comparison."""
    x = generator.uniform(0, 100, size=(300, 2))
    assert mcc(make(x, factor_values=1.7e9 + x)).value == pytest.approx(1.0)


def test_rounding_of_a_constant_in_float32_correlates_with_nothing(
    make: Any, generator: np.random.Generator
) -> None:
    v = generator.integers(2, size=(300, 1))
    mean = np.nextafter(np.float32(1), v.astype(np.float32) * 2)
    assert np.ptp(mean) > 0
    assert mcc(replace(make(mean, v), mean=mean)).value == 0
