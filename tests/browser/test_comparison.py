"""The page of a comparison in Chromium: opened from disk, looked at by machine."""

from pathlib import Path
from typing import Any

import pytest
from tests.comparing.hand_made import of_images, write_run

import vaescope as vs

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    runs = [write_run(folder, f"s{seed}", *of_images(seed)) for seed in (0, 1)]
    vs.compare(*runs).save(folder / "comparison.html")
    return folder / "comparison.html"


def test_it_opens_from_disk_and_asks_for_nothing(visit: Any, comparison: Path) -> None:
    seen = visit(comparison)
    assert [url for url in seen.requests if not url.startswith("data:")] == [comparison.as_uri()]
    assert seen.complaints == []
    assert seen.page.locator("figure.chart svg").count() == 1


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_axe_finds_nothing_and_nothing_is_too_wide(
    visit: Any, comparison: Path, width: int, dark: bool
) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    page = visit(comparison, width=width, dark=dark).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found] == []
