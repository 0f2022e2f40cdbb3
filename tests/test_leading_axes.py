import numpy as np
import pytest

from vaescope.errors import UsageError
from vaescope.leading_axes import leading_axes


@pytest.mark.parametrize("shape", [(400, 12), (30, 50), (700, 300), (300, 700)])
def test_leading_axes_are_numpys(shape: tuple[int, int], generator: np.random.Generator) -> None:
    x = generator.normal(size=shape) * np.linspace(3.0, 0.5, shape[1])
    values, axes = leading_axes(x, 5)
    expected, vectors = np.linalg.eigh(x.T @ x / len(x))
    np.testing.assert_allclose(values, expected[::-1][:5], rtol=1e-8)
    cosines = np.abs(np.sum(axes * vectors[:, ::-1][:, :5], axis=0))
    np.testing.assert_allclose(cosines, 1.0, atol=1e-6)
    np.testing.assert_allclose(axes.T @ axes, np.eye(5), atol=1e-10)


def test_the_same_rows_give_the_same_axes(generator: np.random.Generator) -> None:
    x = generator.normal(size=(400, 300))
    first, second = leading_axes(x, 4), leading_axes(x, 4)
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])


def test_too_many_axes_are_refused_with_a_remedy(generator: np.random.Generator) -> None:
    with pytest.raises(UsageError, match="at most 3 principal axes; 4 are needed"):
        leading_axes(generator.normal(size=(10, 3)), 4)
