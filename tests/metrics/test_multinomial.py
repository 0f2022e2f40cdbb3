import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from vaescope.metrics.multinomial import fit_multinomial


def _rows(kind: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    stream = np.random.default_rng(3)
    y = stream.choice([2, 5, 7, 11], size=600)
    x = stream.normal(size=(600, 3))
    if kind != "nothing to learn":
        x[:, 0] += y * (10.0 if kind == "separable" else 0.4)
    return (x - x.mean(axis=0)) / x.std(axis=0), y


@pytest.mark.parametrize("kind", ["overlapping", "separable", "nothing to learn"])
@pytest.mark.parametrize("strength", [1.0, 1e4])
def test_it_is_scikit_learns_fit(kind: str, strength: float) -> None:
    x, y = _rows(kind)
    found = fit_multinomial(x, y, strength=strength)
    theirs = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-8, max_iter=500)
    theirs.fit(x, y)
    np.testing.assert_array_equal(found.classes_, theirs.classes_)
    np.testing.assert_allclose(found.predict_proba(x), theirs.predict_proba(x), atol=2e-4)
    if kind == "overlapping":
        np.testing.assert_allclose(found.weights[:-1].T, theirs.coef_, atol=1e-3)
    np.testing.assert_array_equal(found.predict(x), theirs.predict(x))


def test_many_rows_are_summed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _rows("overlapping")
    whole = fit_multinomial(x, y, strength=1e4)
    monkeypatch.setattr("vaescope.metrics.multinomial._ROWS", 7)
    parts = fit_multinomial(x, y, strength=1e4)
    np.testing.assert_allclose(parts.weights, whole.weights, rtol=1e-6, atol=1e-9)


def test_a_constant_column_and_more_weights_than_rows_have_a_fit() -> None:
    x, _ = _rows("overlapping")
    x[:, 1] = 0.0
    few = fit_multinomial(x[:9], np.arange(9), strength=1e4)
    assert np.isfinite(few.weights).all()
    assert (few.predict(x[:9]) == np.arange(9)).mean() > 0.5
