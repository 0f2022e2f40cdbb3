"""axe-core finds nothing on any kind of page, in light and dark, with every part open."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report.test_tune_page import page as tuned
from tests.sweeps.test_page import runs

from vaescope.report.study_page import save_study
from vaescope.report.sweep_page import save_sweep
from vaescope.studies.catalogue import find
from vaescope.studies.running import run_study
from vaescope.tuning.plan import Range

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def _sweep(folder: Path) -> Path:
    save_sweep(runs(), folder / "page.html", folder=folder)
    return folder / "page.html"


def _tune(folder: Path) -> Path:
    tuned(folder, Range(6e-4, 20.0, floor=6e-7))
    return folder / "curve.html"


def _study(folder: Path) -> Path:
    (study,) = find("zietlow2022/worked-example")
    outcome = run_study(study, "smoke", folder / "cells", workers=1)
    save_study(study, outcome, outcome.verdicts(), folder / "page.html")
    return folder / "page.html"


PAGES: dict[str, Callable[[Path], Path]] = {"sweep": _sweep, "tune-beta": _tune, "study": _study}


@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_nothing_in_light_and_dark(visit: Any, tmp_path: Path, kind: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    path = PAGES[kind](tmp_path)
    ready = {"sweep": "html[data-explored][data-drawn]", "study": "#figure img"}
    for dark, width in ((False, 1280), (True, 1280), (False, 400)):
        page = visit(path, width=width, dark=dark, ready=ready.get(kind, "html[data-drawn]")).page
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = axe.Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
