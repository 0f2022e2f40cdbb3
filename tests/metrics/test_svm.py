import warnings

import numpy as np
import pytest

from vaescope.metrics.svm import fit_lines


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("cost", [0.01, 1.0])
def test_lines_are_liblinears(classes: int, cost: float, generator: np.random.Generator) -> None:
    from sklearn.svm import LinearSVC

    y = generator.integers(classes, size=400)
    x = 0.5 * y + generator.normal(size=400)
    lines = fit_lines(x, y, cost=cost)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = LinearSVC(C=cost, class_weight="balanced", dual=False, tol=1e-10, max_iter=10_000)
        machine.fit(x[:, None], y)
    ours = slice(1, 2) if classes == 2 else slice(None)
    np.testing.assert_allclose(lines.slope[ours], machine.coef_[:, 0], atol=1e-5)
    np.testing.assert_allclose(lines.intercept[ours], machine.intercept_, atol=1e-5)
    np.testing.assert_array_equal(lines.predict(x), machine.predict(x[:, None]))


def test_a_constant_column_gives_level_lines() -> None:
    lines = fit_lines(np.zeros(30), np.arange(30) % 3)
    np.testing.assert_array_equal(lines.slope, 0.0)
    assert len(np.unique(lines.predict(np.arange(4.0)))) == 1


def test_classes_keep_their_numbers() -> None:
    lines = fit_lines(np.array([0.0, 0.1, 5.0, 5.1]), np.array([7, 7, 3, 3]), cost=10.0)
    np.testing.assert_array_equal(lines.predict(np.array([0.0, 5.0])), [7, 3])
