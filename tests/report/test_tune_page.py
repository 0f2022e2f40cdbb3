"""The page of a tune."""

from pathlib import Path

from tests.tuning.linear import linear_point, planned

from vaescope.report.tune_page import save_tuning
from vaescope.tuning.curve import read_curve
from vaescope.tuning.plan import Range
from vaescope.tuning.result import tuning_of

NOISY = (1 / 3 + 0.01, 1 / 12 + 0.01, 0.01)


def page(tmp_path: Path, where: Range, active: int = 2, latents: int = 5) -> str:
    curve = planned(NOISY, latents, where, factors=2)
    reading = read_curve(curve, by="onset", given=None, factors=2)
    check = None
    if reading.beta is not None:
        check = linear_point(reading.beta, NOISY, latents, active=active)
    save_tuning(tuning_of(curve, reading, check, "onset", tmp_path), tmp_path / "curve.html")
    return (tmp_path / "curve.html").read_text()


def test_the_page_says_what_the_summary_says_and_loads_nothing(tmp_path: Path) -> None:
    text = page(tmp_path, Range(6e-4, 20.0, floor=6e-7))
    assert "between onset and over-pruning" in text and "Checked: a run from scratch" in text
    assert "or below: first passive latent" in text
    assert "default-src &#39;none&#39;" in text


def test_a_value_below_both_ends_is_not_said_to_lie_between_them(tmp_path: Path) -> None:
    text = page(tmp_path, Range(6e-4, 20.0, floor=6e-7), latents=2)  # none is spare
    assert "below over-pruning and onset" in text and "between onset and" not in text


def test_a_doubt_is_a_warning(tmp_path: Path) -> None:
    text = page(tmp_path, Range(6e-4, 20.0, floor=6e-7), active=1)
    assert "Doubt: a run from scratch" in text and "warning" in text


def test_a_curve_on_which_nothing_was_found_has_a_page_too(tmp_path: Path) -> None:
    assert "No beta is recommended" in page(tmp_path, Range(1e-4, 1e-3, floor=1e-4))
