"""What a curve says, on curves made by hand or by the closed form of linear VAEs."""

from dataclasses import replace

import pytest
from tests.tuning.linear import linear_point, planned

from vaescope.tuning.curve import CurvePoint, Event, needed_of, read_curve
from vaescope.tuning.plan import Range
from vaescope.tuning.result import tuning_of

LINEAR = (1 / 3, 1 / 12)
NOISY = (1 / 3 + 0.01, 1 / 12 + 0.01, 0.01)
#: Where bonheme2023's rule calls a latent passive: posterior variance 0.9.
PASSIVE = 0.9


def wide(eigenvalues: tuple[float, ...]) -> Range:
    scale = 2.0 * max(eigenvalues)
    return Range(1e-3 * scale, 30.0 * scale, floor=1e-6 * scale)


def by_hand(*rows: tuple[float, int, float]) -> list[CurvePoint]:
    """Points of (beta, latents in use, distortion) of three latents."""
    return [
        linear_point(beta, (1.0,), 3, active=active, distortion=distortion)
        for beta, active, distortion in rows
    ]


def test_without_spare_latents_onset_is_over_pruning_at_twice_the_least_eigenvalue() -> None:
    curve = planned(LINEAR, 2, wide(LINEAR), factors=2)
    found = read_curve(curve, by="onset", given=None, factors=2)
    assert found.onset == found.over_pruning
    assert found.over_pruning is not None and found.over_pruning_by == "latents"
    assert found.over_pruning.beta == pytest.approx(PASSIVE * 2 / 12, rel=0.03)
    assert any("no spare latent" in note for note in found.notes)


@pytest.mark.parametrize("eigenvalues", [LINEAR, (4.0, 2.0), (5.0, 1.0, 0.01)])
def test_without_spare_latents_the_beta_is_in_the_order_of_magnitude_of_the_onset(
    eigenvalues: tuple[float, ...],
) -> None:
    """zietlow2022 section 3.3.6; below it, as the first latent to go is a needed one."""
    latent = len(eigenvalues)
    curve = planned(eigenvalues, latent, wide(eigenvalues), factors=latent)
    found = read_curve(curve, by="onset", given=None, factors=latent)
    assert found.onset is not None and found.beta is not None
    assert found.onset.beta / 10**0.55 < found.beta < found.onset.beta
    assert linear_point(found.beta, eigenvalues, latent).active == latent


@pytest.mark.parametrize("factors", [2, None], ids=["known", "from the curve"])
def test_with_noise_the_spare_latents_go_first_and_beta_lies_between(factors: int | None) -> None:
    curve = planned(NOISY, 3, wide(NOISY), factors=factors)
    found = read_curve(curve, by="onset", given=None, factors=factors)
    assert found.needed.latents == 2
    assert found.onset is not None and found.over_pruning is not None and found.beta is not None
    assert found.onset.beta == pytest.approx(PASSIVE * 0.02, rel=0.03)
    assert found.over_pruning.beta == pytest.approx(PASSIVE * 2 * (1 / 12 + 0.01), rel=0.03)
    assert found.onset.above < found.beta < found.over_pruning.beta
    assert linear_point(found.beta, NOISY, 3).active == 2
    assert not any("no spare" in note for note in found.notes)


def test_latents_beyond_the_dimension_are_passive_at_any_beta_and_onset_is_a_bound() -> None:
    curve = planned(NOISY, 5, wide(NOISY), factors=2)
    found = read_curve(curve, by="onset", given=None, factors=2)
    assert found.onset == Event(None, curve[0].beta)
    assert found.over_pruning is not None and found.beta is not None
    assert found.onset.beta < found.beta < found.over_pruning.beta
    assert linear_point(found.beta, NOISY, 5).active == 2
    assert any("there or below" in note for note in found.notes)


@pytest.mark.parametrize("needed", [1, 2, 3, 4])
def test_over_pruning_is_where_fewer_are_in_use_than_given(needed: int) -> None:
    values = (4.0, 2.0, 1.0, 0.5)
    curve = planned(values, 4, wide(values), given=needed)
    found = read_curve(curve, by="onset", given=needed, factors=None)
    assert found.over_pruning is not None and found.beta is not None
    assert found.over_pruning.beta == pytest.approx(PASSIVE * 2 * values[needed - 1], rel=0.03)
    assert linear_point(found.beta, values, 4).active == needed


def test_what_is_given_counts_before_factors_and_these_before_the_curve() -> None:
    curve = planned(NOISY, 3, wide(NOISY))
    assert needed_of(curve, given=1, factors=3).source == "given"
    assert needed_of(curve, given=None, factors=3).source == "factors"
    assert needed_of(curve, given=None, factors=None).source == "curve"
    assert needed_of(curve, given=None, factors=9).latents == 3  # no more than there are


def test_a_jump_in_reconstruction_is_over_pruning_though_all_latents_are_in_use() -> None:
    curve = by_hand((1.0, 3, 0.0), (2.0, 3, 0.1), (2.1, 3, 0.6), (4.0, 3, 0.7), (8.0, 0, 1.0))
    found = read_curve(curve, by="onset", given=2, factors=None)
    assert found.over_pruning == Event(2.0, 2.1)
    assert found.over_pruning_by == "reconstruction"
    assert found.onset == Event(4.0, 8.0)
    assert found.beta is not None and found.beta < 2.0


def test_a_steady_rise_is_no_jump() -> None:
    """A linear VAE of equal eigenvalues loses most between neighbours: ln 1.05 of it all."""
    values = (1.0, 1.0, 1.0)
    curve = [linear_point(0.1 * 1.05**k, values, 3) for k in range(80)]
    found = read_curve(curve, by="onset", given=3, factors=None)
    assert found.over_pruning_by == "latents"


def test_a_rise_within_chance_is_no_jump() -> None:
    flat = by_hand((1.0, 3, 0.0), (1.04, 3, 0.001), (1.08, 3, 0.0))
    noisy = [replace(point, distortion_error=0.01) for point in flat]
    assert read_curve(flat, by="onset", given=3, factors=None).over_pruning is not None
    assert read_curve(noisy, by="onset", given=3, factors=None).over_pruning is None


def test_where_nothing_collapses_nothing_is_recommended_and_that_is_said() -> None:
    curve = planned(LINEAR, 2, Range(1e-4, 1e-2, floor=1e-4), factors=2)
    found = read_curve(curve, by="onset", given=None, factors=2)
    assert (found.onset, found.over_pruning, found.beta) == (None, None, None)
    assert any("go higher" in note for note in found.notes)


def test_where_all_is_collapsed_at_the_lowest_beta_nothing_is_recommended() -> None:
    curve = planned(LINEAR, 2, Range(5.0, 50.0, floor=5.0), factors=2)
    found = read_curve(curve, by="onset", given=None, factors=2)
    assert found.over_pruning == Event(None, 5.0) and found.beta is None
    assert any("Even at the lowest beta" in note for note in found.notes)
    assert "No beta is recommended" in tuning_of(curve, found, None, "onset", None).summary()


def test_where_two_latents_go_at_once_the_beta_leaves_more_than_needed() -> None:
    values = (1.0, 0.1, 0.1)
    curve = planned(values, 3, wide(values), given=2)
    found = read_curve(curve, by="onset", given=2, factors=None)
    assert found.over_pruning is not None and found.beta is not None
    assert found.beta < found.over_pruning.beta
    assert any("exactly 2" in note for note in found.notes)


def test_a_latent_that_is_not_learnt_at_the_lowest_beta_is_not_over_pruned() -> None:
    curve = by_hand((1.0, 1, 0.3), (2.0, 3, 0.0), (4.0, 2, 0.2), (8.0, 1, 0.5), (9.0, 0, 1.0))
    found = read_curve(curve, by="onset", given=2, factors=None)
    assert found.onset == Event(2.0, 4.0)
    assert found.over_pruning == Event(4.0, 8.0)


def test_by_dto_the_least_among_those_with_the_needed_latents_is_taken() -> None:
    curve = planned(NOISY, 3, wide(NOISY), factors=2)
    found = read_curve(curve, by="dto", given=None, factors=2)
    fit = [point for point in curve if point.active == 2]
    assert found.beta == max(point.beta for point in fit)  # the hand-made DtO falls with beta
    assert min(point.dto or 9.0 for point in curve) == min(point.dto or 9.0 for point in fit)


def test_by_dto_one_latent_has_none_and_the_middle_is_taken() -> None:
    curve = planned(LINEAR, 2, wide(LINEAR), given=1)
    middle = read_curve(curve, by="onset", given=1, factors=None)
    found = read_curve(curve, by="dto", given=1, factors=None)
    assert found.beta == middle.beta
    assert any("has a DtO" in note for note in found.notes)


def test_a_run_that_has_not_settled_is_named() -> None:
    curve = planned(LINEAR, 2, wide(LINEAR), factors=2)
    curve[3] = replace(curve[3], settled=False)
    notes = read_curve(curve, by="onset", given=None, factors=2).notes
    assert any(f"{curve[3].beta:g}" in note and "--steps" in note for note in notes)


@pytest.mark.parametrize(("active", "word"), [(2, "Checked"), (1, "Doubt")])
def test_a_check_with_another_number_of_latents_is_a_doubt(active: int, word: str) -> None:
    curve = planned(LINEAR, 2, wide(LINEAR), factors=2)
    found = read_curve(curve, by="onset", given=None, factors=2)
    assert found.beta is not None
    check = linear_point(found.beta, LINEAR, 2, active=active)
    tuned = tuning_of(curve, found, check, "onset", None)
    assert word in tuned.summary()
    assert tuned.to_dict()["check"]["active"] == active
