"""The page of a comparison: what was found, and nothing that anybody's file names could break."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.comparing.hand_made import LOG_VARIANCES, of_images, write_run

import vaescope as vs
from vaescope.codes import Codes
from vaescope.comparing import Comparison
from vaescope.comparing.compare import latent_names
from vaescope.comparing.intervals import SideGap
from vaescope.comparing.matching import Found, match_latents
from vaescope.latents import types
from vaescope.report import render
from vaescope.report.comparison import comparison_page
from vaescope.report.matched_latents import alike
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


def test_matched_latents_are_called_the_same_only_within_what_is_known(make: Make) -> None:
    same = vs.compare(*(make(f"s{k}", f"seed={k}", "objective.beta=1") for k in range(2)))
    # Weights of hand-made runs differ with the seed: their axes are not the same.
    screen = comparison_page(same).learnt
    assert screen is not None and screen.title == "What they share"
    apart = "not the same latent: less than half of the variance is shared"
    assert screen.rows and all(row.note.endswith(apart) for row in screen.rows)
    gap = SideGap(1.0, 1.0, (-0.1, 0.1), 9)
    latent = same.latents[0]
    match = (Found(0, 1.0, "first"), Found(1, 0.99, "correlation"))
    close = replace(latent, match=match, alone=(False,), measured={
        name: replace(own, gaps=(gap,)) for name, own in latent.measured.items()
    })  # fmt: skip
    for basis, says in (
        ("images", "the same latent on these images; how far seeds differ is not known"),
        ("seeds", "the same latent: runs differ no more than seeds do"),
    ):
        side = replace(same.sides[0], basis=basis)
        assert alike(replace(same, sides=(side,)), close) == says
    other = SideGap(1.0, 1.15, (0.1, 0.2), 9)
    differs = replace(close, measured={"kl": replace(latent.measured["kl"], gaps=(other,))})
    assert alike(same, differs) == "the same latent, used to a different degree"


def test_names_of_factors_are_carried_over_to_matched_latents() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 12, size=(1000, 2))
    first = np.column_stack([factors - 5.5, np.zeros(1000)]) / 3.0
    variance = np.tile([0.01, 0.01, 1.0], (1000, 1))
    noise = 0.2 * rng.standard_normal(first.shape)
    both = [
        Codes(mean, variance, mean, factors=factors, factor_names=("x", "size"))
        for mean in (first, -first[:, [1, 0, 2]] + noise * [1, 1, 0])
    ]
    both[1] = replace(both[1], variance=variance)
    kinds = [types(own) for own in both]
    matches = match_latents(both, kinds)
    names = latent_names(both, kinds, matches)
    pairs = zip(matches, names, strict=True)
    by_first = {match[0].latent: name for match, name in pairs if match[0]}
    assert by_first == {0: "x", 1: "size", 2: None}
    bare = [replace(own, factors=None, factor_names=()) for own in both]
    assert set(latent_names(bare, kinds, matches)) == {None}


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_images_are_shown_and_can_be_left_out(pictured: Comparison) -> None:
    html = render(comparison_page(pictured))
    assert 'id="reconstructions"' in html and "data:image/png" in html
    for bare in (
        render(comparison_page(pictured, images=False)),
        render(comparison_page(replace(pictured, shown=None))),
    ):
        assert "data:image/png" not in bare and "It shows no examples of the data." in bare
