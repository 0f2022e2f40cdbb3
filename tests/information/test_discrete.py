import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from vaescope.information.binning import equal_width
from vaescope.information.discrete import entropy, mutual_information


def test_bins_of_disentanglement_libs_test() -> None:
    up = np.arange(0.1, 0.65, 0.1)
    both = np.column_stack([up, up[::-1]])
    np.testing.assert_array_equal(
        equal_width(both, 3), [[0, 2], [0, 2], [1, 1], [1, 1], [2, 0], [2, 0]]
    )
    np.testing.assert_allclose(entropy(equal_width(both, 3)), np.log(3))


def test_mutual_information_of_disentanglement_libs_test() -> None:
    a = np.array([[1, 2, 1, 2], [1, 1, 2, 2]]).T
    b = np.array([[1, 2, 1, 2], [2, 2, 1, 1]]).T
    np.testing.assert_allclose(mutual_information(a, b), np.diag([np.log(2)] * 2), atol=1e-12)


def test_mutual_information_equals_scikit_learns(generator: np.random.Generator) -> None:
    a = generator.integers(20, size=(1000, 3))
    b = (a[:, :2] + generator.integers(3, size=(1000, 2))) // 2
    ours = mutual_information(a, b)
    for i in range(3):
        for j in range(2):
            assert ours[i, j] == pytest.approx(mutual_info_score(a[:, i], b[:, j]), abs=1e-12)


def test_a_constant_column_has_one_bin(generator: np.random.Generator) -> None:
    assert len(np.unique(equal_width(np.full((10, 1), 3.0), 20))) == 1
