"""Pages of `vaescope serve` in Chromium: a real server, real runs, and a training beside it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serving.conftest import Server, server
from tests.waiting import LIMIT, until

__all__ = ["server"]  # a fixture

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def look(browser: Any, server: Server) -> Iterator[Callable[..., Any]]:
    """Opens an address of the server; whatever the console says fails the test."""
    contexts, complaints = [], []

    def foreign(url: str) -> None:
        if not url.startswith((server.url, "data:", "blob:")):
            complaints.append(url)

    def open_page(address: str, *, dark: bool = False) -> Any:
        context = browser.new_context(
            viewport={"width": 1280, "height": 900}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(1000 * LIMIT)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: foreign(request.url))
        page.goto(server.url + address)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def settings_shown(page: Any) -> int:
    return int(page.locator("tr.setting").count())


def test_filter_fold_sort_and_restore_from_the_address(look: Any) -> None:
    page = look("/")
    assert settings_shown(page) == 4
    page.fill("#q", "beta>=4")
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-shown='1']")
    assert settings_shown(page) == 2 and "q=beta%3E%3D4" in page.url
    toggle = page.locator("tr.setting a.toggle").first
    assert toggle.get_attribute("aria-expanded") == "false"
    toggle.click()
    page.wait_for_selector("tr.seed >> nth=2")
    assert page.locator("tr.seed").count() == 3
    page.click("th a:has-text('objective.beta')")
    page.wait_for_selector("th[aria-sort=ascending]")
    address = page.url.partition("/?")[2]
    again = look(f"/?{address}")
    assert again.locator("tr.seed").count() == 3
    assert again.input_value("#q") == "beta>=4"
    assert again.locator("th[aria-sort=ascending]").count() == 1
    page.locator("a.toggle[aria-expanded=true]").click()
    page.wait_for_selector("tr.seed", state="detached")
    page.fill("#q", "nope>1")
    page.keyboard.press("Enter")
    assert "No column is called nope" in page.inner_text("#problem")


def test_a_point_selects_its_run_and_the_basket_compares(look: Any, server: Server) -> None:
    page = look("/?q=demo&seeds=1&x=rate&y=distortion&front=min,min")
    dots = page.locator(".plot a")
    assert dots.count() == 2
    for number in (1, 2):
        page.locator(".plot .dot:not(.chosen)").first.click()
        page.wait_for_selector(f"html[data-shown='{number}']")
    assert page.locator(".basket .chip").count() == 2
    page.click("text=Compare 2 runs")
    page.wait_for_selector("html[data-made]")
    text = page.frame_locator("iframe").locator("body").inner_text()
    assert all(name in text for name in server.trained)


def test_keyboard_alone_opens_seeds(look: Any) -> None:
    page = look("/?q=beta%3D4")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('a.toggle')"):
            break
    page.keyboard.press("Space")
    page.wait_for_selector("tr.seed")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(look: Any, server: Server, dark: bool) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe")
    run = server.trained[0]
    for address in ("/?x=rate&y=distortion&sel=" + run, "/run?path=beta-vae-s3-failed",
                    f"/bench?path={run}", "/folders"):  # fmt: skip
        page = look(address, dark=dark)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        found = axe.Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], address


def test_the_report_is_made_on_demand(look: Any, server: Server) -> None:
    page = look(f"/run?path={server.trained[0]}")
    page.wait_for_selector("html[data-made]")
    # The frame's own document arrives after the page has asked for it.
    page.frame_locator("iframe").locator("#verdicts").wait_for(state="attached")


def test_strips_are_drawn_for_rows_that_are_seen(look: Any) -> None:
    page = look("/?q=demo")
    height = "document.querySelector('.strip img').naturalHeight"
    until(lambda: page.evaluate(height) > 0)
    assert page.evaluate(height) == 96  # three latents of 32 pixels


def test_the_bench_decodes_and_takes_an_image(look: Any, server: Server, tmp_path: Path) -> None:
    from PIL import Image

    page = look(f"/bench?path={server.trained[0]}")
    page.wait_for_selector("html[data-decoded='1']")
    before = page.get_attribute("#decoded", "src")
    dial = page.locator("input[type=range]").first
    dial.focus()
    page.keyboard.press("End")
    until(lambda: page.get_attribute("#decoded", "src") != before)
    for name, colour in (("one.png", "white"), ("two.png", "black")):
        Image.new("RGB", (48, 40), colour).save(tmp_path / name)
    page.set_input_files("#file", [tmp_path / "one.png", tmp_path / "two.png"])
    page.wait_for_selector("html[data-encoded='2']")
    assert page.locator("#dropped .bars").count() == 2
    assert page.locator("#dropped img").count() == 12
    assert page.locator("#between").is_visible()
    (tmp_path / "no.png").write_bytes(b"not an image")
    page.set_input_files("#file", [tmp_path / "no.png"])
    page.wait_for_selector("html[data-refused]")
    assert "not an image" in page.inner_text("#bench-status")


def test_a_training_is_seen_live_and_its_death_too(look: Any, server: Server) -> None:
    grid = json.dumps({"shape": [1], "orientation": [0], "scale": [0], "x": [0, 8], "y": [16]})
    command = [sys.executable, "-m", "vaescope", "train", "demo", "steps=100000",
               "logging.every=1", f"data.grid={grid}", "seed=7", "--out", str(server.folder),
               "--quiet"]  # fmt: skip
    training = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        page = look("/?q=seed%3D7")
        page.wait_for_selector("tr.setting .state.running")
        name = page.locator("tr.setting th a").first.inner_text()
        live = look(f"/run?path={name}")
        live.wait_for_selector("html[data-records] .charts svg")
        count = int(live.get_attribute("html", "data-records"))
        until(lambda: int(live.get_attribute("html", "data-records")) > count)
        assert "of 100,000" in live.inner_text("#progress")
    finally:
        training.kill()
        training.wait()
    live.wait_for_selector("#state.stopped")
    assert "vaescope train demo" in live.inner_text("pre")
    page.wait_for_selector("tr.setting .state.unfinished")
    (server.folder / name).rename(server.folder / "renamed")
    live.wait_for_selector("text=It is now renamed.")
    shutil.rmtree(server.folder / "renamed")
    page.wait_for_selector("tr.setting", state="detached")
