"""The page of a comparison: what was found, and nothing that anybody's file names could break."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.comparing.hand_made import LOG_VARIANCES, of_images, write_run

import vaescope as vs
from vaescope.comparing import Comparison
from vaescope.report import render
from vaescope.report.comparison import comparison_page
from vaescope.runs import Run

Make = Callable[..., Run]
EVIL = "<img src=x onerror=alert(1)>"


def section(comparison: Comparison, name: str) -> str:
    html = render(comparison_page(comparison))
    found = re.search(rf'<section id="{name}".*?</section>', html, re.DOTALL)
    assert found is not None
    return found[0]


def test_verdicts_come_first_and_every_section_is_there(make: Make) -> None:
    page = comparison_page(vs.compare(make("one"), make("two", "seed=1")))
    sections = ["runs", "latents", "metrics", "exchange", "settings"]
    assert [own.id for own in page.sections] == sections
    assert [own.section for own in page.statements] == ["latents", "metrics", "latents", "settings"]
    assert render(page).index('id="verdicts"') < render(page).index('id="runs"')


def test_tables_hold_the_numbers_of_the_comparison(make: Make) -> None:
    noisier = [*LOG_VARIANCES[:3], -1.0]
    comparison = vs.compare(make("one"), make("two", "objective.beta=9", log_variances=noisier))
    latents = section(comparison, "latents")
    gap = comparison.latents[3].measured["kl"].gaps[0]
    assert gap.difference is not None
    assert f"{gap.first:.3f}" in latents and f"{gap.second:.3f}" in latents
    assert f"{abs(gap.difference):.3f}" in latents
    settings = section(comparison, "settings")
    assert "objective.beta" in settings and "9.0" in settings


def test_a_run_beside_itself_has_a_page(make: Make) -> None:
    run = make("one")
    assert "Nothing differs" in render(comparison_page(vs.compare(run, run)))


def test_seven_runs_have_a_page(make: Make) -> None:
    runs = [make(f"s{seed}", f"seed={seed}") for seed in range(7)]
    comparison = vs.compare(*runs)
    html = render(comparison_page(comparison))
    assert "7 seeds" in html and "G against the others" in html


def test_no_folder_of_this_machine_is_on_the_page(make: Make, tmp_path: Path) -> None:
    assert str(tmp_path) not in render(comparison_page(vs.compare(make("a"), make("b", "seed=1"))))


def test_names_are_text(make: Make, tmp_path: Path) -> None:
    evil = make("evil").path.rename(tmp_path / EVIL.replace("/", ""))
    html = render(comparison_page(vs.compare(evil, make("b", "seed=1"))))
    assert "<img src=x" not in html and "&lt;img src=x" in html


@pytest.fixture
def pictured(tmp_path: Path) -> Comparison:
    runs = [write_run(tmp_path, f"s{seed}", *of_images(seed)) for seed in (0, 1)]
    return vs.compare(*runs)


def test_images_are_shown_and_can_be_left_out(pictured: Comparison) -> None:
    html = render(comparison_page(pictured))
    assert 'id="reconstructions"' in html and "data:image/png" in html
    for bare in (
        render(comparison_page(pictured, images=False)),
        render(comparison_page(replace(pictured, shown=None))),
    ):
        assert "data:image/png" not in bare and "It shows no examples of the data." in bare
