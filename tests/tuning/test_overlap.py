"""`--by overlap` on the closed form of linear VAEs, and on one that is trained."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tuning.linear import ROWS, linear_point, planned_by_overlap
from typer.testing import CliRunner

from vaescope.cli.app import app
from vaescope.decomposition import overlap_of_densities
from vaescope.errors import UsageError
from vaescope.report.render import render
from vaescope.report.tune_page import tuning_page
from vaescope.runs import strict_json
from vaescope.sealing import seal_row
from vaescope.settings import from_command_line
from vaescope.tuning import Tuning
from vaescope.tuning.curve import RESOLUTION, CurvePoint, read_curve
from vaescope.tuning.overlap import drift_of, read_overlap
from vaescope.tuning.plan import Range, next_overlap_run
from vaescope.tuning.result import tuning_of
from vaescope.tuning.store import Folder
from vaescope.tuning.tune import tune_experiment

VALUES = (0.5, 0.2)
WHERE = Range(1e-3, 30.0, floor=1e-6)
LATER = ("effective_number", "rows", "drift")
SETTINGS = [
    "data.name=linear-gaussian", "data.eigenvalues=[0.5, 0.2]", "data.dimension=3", "data.n=1000",
    "latent=2", "optimiser.lr=1e-2", "batch=100",
]  # fmt: skip


def strength(share: float, values: tuple[float, ...] = VALUES) -> float:
    """Where that share of the data have one code: the product of sqrt(beta / 2 lambda) is it."""
    return 2.0 * float(np.prod(values)) ** (1.0 / len(values)) * share ** (2.0 / len(values))


def result(curve: list[CurvePoint], share: float | None = None, **check: Any) -> Tuning:
    found = read_overlap(curve, share)
    reading = read_curve(curve, by="overlap", given=None, factors=2)
    run = linear_point(found.beta, VALUES, 2, **check) if found.beta else None
    return tuning_of(curve, reading, run, "overlap", Path("folder"), overlap=found)


@pytest.mark.parametrize("share", [None, 0.005, 0.1, 0.3])
def test_beta_and_both_ends_are_those_of_the_closed_form(share: float | None) -> None:
    """All of these lie where both latents are in use: below 2 lambda of the weaker, 0.4."""
    curve = planned_by_overlap(VALUES, 2, WHERE, share=share)
    found = read_overlap(curve, share)
    wanted = strength(ROWS**-0.5 if share is None else share)
    assert found.beta == pytest.approx(wanted, rel=0.03)
    assert found.lookup is not None and found.lost is not None
    assert found.lookup.beta == pytest.approx(strength(2.0 / ROWS), rel=0.03)
    assert found.lost.beta == pytest.approx(strength(0.5), rel=0.03)
    for event in (found.lookup, found.middle, found.lost):
        assert event is not None and event.below is not None
        assert event.above <= RESOLUTION * event.below
    assert not found.notes


def test_spare_latents_do_not_count() -> None:
    two, five = (planned_by_overlap(VALUES, latent, WHERE) for latent in (2, 5))
    assert read_overlap(two, None).beta == read_overlap(five, None).beta


def test_the_default_is_the_geometric_middle_and_the_word_not_calibrated_is_said() -> None:
    curve = planned_by_overlap(VALUES, 2, WHERE)
    found = result(curve)
    shared = found.to_dict()["overlap"]
    assert shared["target"] == pytest.approx(ROWS**0.5)
    assert shared["verdict"] == "not calibrated" and shared["share_from"] == "geometric mean"
    assert "Not calibrated" in found.summary() and "convention" in found.summary()
    assert "44.72 of 2,000 data points share a code (not calibrated)" in found.summary()
    numbers = [point["effective_number"] for point in found.to_dict()["curve"]]
    assert numbers == sorted(numbers) and numbers[0] == 1.0 and numbers[-1] >= ROWS / 2
    given = result(planned_by_overlap(VALUES, 2, WHERE, share=0.1), 0.1)
    assert given.to_dict()["overlap"]["share_from"] == "given"
    assert "200 of 2,000 was given" in given.summary() and "Not calibrated" in given.summary()


def test_a_range_that_begins_too_high_lowers_itself_and_a_given_one_is_kept() -> None:
    high = Range(0.1, 30.0, floor=1e-6)
    found = read_overlap(planned_by_overlap(VALUES, 2, high), None)
    assert found.beta == pytest.approx(strength(ROWS**-0.5), rel=0.03)
    some = read_overlap(planned_by_overlap(VALUES, 2, Range(0.003, 30.0, floor=0.003)), None)
    assert some.lookup is not None and some.lookup.below is None and some.beta is not None
    assert "a lookup table ends below, or the runs are too short" in some.notes[0]
    for low, top, said in ((0.1, 0.3, "go lower"), (1e-5, 1e-4, "go higher")):
        curve = planned_by_overlap(VALUES, 2, Range(low, top, floor=low))
        assert all(low <= point.beta <= top for point in curve)
        kept = read_overlap(curve, None)
        assert kept.beta is None and any(said in note for note in kept.notes)
        assert "No beta is recommended" in result(curve).summary()


@pytest.mark.parametrize(("times", "word"), [(1.0, "Checked"), (0.6, "Checked"), (2.5, "Doubt")])
def test_a_check_more_than_a_bit_away_is_a_doubt(times: float, word: str) -> None:
    curve = planned_by_overlap(VALUES, 2, WHERE)
    found = result(curve, effective_number=times * ROWS**0.5)
    assert any(note.startswith(word) for note in found.notes)


@pytest.mark.parametrize("drift", [None, 0.2])
def test_points_whose_overlap_still_moved_are_named(drift: float | None) -> None:
    curve = planned_by_overlap(VALUES, 2, WHERE)
    early = [replace(curve[0], drift=drift), *curve[1:]]
    (note,) = read_overlap(early, None).notes
    assert f"At beta {curve[0].beta:g} overlap" in note and "--steps" in note


def test_drift_is_the_change_of_the_logarithm_of_the_effective_number() -> None:
    before, after = (linear_point(beta, VALUES, 2).mean_variance for beta in (0.02, 0.03))
    wanted = np.log(1.5)  # n times the product of two deviations, each by sqrt(1.5)
    assert drift_of(before, after) == drift_of(after, before) == pytest.approx(wanted)
    # Spare latents stay at 1 and add nothing.
    assert drift_of((*before, 1.0), (*after, 1.0)) == pytest.approx(wanted)


def test_points_of_older_versions_are_refused_with_a_remedy() -> None:
    old = [linear_point(1e-3, VALUES, 2, effective_number=None, rows=None)]
    with pytest.raises(UsageError, match="older vaescope"):
        next_overlap_run(old, WHERE, share=None)


def test_folders_of_older_versions_are_read(tmp_path: Path) -> None:
    point = linear_point(0.1, VALUES, 2, effective_number=None, rows=None, drift=None)
    row = {k: v for k, v in point.to_dict().items() if k not in LATER}
    (tmp_path / "curve.jsonl").write_text(seal_row(b"", strict_json(row)))
    assert Folder(tmp_path).points("curve") == [point]


def test_the_page_shows_the_ends_and_says_that_they_are_conventions() -> None:
    text = render(tuning_page(result(planned_by_overlap(VALUES, 2, WHERE))))
    assert "by overlap, not calibrated" in text and "end of the lookup table" in text
    assert "Data points that share a code" in text and "Not calibrated" in text


def tuned(out: Path, **options: Any) -> Tuning:
    asked: dict[str, Any] = {
        "by": "overlap", "needed": None, "between": None, "round_steps": 40, "short_lr": None,
        "folder": out, "device": "cpu", "watch": lambda _: None,
    }  # fmt: skip
    spec = from_command_line("beta-vae", SETTINGS)
    return tune_experiment(spec, "beta-vae", None, **(asked | options))


@pytest.mark.slow
def test_a_trained_linear_vae_has_the_overlap_of_the_closed_form(tmp_path: Path) -> None:
    """Also of the numbers themselves, where many share a code: below, one is the least."""
    found = tuned(tmp_path, between=(0.003, 1.0))
    assert found.beta == pytest.approx(strength(1000**-0.5), rel=0.2)
    assert found.overlap is not None and found.overlap.lost is not None
    assert found.overlap.n == 1000
    assert found.overlap.lost.beta == pytest.approx(strength(0.5), rel=0.2)
    many = [point for point in found.curve if 10 < (point.effective_number or 0) < 900]
    assert len(many) > 3
    for point in many:
        wanted = 1000.0 * np.sqrt(np.prod(np.minimum(point.mean_variance, 1.0)))
        assert point.effective_number == pytest.approx(wanted, rel=0.15)


def test_the_closed_form_is_that_of_densities() -> None:
    """Codes of data N(0, 1 - v) with posterior variance v in each of two latents, by the density
    of each code under each data point. What a code tells is (z^2 - noise^2 - log v) / 2 in each
    latent, with variance 1 - v over the codes."""
    rng, v, n = np.random.default_rng(0), np.array([0.05, 0.2]), 800
    mean = np.sqrt(1.0 - v) * rng.normal(size=(n, 2))
    z = mean + np.sqrt(v) * rng.normal(size=mean.shape)
    gaps = np.square(z[:, None] - mean) / v
    log_density = -0.5 * (gaps + np.log(2.0 * np.pi * v)).sum(axis=2)
    found = overlap_of_densities(log_density, np.arange(n)).effective_number
    error = np.sqrt((1.0 - v).sum() / n)
    assert np.log(found) == pytest.approx(np.log(n * np.sqrt(v.prod())), abs=4 * error)


@pytest.mark.slow
def test_the_command_gives_the_ends_and_resumes_with_the_points_of_another_rule(
    tmp_path: Path,
) -> None:
    command = ["tune-beta", "beta-vae", *SETTINGS, "--steps", "4", "--between", "0.05,0.6"]
    command += ["--out", str(tmp_path), "--json", "--quiet"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["overlap"] is None
    done = CliRunner().invoke(app, [*command, "--by", "overlap", "--overlap-share", "0.2"])
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert content["by"] == "overlap" and content["overlap"]["target"] == pytest.approx(200.0)
    assert content["folder"] == json.loads(first.stdout)["folder"]
    assert {"lookup_table_until", "lost_from", "verdict", "says"} <= content["overlap"].keys()
    assert all(point["effective_number"] >= 1.0 for point in content["curve"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"overlap_share": 1.0}, "overlap-share is 1"),
        ({"overlap_share": 0.0005}, "fewer than all of 1,000 data points"),
        ({"by": "onset", "overlap_share": 0.1}, "takes no --overlap-share"),
    ],
)
def test_shares_that_make_no_sense_are_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        tuned(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
