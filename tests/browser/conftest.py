"""Chromium, the report of a short demo, and pages opened from disk."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import vaescope as vs
from vaescope.inspection import Inspection, inspect_run
from vaescope.report import save
from vaescope.runs import Run

CHROMIUM = Path("/usr/bin/chromium")
QUIET = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return vs.train("demo", out=tmp_path_factory.mktemp("runs"), steps=60, every=5)


@pytest.fixture(scope="session")
def inspection(run: Run) -> Inspection:
    return inspect_run(run)


@pytest.fixture(scope="session")
def report(inspection: Inspection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    save(inspection, path)
    return path


@dataclass
class Visit:
    """An open page and what it did behind the reader's back."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    contexts = []

    def open_page(
        path: Path,
        *,
        width: int = 1280,
        dark: bool = False,
        ready: str = "html[data-drawn]",
        **options: Any,
    ) -> Visit:
        size = {"width": width, "height": 900}
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport=size, color_scheme=scheme, **options)
        context.set_default_timeout(90_000)  # a busy machine is no failure
        contexts.append(context)
        seen = Visit(context.new_page())
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("console", lambda message: seen.complaints.append(message.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("dialog", lambda dialog: seen.complaints.append(dialog.message))
        seen.page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            seen.page.wait_for_selector(ready)
        return seen

    yield open_page
    for context in contexts:
        context.close()
