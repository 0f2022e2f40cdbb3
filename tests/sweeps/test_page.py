"""The page of a sweep: offline, escaped, small and quick with ten thousand runs."""

import base64
import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.comparing.hand_made import of_images, write_run

from vaescope.report import Pictures
from vaescope.report.collapse_spectrum import collapse_spectrum, spectrum_section
from vaescope.report.sweep_page import ROOM, save_sweep, sweep_page
from vaescope.report.sweep_parts import pareto
from vaescope.report.sweep_pictures import strips_section
from vaescope.tables import Table, read_table

READY = "html[data-explored][data-drawn]"
EVIL = "</script><img src=x onerror=alert(1)>"


def runs(*, betas: int = 6, seeds: int = 4, measures: int = 3, name: str = "beta-vae") -> Table:
    """A sweep of one objective: rate and distortion, and scores that are noise."""
    rng = np.random.default_rng(0)
    places = [(b, s) for b in range(betas) for s in range(seeds)]
    beta = np.array([0.1 * 1.5 ** min(b, 8) + b / 100 for b, _ in places])
    settings = {
        "run": [f"{name}-s{s}-{i:08x}" for i, (_, s) in enumerate(places)],
        "seed": [s for _, s in places],
        "done": [True] * len(places),
        "objective.name": [name] * len(places),
        "objective.beta": beta.tolist(),
        "steps": [100] * len(places),
    }
    noise = rng.normal(0.0, 0.1, size=(measures, len(places)))
    results = {
        "distortion": (20 + np.log1p(beta) + noise[0]).tolist(),
        "rate": (9 / (1 + beta) + noise[1]).tolist(),
        **{f"score.{i}": noise[i].tolist() for i in range(2, measures)},
    }
    return Table(settings, results)


def content(html: str) -> Any:
    found = re.search(r'<script type="application/json" class="runs">(.*?)</script>', html, re.S)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.slow
def test_the_file_holds_every_run_by_columns(tmp_path: Path) -> None:
    table = runs()
    held = content(sweep_page(table, tmp_path / "sweep.html", folder=tmp_path))
    assert held["names"] == table.settings["run"]
    assert (held["x"], held["y"], held["colour"]) == ("rate", "distortion", "objective.beta")
    for name in ("objective.beta", "rate", "score.2", "seed"):
        values = np.frombuffer(base64.b64decode(held["columns"][name]["data"]), "<f4")
        np.testing.assert_allclose(values, table.numbers(name), rtol=1e-6)
    assert "steps" not in held["columns"]  # it is the same in all


def test_words_and_gaps_are_kept(tmp_path: Path) -> None:
    table = runs(betas=2, seeds=2)
    mixed = {**table.settings, "objective.name": ["vae", "ae", "vae", "ae"]}
    gaps = {**table.results, "mig": [0.1, None, 0.3, 0.4]}
    held = content(sweep_page(Table(mixed, gaps), tmp_path / "p.html", folder=tmp_path))
    names = held["columns"]["objective.name"]
    index = np.frombuffer(base64.b64decode(names["data"]), "<u2")
    assert [names["words"][i] for i in index] == ["vae", "ae", "vae", "ae"]
    mig = np.frombuffer(base64.b64decode(held["columns"]["mig"]["data"]), "<f4")
    assert np.isnan(mig[1]) and np.isfinite(mig[[0, 2, 3]]).all()


def test_reports_that_are_there_are_linked_from_where_the_page_lies(tmp_path: Path) -> None:
    table = runs(betas=2, seeds=2)
    folder = tmp_path / "my runs"
    for run in table.settings["run"][:2]:
        (folder / str(run)).mkdir(parents=True)
        (folder / str(run) / "report.html").write_text("")
    held = content(sweep_page(table, tmp_path / "pages" / "p.html", folder=folder))
    assert held["prefix"] == "../my%20runs/"
    assert list(base64.b64decode(held["reports"])) == [1, 1, 0, 0]


def test_scripts_are_those_that_the_policy_names(tmp_path: Path) -> None:
    html = sweep_page(runs(), tmp_path / "p.html", folder=tmp_path)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    scripts = re.findall(r"<script>(.*?)</script>", html, re.S)
    assert len(scripts) == 6
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert digest.replace("+", "&#43;") in policy[1] or digest in policy[1]
    assert "http-equiv" in html and "default-src &#39;none&#39;" in policy[1]


def test_names_that_look_like_code_stay_text(tmp_path: Path) -> None:
    html = sweep_page(runs(name=EVIL), tmp_path / "p.html", folder=tmp_path)
    assert EVIL not in html
    assert content(html)["names"][0].startswith(EVIL)


@pytest.mark.slow
def test_ten_thousand_runs_with_a_hundred_measures_stay_below_five_megabytes(
    tmp_path: Path,
) -> None:
    table = runs(betas=200, seeds=50, measures=100)
    save_sweep(table, tmp_path / "p.html", folder=tmp_path)
    assert (tmp_path / "p.html").stat().st_size < 5_000_000
    html = (tmp_path / "p.html").read_text()
    left = 100 - len(content(html)["measures"])
    assert left > 0 and ROOM < 5_000_000 and "score.99" in html  # what was left out is named


def test_a_sweep_without_numbers_has_a_page_that_says_so(tmp_path: Path) -> None:
    table = runs(betas=1, seeds=2)
    bare = Table({**table.settings, "done": [False, True]}, {"error": ["Died: no", None]})
    html = sweep_page(bare, tmp_path / "p.html", folder=tmp_path)
    assert "there is nothing to draw yet" in html and "1 not done, 1 failed" in html


def test_seeds_that_explain_most_are_pointed_out(tmp_path: Path) -> None:
    html = sweep_page(runs(), tmp_path / "p.html", folder=tmp_path)
    assert re.search(r"Seeds explain \d+% of the variance of score\.2", html)


def lines(page: Any) -> int:
    return int(page.locator(".explorer tbody tr").count())


@pytest.mark.slow
@pytest.mark.browser
def test_columns_are_chosen_and_runs_are_brushed(visit: Any, tmp_path: Path) -> None:
    table = runs()
    folder = tmp_path / "runs"
    (folder / str(table.settings["run"][0])).mkdir(parents=True)
    (folder / str(table.settings["run"][0]) / "report.html").write_text("")
    save_sweep(table, folder / "sweep.html", folder=folder)
    seen = visit(folder / "sweep.html", ready=READY)
    page = seen.page
    assert lines(page) == 24 and "24 of 24 runs drawn" in page.locator(".status").first.inner_text()
    assert page.locator("figure.chart svg").count() == 3
    link = page.locator(".explorer tbody a")
    assert link.get_attribute("href") == f"{table.settings['run'][0]}/report.html"
    page.locator("select[data-axis='x']").select_option("objective.beta")
    page.wait_for_selector("html[data-explored='objective.beta distortion']")
    page.locator(".explorer .choices").evaluate("e => e.scrollIntoView({behavior: 'instant'})")
    box = page.locator(".explorer canvas").bounding_box()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
    page.mouse.up()
    page.locator(".status", has_text="chosen").wait_for()
    assert 0 < lines(page) < 24
    page.locator("#theme").click()
    page.locator(".status", has_text="drawn").wait_for()
    assert seen.complaints == [] and len(seen.requests) == 1


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(visit: Any, tmp_path: Path, width: int) -> None:
    save_sweep(runs(), tmp_path / "p.html", folder=tmp_path)
    page = visit(tmp_path / "p.html", width=width, dark=True, ready=READY).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
@pytest.mark.slow
def test_ten_thousand_runs_are_drawn_from_less_than_five_megabytes(
    visit: Any, tmp_path: Path
) -> None:
    save_sweep(runs(betas=200, seeds=50, measures=8), tmp_path / "p.html", folder=tmp_path)
    assert (tmp_path / "p.html").stat().st_size < 5_000_000
    visit(tmp_path / "p.html", ready=READY)  # how fast is benchmarks/tables.py's to say


def counted(table: Table, used: list[int]) -> Table:
    """The sweep with so many latents of ten in use in each run."""
    counts = {"active": used, "mixed": [0] * len(used), "passive": [10 - n for n in used]}
    return Table(table.settings, {**table.results, **counts})


@pytest.mark.parametrize(
    ("used", "says"),
    [
        ([9, 9, 3, 3, 0, 0], "All latents are passive from beta 0.245 on."),
        ([9, 0, 3, 3, 0, 0], "passive from beta 0.245 on, and in 3 of 6 runs in all."),
        ([0, 0, 3, 3, 9, 9], "All latents are passive in 2 of 6 runs."),
        ([0] * 6, "All latents are passive in every run."),
        ([9, 9, 3, 3, 1, 1], "Latents in use fall from 9 at beta 0.1 to 1 at 0.245"),
    ],
)
def test_what_the_settings_did_is_said(tmp_path: Path, used: list[int], says: str) -> None:
    table = counted(runs(betas=3, seeds=2), used)
    html = sweep_page(table, tmp_path / "p.html", folder=tmp_path)
    assert says in html
    assert ("All latents are passive" in html) == (0 in used)


def test_the_front_is_where_no_other_setting_is_better() -> None:
    table = runs(betas=4, seeds=1)
    chosen = {"rate": [1.0, 2.0, 3.0, 3.0], "distortion": [9.0, 5.0, 6.0, 5.0]}
    found = pareto(Table(table.settings, chosen))
    assert found is not None and found.front == (True, True, False, False)
    assert pareto(Table(table.settings, {"rate": [1.0] * 4})) is None


@pytest.mark.slow
def test_each_setting_has_a_strip_of_what_it_draws(tmp_path: Path) -> None:
    for seed in (0, 1):
        write_run(tmp_path, f"s{seed}", *of_images(seed))
    section = strips_section(read_table(tmp_path), tmp_path)
    assert section is not None
    (part,) = section.parts
    assert isinstance(part, Pictures) and len(part.pictures) == 1  # one setting, two seeds
    width, height = Image.open(io.BytesIO(part.pictures[0].png)).size
    assert width > 9 * height


@pytest.mark.slow
@pytest.mark.browser
def test_tables_are_sorted_downloaded_and_axes_have_units(visit: Any, tmp_path: Path) -> None:
    table = runs(measures=2)
    save_sweep(table, tmp_path / "sweep.html", folder=tmp_path)
    seen = visit(tmp_path / "sweep.html", ready=READY)
    page = seen.page
    page.get_by_role("button", name="rate (nats)").click()
    page.get_by_role("button", name="rate (nats)").click()
    assert page.locator("th[aria-sort='descending']").inner_text().startswith("rate (nats)")
    place = page.locator(".explorer thead th").all_inner_texts()
    column = next(k for k, text in enumerate(place) if text.startswith("rate"))
    rows = page.locator(f".explorer tbody tr td:nth-child({column + 1})").all_inner_texts()
    rates = [float(text) for text in rows]
    assert rates == sorted(rates, reverse=True) and len(rates) == 24
    with page.expect_download() as download:
        page.locator(".explorer .save").click()
    download.value.save_as(tmp_path / "runs.csv")
    held = list(csv.DictReader((tmp_path / "runs.csv").open()))
    assert {row["run"] for row in held} == set(table.settings["run"])
    page.locator("#means summary").first.click()
    page.locator("#means th button", has_text="distortion").click()
    shown = page.locator("#means tbody tr td:nth-child(3)").all_inner_texts()
    assert [float(t) for t in shown] == sorted(float(t) for t in shown) and len(shown) == 6
    box = page.locator(".explorer canvas").bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 1)
    assert seen.complaints == []


def test_the_collapse_spectrum_says_where_each_latent_dies() -> None:
    """Two seeds over beta 1, 4, 16: three latents, of which one dies early, one late, one never."""
    rows = [
        (beta, seed, used)
        for seed, counts in ((0, (3, 2, 1)), (1, (3, 1, 1)))
        for beta, used in zip((1.0, 4.0, 16.0), counts, strict=True)
    ]
    betas, seeds, used = (list(column) for column in zip(*rows, strict=True))
    table = Table(
        {"run": [f"r{i}" for i in range(6)], "done": [True] * 6, "seed": seeds,
         "objective.beta": betas},
        {"active": used, "mixed": [0] * 6, "passive": [3 - n for n in used]},
    )  # fmt: skip
    found = {own.rank: (own.last, own.first, own.seeds) for own in collapse_spectrum(table)}
    assert found == {1: (16.0, None, 2), 2: (1.0, 16.0, 2), 3: (1.0, 4.0, 2)}
    section = spectrum_section(table)
    assert section is not None
    words = [row[4] for row in section.parts[0].table.rows]
    assert words == ["above beta 16", "between beta 1 and 16", "between beta 1 and 4"]
    assert spectrum_section(Table(table.settings, {"rate": [1.0] * 6})) is None
