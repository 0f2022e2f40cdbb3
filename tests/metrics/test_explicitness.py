from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.metrics import explicitness
from vaescope.metrics.explicitness import areas


def test_areas_equal_scikit_learns_with_ties_and_weights(generator: np.random.Generator) -> None:
    from sklearn.metrics import roc_auc_score

    y = generator.integers(3, size=200)
    scores = np.round(generator.normal(size=(200, 3)) + np.eye(3)[y], 1)
    weights = np.stack([np.ones(200), generator.integers(3, size=200)]).astype(np.float64)
    found = areas(scores, np.arange(3), y, weights)
    for row, weight in zip(found, weights, strict=True):
        for own, area in enumerate(row):
            wanted = roc_auc_score(y == own, scores[:, own], sample_weight=weight)
            assert area == pytest.approx(wanted, abs=1e-12)


def test_explicitness_is_one_for_perfect_codes_and_chance_for_constant_ones(
    make: Any, generator: np.random.Generator
) -> None:
    v = generator.integers(3, size=(600, 2))
    noise, zero = generator.normal(size=(600, 2)), np.zeros((600, 2))
    assert explicitness(make(v, v)).value > 0.99
    assert explicitness(make(zero, v)).value == 0.0
    assert explicitness(make(noise, v)).value < 0.15
    assert explicitness(make(zero, v), rescaled=False).value == 0.5


def test_a_value_that_the_test_rows_lack_is_left_out(make: Any) -> None:
    v = (np.arange(90) % 3)[:, None]
    v[60:][v[60:] == 2] = 0
    assert explicitness(make(v, v), train=60, test=30).value > 0.99


def test_the_interval_narrows_with_more_test_rows(shuffled: Codes) -> None:
    few, many = (
        explicitness(shuffled, train=600, test=n, resamples=30).interval for n in (60, 600)
    )
    assert few is not None and many is not None
    assert many[1] - many[0] < few[1] - few[0]
