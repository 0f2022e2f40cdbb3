import numpy as np
import pytest

from vaescope.errors import ShapeError
from vaescope.metrics.intrinsic_dimension import (
    _by_products,
    _by_tree,
    mle_dimension,
    neighbour_distances,
    two_nn_dimension,
)


def sheet(dimension: int, ambient: int, n: int, seed: int = 0) -> np.ndarray:
    """Points spread evenly over a flat torus, which has no edge, in so many coordinates."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.random((n, dimension))
    circles = np.hstack([np.cos(angle), np.sin(angle)])
    turn = np.linalg.qr(rng.normal(size=(ambient, ambient)))[0]
    return circles @ turn[: 2 * dimension]


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "ambient"), [(1, 4), (2, 6), (3, 30)])
def test_both_estimators_find_the_dimension_of_a_torus(dimension: int, ambient: int) -> None:
    points = sheet(dimension, ambient, 3000)
    assert mle_dimension(points).value == pytest.approx(dimension, rel=0.05)
    found = two_nn_dimension(points)
    assert found.value == pytest.approx(dimension, rel=0.06)
    assert found.interval is not None
    assert found.interval[0] <= found.value <= found.interval[1]


def test_the_inverse_of_the_estimate_is_unbiased_on_a_line() -> None:
    # On a circle the law is exact: log(T_k / T_j) has mean 1 / d whatever k.
    few = [1 / mle_dimension(sheet(1, 2, 200, seed), k=5).value for seed in range(60)]
    error = np.std(few) / np.sqrt(len(few))
    assert np.mean(few) == pytest.approx(1.0, abs=4 * error + 0.005)


def test_tree_and_products_give_the_same_distances() -> None:
    x = sheet(2, 8, 700)
    x[0] = x[1] + 1e-9  # the product formula alone would round this away
    np.testing.assert_allclose(_by_products(x, 5), _by_tree(x, 5), rtol=1e-6)


def test_scale_and_copies_leave_the_dimension_the_same() -> None:
    points = sheet(2, 4, 1000)
    value = mle_dimension(points).value
    assert mle_dimension(1e-200 * points).value == pytest.approx(value)
    assert mle_dimension(np.vstack([points, points[:300]])).value == pytest.approx(value)


def test_grids_and_too_few_points_are_named_errors() -> None:
    with pytest.raises(ShapeError, match="needs 21 different points; got 1"):
        mle_dimension(np.ones((50, 3)))
    with pytest.raises(ShapeError, match="lie on a grid"):
        two_nn_dimension(np.stack(np.meshgrid(*[np.arange(8.0)] * 2), -1).reshape(-1, 2))
    with pytest.raises(ShapeError, match="not finite"):
        neighbour_distances(np.full((30, 2), np.nan), 2)
