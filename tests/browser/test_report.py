"""The demo's report in Chromium: opened from disk, looked at by machine."""

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vaescope.inspection import Inspection
from vaescope.report import save

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVIL = "<img src=x onerror=alert(1)>"


def paper(page: Any) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_it_opens_from_disk_and_asks_for_nothing(visit: Any, report: Path) -> None:
    seen = visit(report)
    assert [url for url in seen.requests if not url.startswith("data:")] == [report.as_uri()]
    assert seen.complaints == []


def test_every_figure_is_drawn(visit: Any, report: Path) -> None:
    page = visit(report).page
    figures = page.locator("figure.chart").count()
    assert figures == page.locator("figure.chart svg").count() == 6
    bars = page.locator("figure.chart >> nth=0").locator("path[aria-roledescription='bar']")
    assert bars.count() == 10


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_axe_finds_nothing(visit: Any, report: Path, width: int, dark: bool) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    page = visit(report, width=width, dark=dark).page
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found] == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_window(visit: Any, report: Path, width: int) -> None:
    page = visit(report, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = page.evaluate(
        "[...document.querySelectorAll('.drawing')].map(d => [d.scrollWidth, d.clientWidth])"
    )
    assert all(inside <= room for inside, room in drawn)


def test_figures_fit_a_window_that_changes(visit: Any, report: Path) -> None:
    page = visit(report, width=1280).page
    wide = page.locator("figure.chart svg >> nth=0").bounding_box()["height"]
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_selector("html[data-drawn='354']")
    narrow = page.locator("figure.chart svg >> nth=0").bounding_box()
    assert narrow["width"] <= 390 and narrow["height"] > wide


@pytest.mark.parametrize("dark", [False, True])
def test_the_button_switches_colours_both_ways(visit: Any, report: Path, dark: bool) -> None:
    page = visit(report, dark=dark).page
    button, first = page.locator("#theme"), paper(page)
    assert button.text_content() == ("Light" if dark else "Dark")
    button.click()
    assert paper(page) != first
    page.reload()
    assert paper(page) != first  # it is remembered
    page.locator("#theme").click()
    assert paper(page) == first


def test_the_button_works_where_nothing_can_be_stored(visit: Any, report: Path) -> None:
    seen = visit(report)
    seen.page.evaluate(
        "() => Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })"
    )
    first = paper(seen.page)
    seen.page.locator("#theme").click()
    assert paper(seen.page) != first and seen.complaints == []


def test_the_keyboard_reaches_everything(visit: Any, report: Path) -> None:
    page = visit(report).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.locator("#verdicts:focus").wait_for()
    settings = page.locator("#settings details")
    assert settings.get_attribute("open") is None
    page.locator("#settings summary").focus()
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    page.keyboard.press("Enter")
    page.locator("#settings details[open]").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate(outline) != "none"
    assert page.evaluate("document.activeElement.tagName") == "PRE"


def test_a_link_opens_the_section_that_it_names(visit: Any, report: Path) -> None:
    page = visit(report).page
    page.locator("nav a[href='#settings']").click()
    page.locator("#settings details[open]").wait_for()


def test_the_numbers_of_a_figure_can_be_shown_and_downloaded(
    visit: Any, report: Path, inspection: Inspection, tmp_path: Path
) -> None:
    page = visit(report).page
    figure = page.locator("#training figure.chart >> nth=0")
    figure.locator("details > summary").click()
    assert figure.locator("tbody tr >> nth=0").is_visible()
    with page.expect_download() as download:
        figure.locator("a[download]").click()
    assert download.value.suggested_filename == "training.csv"
    download.value.save_as(tmp_path / "training.csv")
    rows = list(csv.DictReader((tmp_path / "training.csv").open()))
    assert inspection.training is not None
    assert [int(row["step"]) for row in rows] == inspection.training.step.tolist()
    assert float(rows[-1]["rate"]) == pytest.approx(float(inspection.training.rate[-1]), rel=1e-6)


def test_names_that_look_like_code_stay_text(
    visit: Any, inspection: Inspection, tmp_path: Path
) -> None:
    assert inspection.factors is not None
    subject = replace(inspection.subject, name=EVIL, says=EVIL)
    factors = replace(inspection.factors, names=(EVIL, "</script>", "'; alert(1); '"))
    save(replace(inspection, subject=subject, factors=factors), tmp_path / "evil.html")
    seen = visit(tmp_path / "evil.html")
    assert seen.page.locator("h1").text_content() == EVIL
    assert seen.page.locator("img[src=x]").count() == 0
    assert seen.complaints == []


def test_it_prints_in_light_colours_with_every_section_open(visit: Any, report: Path) -> None:
    page = visit(report, dark=True).page
    page.emulate_media(media="print")
    assert paper(page) == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#settings pre >> nth=0").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#settings pre >> nth=0").is_hidden()


def test_without_scripts_the_words_tables_and_downloads_are_there(visit: Any, report: Path) -> None:
    page = visit(report, java_script_enabled=False).page
    assert page.locator(".verdicts li").count() >= 2
    assert page.locator("#theme").is_hidden()
    assert re.match(
        "data:text/csv", page.locator("#latents a[download] >> nth=0").get_attribute("href")
    )
    assert page.locator("#training noscript >> nth=0").is_visible()


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (400, False)])
def test_the_first_screen_shows_what_was_learnt(
    visit: Any, report: Path, width: int, dark: bool
) -> None:
    page = visit(report, width=width, dark=dark).page
    box = page.locator("#learnt").bounding_box()
    strips = page.locator("#learnt .strips img")
    if strips.count():  # none where no latent is used
        assert strips.first.bounding_box()["y"] < 900
    if width == 1400:
        assert box["y"] + box["height"] <= 900
