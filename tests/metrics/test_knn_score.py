from typing import Any

import numpy as np
import pytest

from vaescope.errors import ShapeError
from vaescope.metrics import knn_score
from vaescope.metrics.knn_score import neighbours_in


def test_neighbours_are_scikit_learns(generator: np.random.Generator) -> None:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    x, queries = generator.normal(size=200), generator.normal(size=80) * 2
    y = generator.integers(4, size=200)
    near = neighbours_in(x, queries, 5)
    assert all(len(set(row)) == 5 for row in near)
    regressed = KNeighborsRegressor(5).fit(x[:, None], y).predict(queries[:, None])
    np.testing.assert_allclose(y[near].mean(axis=1), regressed)
    classified = KNeighborsClassifier(5).fit(x[:, None], y).predict(queries[:, None])
    votes = np.stack([(y[near] == c).sum(axis=1) for c in range(4)])
    np.testing.assert_array_equal(votes.argmax(axis=0), classified)


def test_knn_score_is_one_for_continuous_sources_of_their_own(make: Any) -> None:
    x = np.random.default_rng(0).uniform(size=(2000, 2))
    assert knn_score(make(x, factor_values=x)).value > 0.97
    assert knn_score(make(np.hstack([x, x]), factor_values=x)).value < 0.01
    assert knn_score(make(np.ones((2000, 2)), factor_values=x)).value == 0.0


def test_classes_by_name_are_classified_and_legacy_exceeds_one(make: Any) -> None:
    rng = np.random.default_rng(0)
    v = rng.integers(3, size=(1500, 1))
    codes = make(np.column_stack([v[:, 0], np.zeros(1500)]), v, factor_names=("shape",))
    score = knn_score(codes)
    assert score.protocol.settings["classified"] == ["shape"]
    assert score.value == pytest.approx(1.0)
    # The thesis's text: (1 - 1/3) / (1/3) = 2, error E2.8
    assert knn_score(codes, legacy=True).value == pytest.approx(2.0, abs=0.35)


def test_names_decide_what_is_classified(make: Any, factors: np.ndarray) -> None:
    names = ("shape", "scale", "x", "y", "hue")
    codes = make(factors, factors, factor_names=names)
    assert knn_score(codes).protocol.settings["classified"] == ["shape"]
    assert knn_score(codes, nominal=("hue",)).protocol.settings["classified"] == ["hue"]


def test_too_few_rows_and_one_latent_are_errors(make: Any) -> None:
    v = np.arange(6)[:, None]
    with pytest.raises(ShapeError, match="needs 5 training rows"):
        knn_score(make(np.hstack([v, v]), v))
    with pytest.raises(ShapeError, match="2 latents"):
        knn_score(make(v, v))
