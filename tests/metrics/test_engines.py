import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vaescope.errors import UsageError
from vaescope.metrics import engines
from vaescope.metrics.engines import ENGINES, learn


@pytest.fixture
def data(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    v = generator.integers(3, size=(240, 2))
    return v + 0.1 * generator.normal(size=v.shape), v


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e50, 1e-50])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_latent_of_a_factor(engine: str, scale: float, data: Any) -> None:
    """Whatever its scale: some hold columns in float32, which ends at 1e38."""
    if engine == "lightgbm":
        pytest.importorskip("lightgbm")
    z, v = data
    z = z * np.array([1.0, scale])
    learnt = learn(engine, z[:160], v[:160], z[160:], v[160:], seed=0)
    assert np.all(np.diag(learnt.importance) > 0.85)
    np.testing.assert_allclose(learnt.importance.sum(axis=0), 1.0)
    assert np.all(learnt.test_accuracy > 0.95)


def test_the_same_seed_gives_the_same_importances(data: Any) -> None:
    z, v = data
    first, again = (learn("first-order", z, v, z, v, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.importance, again.importance)


@pytest.mark.slow
def test_learnt_in_parallel_each_factor_keeps_its_place(generator: np.random.Generator) -> None:
    """Latent k is factor k; factors with more classes are learnt first."""
    v = np.stack([generator.integers(size, size=900) for size in (2, 5, 3, 4)], axis=1)
    z = np.hstack([v + 0.1 * generator.normal(size=v.shape), generator.normal(size=(900, 2))])
    learnt = learn("random-forest", z, v, z, v, seed=0)
    assert np.argmax(learnt.importance, axis=0).tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(learnt.train_accuracy, 1.0)


def test_lightgbms_internal_checks_are_never_shown(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class LightGBMError(Exception):
        pass

    asked: list[int] = []

    class Failing:
        def __init__(self, **settings: Any) -> None:
            asked.append(settings["min_child_samples"])

        def fit(self, x: Any, y: Any) -> None:
            raise LightGBMError("Check failed: (best_split_info.left_count) > (0)")

    library = SimpleNamespace(
        LGBMClassifier=Failing, basic=SimpleNamespace(LightGBMError=LightGBMError)
    )
    monkeypatch.setattr(engines, "_import_lightgbm", lambda: library)
    z, v = data
    learnt = learn("lightgbm", z[:160], v[:160], z[160:], v[160:], seed=0)
    assert asked == [1, 5, 20, 1, 5, 20]
    assert np.all(np.diag(learnt.importance) > 0.9)


def test_a_missing_package_and_an_unknown_engine_are_named(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    z, v = data
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(UsageError, match="vaescope\\[lightgbm\\]"):
        learn("lightgbm", z, v, z, v, seed=0)
    with pytest.raises(UsageError, match="first-order, gradient-boosting"):
        learn("xgboost", z, v, z, v, seed=0)
