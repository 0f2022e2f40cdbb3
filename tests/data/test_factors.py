"""Factors found from the labels of rows."""

import numpy as np

from vaescope.data.factors import Factors, tabulated

GRID = Factors(("hue", "size"), (np.array([0.5, 1.5]), np.array([-3.0, 0.0, 9.0])))


def labels() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    classes = GRID.classes(np.arange(6))
    return np.stack([value[classes[:, k]] for k, value in enumerate(GRID.values)], axis=1)


def test_labels_of_a_full_grid_need_no_table() -> None:
    found = tabulated(GRID.names, list(labels().T))
    assert found.complete and found.sizes == (2, 3)
    for got, wanted in zip(found.values, GRID.values, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_labels_in_another_order_or_number_have_one() -> None:
    for order in ([1, 0, 2, 3, 4, 5], [5, 2, 1], [0, 1, 2, 3, 4, 4]):
        found = tabulated(GRID.names, list(labels()[order].T))
        assert not found.complete and found.n == len(order)
        shown = found.classes(np.arange(len(order)))
        for k, values in enumerate(found.values):
            np.testing.assert_array_equal(values[shown[:, k]], labels()[order, k])
