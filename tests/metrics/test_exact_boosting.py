from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.metrics.engines import learn
from vaescope.metrics.exact_boosting import can_boost_exactly, grow_exactly
from vaescope.native import library
from vaescope.types import Floats, Integers

pytestmark = pytest.mark.skipif(library("exact_trees") is None, reason="there is no C compiler")


def same_trees(x: Floats, y: Integers, seed: int, rounds: int) -> None:
    """Each feature and each cut of each tree, to the last bit, and what follows from them."""
    from sklearn.ensemble import GradientBoostingClassifier

    ours = grow_exactly(x, y, x[::-1], seed=seed, rounds=rounds)
    theirs = GradientBoostingClassifier(random_state=seed, n_estimators=rounds).fit(x, y)
    for grown, features, cuts in zip(
        theirs.estimators_.ravel(),
        ours.feature.reshape(-1, ours.feature.shape[2]),
        ours.threshold.reshape(-1, ours.feature.shape[2]),
        strict=True,
    ):
        tree = grown.tree_
        assert np.sum(features > -2) == tree.node_count
        inner = tree.feature >= 0
        kept = features[: tree.node_count]
        np.testing.assert_array_equal(kept, np.where(inner, tree.feature, -1))
        np.testing.assert_array_equal(cuts[: tree.node_count][inner], tree.threshold[inner])
    importance = theirs.feature_importances_
    np.testing.assert_allclose(ours.boosted.importance, importance, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(ours.boosted.train, theirs.predict(x))
    np.testing.assert_array_equal(ours.boosted.test, theirs.predict(x[::-1]))


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_trees_are_scikit_learns_to_the_last_cut(classes: int) -> None:
    stream = np.random.default_rng(classes)
    x = stream.normal(size=(300, 5))
    y = np.digitize(x[:, 0] + 0.3 * x[:, 1], np.linspace(-1, 1, classes - 1))
    same_trees(x, 3 * y - 4, seed=classes, rounds=15)


@pytest.mark.parametrize("kind", ["constant", "nearly constant", "twice the same", "few rows"])
def test_so_they_are_where_latents_are_odd(kind: str) -> None:
    stream = np.random.default_rng(5)
    x = stream.normal(size=(12 if kind == "few rows" else 200, 4))
    y = (x[:, 1] > 0).astype(np.int64) + (x[:, 0] > 0.5)
    if kind == "constant":
        x[:, 2] = 1.0
    if kind == "nearly constant":  # nearer than scikit-learn cuts apart
        x[:, 2] *= 1e-9
    if kind == "twice the same":
        x[:, 3] = x[:, 1]
    same_trees(x, y, seed=1, rounds=10)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["VAE", "betaB", "betaH", "btcvae"])
def test_so_they_are_on_real_codes(shared_data: Callable[[str], Path], model: str) -> None:
    kept = np.load(shared_data(f"pretrained/codes/{model}_dsprites_codes.npz"))
    rows = np.random.default_rng(0).permutation(len(kept["mu"]))[:1000]
    assert can_boost_exactly(kept["mu"][rows])
    for factor in (0, 1, 3):  # 3, 6 and 32 classes
        same_trees(kept["mu"][rows], kept["factors"][rows, factor], seed=factor, rounds=10)


def test_codes_of_few_values_are_left_to_scikit_learn() -> None:
    x = np.random.default_rng(0).normal(size=(200, 3))
    assert can_boost_exactly(x)
    assert can_boost_exactly(np.hstack([x, np.ones((200, 1))]))  # a constant latent is never cut
    assert not can_boost_exactly(np.round(x, 1))


@pytest.mark.slow
def test_the_engine_says_the_same_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = np.random.default_rng(2)
    v = stream.integers(4, size=(200, 2))
    z = np.hstack([v + 0.4 * stream.normal(size=v.shape), stream.normal(size=(200, 1))])
    ours = learn("gradient-boosting", z[:150], v[:150], z[150:], v[150:], seed=0)
    monkeypatch.setattr("vaescope.metrics.engines.can_boost_exactly", lambda x: False)
    theirs = learn("gradient-boosting", z[:150], v[:150], z[150:], v[150:], seed=0)
    np.testing.assert_allclose(ours.importance, theirs.importance, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(ours.test_accuracy, theirs.test_accuracy)
