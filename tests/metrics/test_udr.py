from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics import udr_lasso, udr_spearman
from vaescope.metrics.udr import _strengths


@pytest.fixture
def models(make: Any, generator: np.random.Generator) -> list[Codes]:
    """Two that agree up to order and sign, one that is turned, one with a dead latent."""
    z = generator.normal(size=(400, 4))
    turn = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    sharp = {"variance": np.full((400, 4), 0.01)}
    dead = {"variance": np.tile([0.01, 0.01, 0.01, 1.0], (400, 1))}
    return [
        make(z, **sharp),
        make(-z[:, [3, 1, 0, 2]], **sharp),
        make(z @ turn, **sharp),
        make(z * [1.0, 1.0, 1.0, 1e-6], **dead),
    ]


def relative_strength(similarity: np.ndarray) -> float:
    """Of two models of three latents with these similarities."""
    both = np.block([[np.eye(3), similarity], [similarity.T, np.eye(3)]])
    return float(_strengths(both, np.ones(6, dtype=bool), np.array([0, 3]))[0, 1])


def test_vectors_of_disentanglement_lib() -> None:
    assert relative_strength(np.eye(3)) == 1.0
    shared = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert relative_strength(shared) == pytest.approx(2 / 3)
    assert relative_strength(np.ones((3, 3))) == pytest.approx(1 / 3)
    assert relative_strength(np.zeros((3, 3))) == 0.0


@pytest.mark.parametrize("udr", [udr_lasso, udr_spearman])
def test_models_that_agree_score_high_and_a_turned_one_low(udr: Any, models: list[Codes]) -> None:
    found = udr(models)
    assert found.pairwise[0, 1] > 0.8
    assert found.pairwise[0, 2] < 0.7
    assert found.best != 2
    assert [score.value for score in found.scores] == [
        np.median(np.delete(found.pairwise[:, j], j)) for j in range(4)
    ]


def test_dead_latents_are_left_out(models: list[Codes]) -> None:
    found = udr_spearman([models[0], models[3]])
    np.testing.assert_array_equal(found.scores[1].details["used"], [True, True, True, False])
    # Only the fourth latent of the other has no partner. Without chance correlations rows give
    # 1, 1, 1, 0 and columns 1, 1, 1: (3/4 + 1) / 2 = 0.875 at most; those of 400 points lower it.
    assert 0.75 < found.scores[1].value < 0.875


def test_lasso_weights_are_scikit_learns(models: list[Codes]) -> None:
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import StandardScaler

    found = udr_lasso(models[:3])
    z = [StandardScaler().fit_transform(codes.mean) for codes in models[:3]]
    for i in range(3):
        for j in range(3):
            if i != j:
                weights = Lasso(alpha=0.1, tol=1e-10).fit(z[i], z[j]).coef_.T
                np.testing.assert_allclose(found.similarity[i][j], np.abs(weights), atol=1e-8)


def test_rank_correlations_are_scipys(models: list[Codes]) -> None:
    from scipy.stats import spearmanr

    found = udr_spearman(models[:2])
    wanted = np.abs(spearmanr(models[0].mean, models[1].mean).statistic[:4, 4:])
    np.testing.assert_allclose(found.similarity[0][1], wanted, atol=1e-12)


def test_udr_needs_two_models_on_the_same_rows(models: list[Codes], make: Any) -> None:
    with pytest.raises(ShapeError, match="got 1"):
        udr_lasso(models[:1])
    with pytest.raises(ShapeError, match=r"\[10, 400\] rows"):
        udr_lasso([models[0], make(np.ones((10, 2)))])
