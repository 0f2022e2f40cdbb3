import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaescope.errors import RangeError
from vaescope.information.binning import equal_width, quantile
from vaescope.information.discrete import entropy


def test_bins_of_disentanglement_libs_test() -> None:
    up = np.arange(0.1, 0.65, 0.1)
    both = np.column_stack([up, up[::-1]])
    np.testing.assert_array_equal(
        equal_width(both, 3), [[0, 2], [0, 2], [1, 1], [1, 1], [2, 0], [2, 0]]
    )
    np.testing.assert_allclose(entropy(equal_width(both, 3)), np.log(3))


@settings(max_examples=60, deadline=None)
@given(
    column=st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=40),
    bins=st.integers(1, 30),
)
def test_equal_width_is_numpys_digitize(column: list[float], bins: int) -> None:
    values = np.array(column)
    edges = np.histogram(values, bins)[1]
    wanted = np.digitize(values, edges[:-1]) - 1
    if not np.ptp(values):
        wanted[:] = 0  # NumPy widens the range to hold bins; one class is one class
    np.testing.assert_array_equal(equal_width(values[:, None], bins)[:, 0], wanted)


def test_float32_codes_are_binned_as_float64(generator: np.random.Generator) -> None:
    values = generator.normal(size=(40_000, 2)).astype(np.float32)
    np.testing.assert_array_equal(equal_width(values, 20), equal_width(values.astype(float), 20))


def test_a_constant_column_has_one_bin() -> None:
    for bins in (equal_width, quantile):
        assert len(np.unique(bins(np.full((10, 1), 3.0), 20))) == 1


@pytest.mark.parametrize("at", [0.0, 1.0, -1e8])
def test_a_column_that_is_constant_to_rounding_has_one_bin(at: float) -> None:
    column = np.array([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)])
    assert not equal_width(column[:, None], 20).any()
    assert equal_width(np.array([[1.0], [1.0 + 1e-9]]), 20).ravel().tolist() == [0, 19]


def test_quantile_bins_hold_equally_many_rows_and_never_part_equal_values(
    generator: np.random.Generator,
) -> None:
    heavy = generator.standard_cauchy(size=(1000, 1))
    np.testing.assert_array_equal(np.bincount(quantile(heavy, 8)[:, 0]), 125)
    assert np.bincount(equal_width(heavy, 8)[:, 0]).max() > 800
    tied = np.repeat([0.0, 1.0, 2.0], 100)[:, None]
    np.testing.assert_array_equal(np.unique(quantile(tied, 20)), [0, 1, 2])


def test_no_bins_is_an_error() -> None:
    with pytest.raises(RangeError, match="0 bins"):
        equal_width(np.zeros((2, 1)), 0)
