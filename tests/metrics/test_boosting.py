import numpy as np
import pytest

from vaescope.metrics import cut_grid
from vaescope.metrics.boosting import boost, boost_all
from vaescope.native import library


@pytest.mark.parametrize("classes", [2, 4])
def test_trees_are_scikit_learns_where_every_value_may_be_cut(
    classes: int, generator: np.random.Generator
) -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    x = generator.normal(size=(60, 3))
    y = (x[:, 0] + 0.5 * x[:, 1] > np.linspace(-1, 1, classes - 1)[:, None]).sum(axis=0)
    ours = boost(x, y, x, rng=generator, rounds=20, bins=64)
    theirs = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(x, y)
    # Not closer: with sixty rows several cuts are equally good, and chance takes one.
    np.testing.assert_allclose(ours.importance, theirs.feature_importances_, atol=0.04)
    assert np.mean(ours.train == theirs.predict(x)) > 0.96


def test_importances_are_shares_and_go_to_what_predicts(generator: np.random.Generator) -> None:
    x = generator.normal(size=(400, 5))
    y = np.digitize(x[:, 3], [-0.5, 0.5])
    fit = boost(x, y, generator.normal(size=(10, 5)), rng=generator, rounds=30)
    assert fit.importance.sum() == pytest.approx(1.0)
    assert fit.importance[3] > 0.95
    np.testing.assert_array_equal(fit.train, y)


def test_constant_and_tied_codes_are_not_cut_between_equal_values(
    generator: np.random.Generator,
) -> None:
    y = np.arange(60) % 3
    fit = boost(np.zeros((60, 2)), y, np.zeros((4, 2)), rng=generator, rounds=3)
    np.testing.assert_array_equal(fit.importance, 0.0)
    tied = (y > 0).astype(np.float64)[:, None]  # one value for classes 1 and 2
    fit = boost(tied, y, np.array([[0.0], [1.0]]), rng=generator, rounds=30)
    assert fit.test[0] == 0
    assert np.mean(fit.train == y) == pytest.approx(2 / 3)


def test_equal_features_share_importance_by_chance(generator: np.random.Generator) -> None:
    y = generator.integers(10, size=800)
    x = np.repeat(y[:, None] + 0.01 * generator.normal(size=(800, 1)), 2, axis=1)
    fit = boost(x, y, x[:1], rng=generator, rounds=20)
    np.testing.assert_allclose(fit.importance, 0.5, atol=0.15)


def test_many_rows_are_cut_at_quantiles_and_then_exactly(generator: np.random.Generator) -> None:
    x = np.sort(generator.normal(size=(5000, 1)), axis=0)
    y = (np.arange(5000) >= 1234).astype(np.int64)  # not at a multiple of 5000 / 64
    fit = boost(x, y, x, rng=generator, rounds=1, depth=1, rate=1.0)
    np.testing.assert_array_equal(fit.test, y)


def test_importances_are_those_of_release_0_1() -> None:
    """Made before the engine was made faster: scores may not move with its speed."""
    stream = np.random.default_rng(7)
    y = stream.integers(0, 5, 6000)
    x = stream.normal(size=(6000, 4))
    x[:, 0] += 0.6 * y
    x[:, 2] *= 1 + 0.2 * y
    x[:, 3] = np.round(x[:, 3] + 0.3 * (y == 2), 1)
    fit = boost(x[:4500], y[:4500], x[4500:], rng=np.random.default_rng(3), rounds=10)
    wanted = [0.884389275981203, 0.008753856531870661, 0.08053895132863763, 0.02631791615828868]
    np.testing.assert_allclose(fit.importance, wanted, rtol=1e-4)
    assert (fit.test == y[4500:]).sum() == pytest.approx(597, abs=2)


@pytest.mark.parametrize(("classes", "rows", "depth"), [(2, 300, 3), (3, 900, 1), (17, 5000, 4)])
def test_loops_in_c_give_the_trees_of_numpy_to_the_last_bit(
    classes: int, rows: int, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library("boosting") is None:
        pytest.skip("there is no C compiler")
    stream = np.random.default_rng(classes)
    x = stream.normal(size=(rows, 5))
    x[:, 1] = np.round(x[:, 1], 1)  # ties
    x[:, 4] = 0.0
    y = stream.integers(0, classes, rows)
    x[:, 0] += y / classes
    fits = []
    for _ in range(2):
        chance = np.random.default_rng(1)
        fits.append(boost(x, y, x[::3] + 0.01, rng=chance, rounds=7, depth=depth))
        monkeypatch.setattr(cut_grid, "compiled_loops", lambda *_: None)
    for name in ("importance", "train", "test"):
        np.testing.assert_array_equal(getattr(fits[0], name), getattr(fits[1], name))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [80, 9_000])
def test_factors_side_by_side_are_learnt_as_each_alone(
    rows: int, generator: np.random.Generator
) -> None:
    """Of two, three and five classes: to the last bit, whether or not they share their arrays."""
    x = generator.normal(size=(rows, 3))
    factors = [np.digitize(x[:, k], np.linspace(-1, 1, c - 1)) for k, c in enumerate((2, 3, 5))]
    streams = [np.random.default_rng(k) for k in range(3)]
    together = boost_all(x, factors, x[:50], streams)
    assert len(together) == 3
    for k, fit in enumerate(together[: 3 if rows < 100 else 1]):
        alone = boost(x, factors[k], x[:50], rng=np.random.default_rng(k))
        np.testing.assert_array_equal(fit.importance, alone.importance)
        np.testing.assert_array_equal(fit.train, alone.train)
        np.testing.assert_array_equal(fit.test, alone.test)
