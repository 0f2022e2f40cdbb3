"""Pairs follow SlowVAE's Laplace transitions."""

import numpy as np
import pytest

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.dsprites import FACTORS
from vaescope.data.factors import Factors
from vaescope.data.pairs import Pairs, laplace_pairs
from vaescope.data.stores import Numbers
from vaescope.errors import UsageError


def grid(factors: Factors) -> Dataset:
    """A full grid without images: pairs look at factors only."""
    return Dataset(Card("grid", (1,), factors.n, "", ""), Numbers(np.zeros((1, 1))), factors)


def line(size: int) -> Dataset:
    return grid(Factors(("place",), (np.arange(size),)))


def test_shape_stays_and_something_else_moves(generator: np.random.Generator) -> None:
    pairs: Pairs = laplace_pairs(grid(FACTORS))
    index = generator.integers(FACTORS.n, size=20_000)
    second = pairs(index, generator)
    before, after = FACTORS.classes(index), FACTORS.classes(second)
    np.testing.assert_array_equal(before[:, 0], after[:, 0])
    assert (before != after).any(axis=1).all()
    assert second.dtype == np.int64 and second.shape == index.shape


def test_moves_have_the_released_distribution(generator: np.random.Generator) -> None:
    """Two factors, from the middle: exp(-|k - k0| / log n), and one forced move if both stay."""
    size, start = 9, 4
    data = grid(Factors(("a", "b"), (np.arange(size), np.arange(size))))
    pairs = laplace_pairs(data)
    index = np.full(200_000, start * size + start)
    after = data.require_factors("test").classes(pairs(index, generator))
    step = np.exp(-np.abs(np.arange(size) - start) / np.log(size))
    step /= step.sum()
    forced = step * (np.arange(size) != start)
    forced /= forced.sum()
    stayed = step[start] ** 2
    joint = np.outer(step, step)
    joint[start, start] = 0.0
    joint[:, start] += 0.5 * stayed * forced
    joint[start, :] += 0.5 * stayed * forced
    got = np.histogram2d(after[:, 0], after[:, 1], bins=size)[0] / len(index)
    np.testing.assert_allclose(got, joint, atol=5 * np.sqrt(joint.max() / len(index)))


def test_moves_end_at_the_border_and_do_not_wrap(generator: np.random.Generator) -> None:
    pairs = laplace_pairs(line(20))
    after = pairs(np.zeros(50_000, dtype=np.int64), generator)
    counts = np.bincount(after, minlength=20)
    assert counts[0] == 0  # one factor: it always moves
    assert counts[1] > 5 * counts[10] > 0 and counts[19] < counts[10]


def test_a_higher_rate_moves_less(generator: np.random.Generator) -> None:
    index = np.full(20_000, 16)
    far = [
        np.abs(laplace_pairs(line(32), rate=rate)(index, generator) - 16).mean()
        for rate in (0.5, 1.0, 6.0)
    ]
    assert far[0] > far[1] > far[2] >= 1.0


def test_the_generator_decides() -> None:
    pairs, index = laplace_pairs(grid(FACTORS)), np.arange(1000)
    one, same, other = (pairs(index, np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_frozen_factors_can_be_named(generator: np.random.Generator) -> None:
    index = generator.integers(FACTORS.n, size=2000)
    second = laplace_pairs(grid(FACTORS), categorical=["shape", "x"])(index, generator)
    same = (FACTORS.classes(index) == FACTORS.classes(second)).all(axis=0)
    assert same.tolist() == [True, False, False, True, False]


def test_two_classes_swap_when_forced(generator: np.random.Generator) -> None:
    index = np.array([0, 1, 1, 0])
    assert laplace_pairs(line(2))(index, generator).tolist() == [1, 0, 0, 1]


def test_what_cannot_be_paired_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a full grid"):
        laplace_pairs(line(5).pick(np.arange(3)))
    with pytest.raises(UsageError, match="a factor that may move"):
        laplace_pairs(line(5), categorical=["place"])
    with pytest.raises(UsageError, match=r"categorical \['hue'\].*place"):
        laplace_pairs(line(5), categorical=["hue"])
    with pytest.raises(UsageError, match=r"positive rate.*got rate 0"):
        laplace_pairs(line(5), rate=0)
