"""Pairs follow SlowVAE's Laplace transitions."""

import numpy as np
import pytest

from vaescope.data import pairs as pairs_module
from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.dsprites import FACTORS
from vaescope.data.factors import Factors
from vaescope.data.pairs import Pairs, laplace_pairs, shared_pairs
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
    second = pairs(index, generator).index
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
    after = data.require_factors("test").classes(pairs(index, generator).index)
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
    after = pairs(np.zeros(50_000, dtype=np.int64), generator).index
    counts = np.bincount(after, minlength=20)
    assert counts[0] == 0  # one factor: it always moves
    assert counts[1] > 5 * counts[10] > 0 and counts[19] < counts[10]


def test_a_higher_rate_moves_less(generator: np.random.Generator) -> None:
    index = np.full(20_000, 16)
    far = [
        np.abs(laplace_pairs(line(32), rate=rate)(index, generator).index - 16).mean()
        for rate in (0.5, 1.0, 6.0)
    ]
    assert far[0] > far[1] > far[2] >= 1.0


def test_the_generator_decides() -> None:
    pairs, index = laplace_pairs(grid(FACTORS)), np.arange(1000)
    one, same, other = (pairs(index, np.random.default_rng(seed)).index for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_frozen_factors_can_be_named(generator: np.random.Generator) -> None:
    index = generator.integers(FACTORS.n, size=2000)
    second = laplace_pairs(grid(FACTORS), categorical=["shape", "x"])(index, generator).index
    same = (FACTORS.classes(index) == FACTORS.classes(second)).all(axis=0)
    assert same.tolist() == [True, False, False, True, False]


def test_two_classes_swap_when_forced(generator: np.random.Generator) -> None:
    index = np.array([0, 1, 1, 0])
    assert laplace_pairs(line(2))(index, generator).index.tolist() == [1, 0, 0, 1]


def test_what_cannot_be_paired_is_refused() -> None:
    with pytest.raises(UsageError, match="are all alike"):
        laplace_pairs(line(5).pick(np.array([2, 2])))
    with pytest.raises(UsageError, match=r"'shape': 1.*are all alike"):
        rows = FACTORS.index(np.array([[0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0]]))
        laplace_pairs(grid(FACTORS).pick(rows))
    with pytest.raises(UsageError, match=r"got \['hue'\]"):
        shared_pairs(line(5), names=["hue"])
    with pytest.raises(UsageError, match="a factor that may move"):
        laplace_pairs(line(5), categorical=["place"])
    with pytest.raises(UsageError, match=r"categorical \['hue'\].*place"):
        laplace_pairs(line(5), categorical=["hue"])
    with pytest.raises(UsageError, match=r"positive rate.*got rate 0"):
        laplace_pairs(line(5), rate=0)


@pytest.mark.parametrize("rounds", [0, 20])  # from the list of all rows, and by proposals
def test_partners_within_a_part_have_their_chances_given_that(
    rounds: int, generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chances on the whole grid, of rows that are in the part, scaled to add up to 1."""
    monkeypatch.setattr(pairs_module, "ROUNDS", rounds)
    whole = grid(Factors(("a", "b"), (np.arange(4), np.arange(3))))
    kept = np.array([1, 3, 4, 7, 8, 10, 11])
    n = 2_000 if rounds == 0 else 100_000
    everywhere = laplace_pairs(whole, rate=0.7)(np.full(400_000, 4), generator).index
    wanted = np.bincount(everywhere, minlength=12)[kept].astype(float)
    wanted /= wanted.sum()
    after = laplace_pairs(whole.pick(kept), rate=0.7)(np.full(n, 2), generator).index
    got = np.bincount(after, minlength=len(kept)) / n
    assert got[2] == 0.0
    np.testing.assert_allclose(got, wanted, atol=5 * np.sqrt(0.25 / n))


def test_rows_that_look_alike_are_partners_with_equal_chances(
    generator: np.random.Generator,
) -> None:
    part = line(3).pick(np.array([0, 1, 1, 1]))
    after = laplace_pairs(part)(np.zeros(9_000, dtype=np.int64), generator).index
    np.testing.assert_allclose(np.bincount(after, minlength=4) / 9_000, [0, 1 / 3, 1 / 3, 1 / 3],
                               atol=0.03)  # fmt: skip


def test_a_rate_beyond_floating_point_moves_one_step(generator: np.random.Generator) -> None:
    after = laplace_pairs(line(20), rate=1e6)(np.full(500, 10), generator).index
    assert set(after.tolist()) == {9, 11}
    part = line(20).pick(np.array([0, 10, 15]))
    assert set(laplace_pairs(part, rate=1e6)(np.ones(50, dtype=np.int64), generator).index) == {2}


@pytest.mark.parametrize("picked", [False, True])
def test_shared_pairs_share_the_factor_they_name_and_the_rest_is_independent(
    picked: bool, generator: np.random.Generator
) -> None:
    data = grid(Factors(("a", "b", "c"), (np.arange(3), np.arange(4), np.arange(1))))
    data = data.pick(np.sort(generator.permutation(12))) if picked else data
    factors = data.require_factors("test")
    index = np.repeat(np.arange(12), 3_000)
    partners = shared_pairs(data)(index, generator)
    before, after = factors.classes(index), factors.classes(partners.index)
    assert partners.shared is not None and set(partners.shared) == {0, 1}  # c is the same always
    np.testing.assert_array_equal(
        np.take_along_axis(before, partners.shared[:, None], 1),
        np.take_along_axis(after, partners.shared[:, None], 1),
    )
    b = after[partners.shared == 0, 1]
    np.testing.assert_allclose(np.bincount(b) / len(b), 0.25, atol=0.02)
    np.testing.assert_allclose((partners.shared == 0).mean(), 0.5, atol=0.02)
    only = shared_pairs(data, names=["b"])(index, generator).shared
    assert only is not None and set(only) == {1}
