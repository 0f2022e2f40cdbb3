"""Intervals known beforehand; what they are over follows from the seeds that there are."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from vaescope.comparing.compared_runs import read_members
from vaescope.comparing.intervals import (
    Side,
    SideGap,
    over_replicates,
    over_rows,
    over_seeds,
    sides_of,
)
from vaescope.runs import Run

Make = Callable[..., Run]


def found_sides(
    make: Make, *runs: tuple[float, int]
) -> list[tuple[tuple[int, ...], tuple[int, ...], str]]:
    """Runs by (beta, seed)."""
    made = [
        make(f"beta-{beta:g}-s{seed}", f"objective.beta={beta:g}", f"seed={seed}")
        for beta, seed in runs
    ]
    return [
        (side.first, side.second, side.basis)
        for side in sides_of(read_members(made, [None] * len(made)))
    ]


def test_one_run_of_each_setting_has_intervals_over_images(make: Make) -> None:
    assert found_sides(make, (1, 0), (4, 0), (8, 0)) == [
        ((0,), (1,), "images"), ((0,), (2,), "images"),
    ]  # fmt: skip


def test_two_and_two_seeds_have_two_degrees_of_freedom(make: Make) -> None:
    assert found_sides(make, (1, 0), (1, 1), (4, 0)) == [((0, 1), (2,), "images")]
    assert found_sides(make, (1, 0), (1, 1), (4, 0), (4, 1)) == [((0, 1), (2, 3), "seeds")]


def test_three_equal_seeds_are_paired(make: Make) -> None:
    runs = [(beta, seed) for beta in (1, 4) for seed in range(3)]
    assert found_sides(make, *runs) == [((0, 1, 2), (3, 4, 5), "paired seeds")]
    assert found_sides(make, *runs[:3], (4, 7)) == [((0, 1, 2), (3,), "seeds")]


def test_a_run_is_held_against_its_other_seeds_where_there_are_three(make: Make) -> None:
    assert found_sides(make, (1, 0), (1, 1), (1, 2)) == [
        ((0,), (1,), "images"),
        ((0,), (2,), "images"),
    ]
    four = found_sides(make, *((1, seed) for seed in range(4)))
    assert four[2] == ((0, 1, 3), (2,), "other seeds") and len(four) == 4
    five = found_sides(make, *((1, seed) for seed in (0, 1, 2, 3, 3)))
    assert [first for first, _, _ in five[3:]] == [(0, 1, 2), (0, 1, 2)]


def test_the_same_run_again_is_no_further_seed(make: Make) -> None:
    again = found_sides(make, (1, 0), (1, 0), (1, 0), (1, 0))
    assert {basis for _, _, basis in again} == {"images"}
    assert found_sides(make, (1, 0), (1, 0), (1, 0), (4, 0))[0][2] == "images"


def gap(
    first: Sequence[float], second: Sequence[float], *, basis: str, seeds: Sequence[int]
) -> SideGap:
    places = range(len(first) + len(second))
    a, b = tuple(places[: len(first)]), tuple(places[len(first) :])
    side = Side(a, b, basis, tuple(seeds))  # type: ignore[arg-type]
    return over_seeds(side, [*first, *second])


def test_pairs_have_students_interval_of_their_differences() -> None:
    found = gap([5, 1, 9], [6, 3, 12], basis="paired seeds", seeds=[0, 1, 2, 0, 1, 2])
    assert found.difference == pytest.approx(2)
    np.testing.assert_allclose(found.interval, [-0.4841, 4.4841], atol=1e-4)  # of 1, 2, 3
    assert found.differs is False


def test_pairs_are_found_by_seed_not_by_place() -> None:
    found = gap([5, 1, 9], [12, 3, 6], basis="paired seeds", seeds=[0, 1, 2, 2, 1, 0])
    np.testing.assert_allclose(found.interval, [-0.4841, 4.4841], atol=1e-4)


def test_groups_have_the_interval_of_the_two_sample_t_test() -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 6))
    found = gap(a[:4], b + 1, basis="seeds", seeds=range(10))
    expected = stats.ttest_ind(b + 1, a[:4]).confidence_interval(0.95)
    np.testing.assert_allclose(found.interval, [expected.low, expected.high], rtol=1e-12)


def test_one_run_against_others_has_the_interval_of_one_more_value() -> None:
    found = gap([1, 2, 3], [10], basis="other seeds", seeds=range(4))
    half = stats.t.ppf(0.975, 2) * np.sqrt(1 + 1 / 3)
    np.testing.assert_allclose(found.interval, [8 - half, 8 + half], rtol=1e-12)
    assert found.differs is True


def test_runs_of_one_seed_count_once() -> None:
    once = gap([1, 2, 3], [4, 6, 8], basis="seeds", seeds=[0, 1, 2, 3, 4, 5])
    twice = gap([1, 2, 3, 3], [4, 6, 8], basis="seeds", seeds=[0, 1, 2, 2, 3, 4, 5])
    assert once == twice


def test_values_without_spread_have_no_interval() -> None:
    """Three counts of 7 against three of 8: certain of nothing, or of everything?"""
    found = gap([7, 7, 7], [8, 8, 8], basis="seeds", seeds=range(6))
    assert (found.difference, found.interval, found.differs) == (1, None, None)
    same = gap([7, 7, 7], [7, 7, 7], basis="seeds", seeds=range(6))
    assert (same.difference, same.interval, same.differs) == (0, (0, 0), False)


def test_images_have_students_interval_of_the_differences_image_by_image() -> None:
    """However much images differ among themselves."""
    first = np.array([100.0, -100.0, 3.0])
    found = over_rows(first, first + np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found.interval, [-0.4841, 4.4841], atol=1e-4)
    assert over_rows(first, first) == SideGap(1.0, 1.0, (0.0, 0.0), 3)


@pytest.mark.parametrize(
    ("difference", "differs"), [(0.0, False), (1e-7, False), (1e-3, True)], ids=str
)
def test_rounding_is_no_difference(difference: float, differs: bool) -> None:
    first = np.ones(5)
    assert over_rows(first, first + difference).differs is differs


def test_a_difference_without_an_interval_is_not_judged() -> None:
    assert over_replicates(1.0, 2.0, None, 9).differs is None
    assert over_replicates(1.0, 1.0, None, 9).differs is False


def test_students_interval_holds_the_truth_in_95_of_100_cases() -> None:
    """Of 500 pairs of groups, with a difference of 1; binomial sd 1%."""
    draws = np.random.default_rng(0).standard_normal((500, 7))
    draws[:, 4:] += 1
    held = 0
    for own in draws:
        low, high = gap(own[:4], own[4:], basis="seeds", seeds=range(7)).interval or (0, 0)
        held += low <= 1 <= high
    assert 0.92 < held / 500 < 0.98
