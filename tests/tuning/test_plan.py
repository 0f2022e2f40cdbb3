"""Which beta comes next, for models that are their closed form."""

from itertools import pairwise

import pytest
from tests.tuning.linear import linear_point, planned

from vaescope.tuning.curve import RESOLUTION, read_curve
from vaescope.tuning.plan import Next, Range, next_run

WHERE = Range(1e-3, 30.0, floor=1e-6)


def test_the_first_run_is_from_scratch_at_the_low_end() -> None:
    assert next_run([], WHERE, given=None, factors=2) == Next(1e-3, None)


def test_events_are_narrowed_to_the_resolution() -> None:
    curve = planned((0.5, 0.05, 0.003), 3, WHERE, factors=2)
    found = read_curve(curve, by="onset", given=None, factors=2)
    for event in (found.onset, found.over_pruning, found.only_needed):
        assert event is not None and event.below is not None
        assert event.above <= RESOLUTION * event.below


def test_a_range_that_begins_too_high_lowers_itself() -> None:
    values = (0.5, 1e-5)
    curve = planned(values, 2, WHERE, factors=2)
    assert curve[0].beta < 2e-5
    found = read_curve(curve, by="onset", given=None, factors=2)
    assert found.over_pruning is not None
    assert found.over_pruning.beta == pytest.approx(0.9 * 2e-5, rel=0.03)


def test_a_given_range_is_kept() -> None:
    curve = planned((0.5, 1e-5), 2, Range(1e-3, 0.5, floor=1e-3), factors=2)
    assert all(1e-3 <= point.beta <= 0.5 for point in curve)
    assert curve[-1].beta == 0.5


def test_ends_that_have_no_short_form_are_reached_all_the_same() -> None:
    curve = planned((0.5, 0.4), 2, Range(1 / 30, 1 / 3, floor=1 / 30), factors=2)
    assert (curve[0].beta, curve[-1].beta) == (0.0333333, 0.333333)


def test_a_jump_is_narrowed_down() -> None:
    """A model that loses half of its reconstruction at beta 1 with all latents in use."""
    curve = []
    while plan := next_run(curve, WHERE, given=2, factors=None):
        lost = 0.0 if plan.beta < 1.0 else 0.5
        active = 2 if plan.beta < 10.0 else 0
        distortion = lost if active else 1.0
        curve.append(linear_point(plan.beta, (1.0,), 2, active=active, distortion=distortion))
        curve.sort(key=lambda point: point.beta)
        assert len(curve) < 60
    found = read_curve(curve, by="onset", given=2, factors=None)
    assert found.over_pruning_by == "reconstruction"
    assert found.over_pruning is not None
    assert found.over_pruning.beta == pytest.approx(1.0, rel=0.03)


def test_a_plan_is_a_function_of_the_points_so_a_cut_curve_ends_the_same() -> None:
    """Whatever was measured before the cut, the rest comes out as without it."""
    whole = planned((0.5, 0.05, 0.003), 3, WHERE, factors=2)
    curve = [linear_point(1e-3, (0.5, 0.05, 0.003), 3)]
    while plan := next_run(curve, WHERE, given=None, factors=2):
        curve = sorted(
            [*curve, linear_point(plan.beta, (0.5, 0.05, 0.003), 3)], key=lambda p: p.beta
        )
    assert [point.beta for point in curve] == [point.beta for point in whole]


def test_betas_are_distinct_and_can_be_typed() -> None:
    curve = planned((0.5, 0.05, 0.003), 3, WHERE, factors=2)
    assert all(low.beta < high.beta for low, high in pairwise(curve))
    assert all(float(f"{point.beta:g}") == point.beta for point in curve)
