"""Splits are disjoint and complete; correlated rows have the correlation asked for."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaescope.build import build_data
from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.dsprites import FACTORS
from vaescope.data.factors import Factors
from vaescope.data.splits import correlated, split
from vaescope.data.stores import Numbers
from vaescope.errors import UsageError
from vaescope.settings import from_python


def numbered(n: int) -> Dataset:
    """Rows that show their own number."""
    return Dataset(
        Card("numbered", (1,), n, "", ""),
        Numbers(np.arange(n)[:, None]),
        Factors(("parity",), (np.arange(2),), np.arange(n)[:, None] % 2),
        sources=np.arange(n)[:, None].astype(np.float64),
    )


def numbers(data: Dataset) -> list[int]:
    return [int(row) for row in data.rows(np.arange(len(data)))[:, 0]]


def measured(data: Dataset, first: str, second: str) -> float:
    factors = data.require_factors("test")
    classes = factors.classes(np.arange(len(data)))
    columns = [factors.names.index(name) for name in (first, second)]
    return float(np.corrcoef(classes[:, columns].T)[0, 1])


@pytest.mark.slow
@settings(deadline=None)
@given(
    n=st.integers(1, 300),
    seed=st.integers(0, 2**31),
    shares=st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0), (1 / 3,) * 3]),
)
def test_splits_are_disjoint_and_complete(
    n: int, seed: int, shares: tuple[float, float, float]
) -> None:
    parts = split(numbered(n), seed, shares)
    together = [number for part in parts for number in numbers(part)]
    assert sorted(together) == list(range(n))
    assert [len(part) for part in parts] == pytest.approx([s * n for s in shares], abs=1)


@pytest.mark.parametrize("shares", [(0.8, 0.1, 0.1), (0.5, 0.0, 0.5)])
def test_copies_of_a_row_are_in_one_part(shares: tuple[float, float, float]) -> None:
    data = correlated(grid(6, 6, 20), "a", "b", 0.9, 1500, seed=0)
    assert len(set(numbers(data))) < 1200  # so there are copies
    parts = [numbers(part) for part in split(data, 0, shares)]
    assert sum(map(len, parts)) == 1500
    assert [len(part) for part in parts] == pytest.approx([s * 1500 for s in shares], abs=20)
    assert not any(set(a) & set(b) for a, b in itertools.combinations(parts, 2))


def test_rows_without_copies_are_split_by_their_order_alone() -> None:
    backwards = numbered(100).pick(np.arange(100)[::-1])
    for one, other in zip(split(numbered(100), 3), split(backwards, 3), strict=True):
        assert [99 - number for number in numbers(other)] == numbers(one)


def test_factors_and_sources_go_with_their_rows() -> None:
    test = split(numbered(100), seed=3).test
    own = np.array(numbers(test))
    assert test.sources is not None
    np.testing.assert_array_equal(test.sources[:, 0], own)
    np.testing.assert_array_equal(
        test.require_factors("test").classes(np.arange(len(test)))[:, 0], own % 2
    )


def test_the_seed_decides_the_split() -> None:
    data = numbered(1000)
    one, same, other = (numbers(split(data, seed).train) for seed in (0, 0, 1))
    assert one == same != other
    assert one != list(range(800))  # drawn, not cut off


def test_shares_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(UsageError, match="add up to 1"):
        split(numbered(10), 0, (0.8, 0.1, 0.2))


def grid(*sizes: int) -> Dataset:
    names = tuple("abcd"[: len(sizes)])
    factors = Factors(names, tuple(np.arange(size) for size in sizes))
    return Dataset(
        Card("grid", (1,), factors.n, "", ""), Numbers(np.arange(factors.n)[:, None]), factors
    )


@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.0, 0.2, 0.5, 0.9, 0.98])
@pytest.mark.parametrize("n", [2000, 20_000])
def test_two_factors_get_the_correlation_asked_for(rho: float, n: int) -> None:
    data = correlated(grid(10, 8, 20, 5), "a", "c", rho, n, seed=0)
    assert len(data) == n
    assert measured(data, "a", "c") == pytest.approx(rho, abs=0.01)
    for others in ("ab", "bd", "cd"):
        assert abs(measured(data, *others)) < 4 / np.sqrt(n)


def test_rows_are_distinct_as_long_as_there_are_enough() -> None:
    data = correlated(grid(10, 10, 50), "a", "b", 0.5, 1000, seed=0)
    assert len(set(numbers(data))) == 1000
    many = correlated(grid(4, 4), "a", "b", 0.5, 1000, seed=0)
    assert len(many) == 1000 and len(set(numbers(many))) <= 16


def test_every_value_of_both_factors_remains() -> None:
    data = correlated(grid(10, 10, 50), "a", "b", 0.7, 2000, seed=0)
    classes = data.require_factors("test").classes(np.arange(2000))
    assert [len(np.unique(classes[:, k])) for k in range(2)] == [10, 10]


def test_the_order_of_the_rows_says_nothing() -> None:
    data = correlated(grid(10, 10, 50), "a", "b", 0.7, 2000, seed=0)
    first = data.require_factors("test").classes(np.arange(2000))[:, 0]
    assert abs(np.corrcoef(first, np.arange(2000))[0, 1]) < 0.1


def test_the_seed_decides_the_rows() -> None:
    one, same, other = (
        numbers(correlated(grid(10, 10, 50), "a", "b", 0.7, 500, seed)) for seed in (0, 0, 1)
    )
    assert one == same != other


def test_correlation_of_a_grid_the_size_of_dsprites() -> None:
    whole = Dataset(
        Card("grid", (1,), FACTORS.n, "", ""), Numbers(np.zeros((FACTORS.n, 1))), FACTORS
    )
    data = correlated(whole, "x", "scale", 0.6, 5000, seed=1)
    assert measured(data, "x", "scale") == pytest.approx(0.6, abs=0.01)


def test_a_correlation_out_of_reach_is_refused_with_what_is_in_reach() -> None:
    lopsided = grid(2, 5).pick(np.array([0, 1, 2, 5, 6, 7, 8, 9]))
    with pytest.raises(UsageError, match=r"between 0\.37 and"):
        correlated(lopsided, "a", "b", 0.1, 100, 0)
    with pytest.raises(UsageError, match=r"got a, z.*The factors are a, b"):
        correlated(grid(3, 3), "a", "z", 0.1, 100, 0)
    with pytest.raises(UsageError, match="between -1 and 1"):
        correlated(grid(3, 3), "a", "b", 1.0, 100, 0)


def test_data_correlated_draws_rows_and_is_named() -> None:
    grid_ = {"shape": [0], "orientation": [0], "x": list(range(0, 32, 4)), "y": [0, 16]}
    plain = {"name": "dsprites", "size": 16, "grid": grid_}
    asked = {"correlated": ["x", "scale", 0.6], "correlated_rows": 4000}
    whole, data = (
        build_data(from_python("vae", {**plain, **more}, {}).data) for more in ({}, asked)
    )
    assert len(data) == 4000 and measured(data, "x", "scale") == pytest.approx(0.6, abs=0.01)
    assert data.name == "dsprites with x and scale correlated by 0.6"
    # Images go with their factors, and a spec without it is what it was before it.
    rows, own = (d.require_factors("test").classes(np.arange(len(d))) for d in (whole, data))
    place = int(np.flatnonzero((rows == own[7]).all(axis=1))[0])
    np.testing.assert_array_equal(data.rows(np.array([7])), whole.rows(np.array([place])))
    assert not any("correlated" in key for key in whole.recipe or {})
    with pytest.raises(UsageError, match=r"got x, hue.*The factors are scale, x, y"):
        build_data(from_python("vae", {**plain, "correlated": ["x", "hue", 0.5]}, {}).data)
    with pytest.raises(UsageError, match=r"data\.correlated"):
        from_python("vae", {**plain, "correlated": ["x", "scale", 2.0]}, {})
