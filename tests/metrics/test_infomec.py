from typing import Any

import numpy as np
import pytest

from vaescope.errors import ShapeError, UsageError
from vaescope.information.nearest import nearest_information
from vaescope.metrics.infomec import compactness, infoe, infomec, modularity_ratio


@pytest.fixture
def mixed() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    v = rng.integers([3, 9], size=(800, 2))
    return v @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(800, 3)), v


def test_information_by_neighbours_is_scikit_learns(mixed: Any) -> None:
    from sklearn.feature_selection import mutual_info_classif

    z, v = mixed
    v = v.copy()
    v[0, 0] = 7  # a class of one row is left out
    z[:200, 0] = np.round(z[:200, 0])  # ties
    theirs = [
        mutual_info_classif(z, column, discrete_features=False, n_neighbors=10, random_state=0)
        for column in v.T
    ]
    alone = [
        [
            mutual_info_classif(
                z[:, [j]], column, discrete_features=False, n_neighbors=10, random_state=0
            )[0]
            for column in v.T
        ]
        for j in range(3)
    ]
    np.testing.assert_allclose(nearest_information(z, v), alone, atol=1e-12)
    assert np.shape(theirs) == (2, 3)


def test_shares_of_known_tables() -> None:
    table = np.array([[0.9, 0.1], [0.0, 0.6], [0.5, 0.5]])
    # Shares .9, 1 and .5: mean .8, from [1/2, 1] to .6.
    assert modularity_ratio(table) == pytest.approx(0.6)
    # Shares .9 / 1.4 and .6 / 1.2, from [1/3, 1].
    assert compactness(table) == pytest.approx((np.mean([0.9 / 1.4, 0.5]) - 1 / 3) * 1.5)


def test_pruning_by_types_keeps_a_used_latent_of_small_range(make: Any) -> None:
    rng = np.random.default_rng(0)
    v = rng.integers(4, size=(900, 2))
    z = np.column_stack([v[:, 0], 0.01 * v[:, 1], 0.5 * rng.normal(size=900)]).astype(float)
    variance = np.column_stack([np.full(900, 1e-6), np.full(900, 1e-6), np.ones(900)])
    codes = make(z * [1, 1, 1e-3], v, variance=variance)
    assert infomec(codes, pruning="range").kept.tolist() == [True, False, False]
    typed = infomec(codes)
    assert typed.kept.tolist() == [True, True, False]
    assert typed.modularity.value > 0.9
    assert typed.compactness.value > 0.9
    assert typed.modularity.chance is not None
    with pytest.raises(UsageError, match="no pruning 'iqr'"):
        infomec(codes, pruning="iqr")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="infoc compares latents"):
        _ = infomec(codes, pruning="range").compactness


def test_infoe_is_scikit_learns_loss_and_its_chance_that_of_permuted_rows(
    make: Any, mixed: Any
) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.preprocessing import StandardScaler

    z, v = mixed
    score = infoe(make(z, v))
    x = StandardScaler().fit_transform(z)
    shares = []
    for column in v.T:
        model = LogisticRegression(C=np.inf, class_weight="balanced").fit(x, column)
        none = LogisticRegression(C=np.inf, class_weight="balanced").fit(0 * x, column)
        before = log_loss(column, none.predict_proba(0 * x))
        shares.append(1 - log_loss(column, model.predict_proba(x)) / before)
    assert score.value == pytest.approx(np.mean(shares), abs=1e-9)
    assert score.interval is not None
    assert score.interval[0] < score.value < score.interval[1]
    rng = np.random.default_rng(1)
    permuted = [infoe(make(z, v[rng.permutation(800)]), resamples=0).value for _ in range(8)]
    assert score.chance == pytest.approx(np.mean(permuted), rel=0.5)
