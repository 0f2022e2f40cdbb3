"""What all tests share: one thread each, fixed seeds, real data where there are, one browser."""

import os

if "OMP_NUM_THREADS" not in os.environ:
    # Before NumPy and torch are imported: tests run side by side, and a thread per core in each
    # process only makes them wait for each other.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

# Some virtual machines announce AMX and die of its instructions; in float32 nothing gains by it.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

import gc
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings
from tests.waiting import LIMIT

from vaescope.data import Dataset
from vaescope.data.dsprites import dsprites

# Collection makes millions of objects that stay: looking for garbage among them is a tenth of it.
gc.disable()

# The same examples each time, however slow the machine: a test fails always or never.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

_FOLDERS = [
    Path(os.environ["VAESCOPE_DATA"]) if "VAESCOPE_DATA" in os.environ else None,
    Path(__file__).parents[2] / "shared" / "data",
]
#: These begin first, so that no core is left with a long file at the end.
_LONG = (
    "sweeps/test_disturbed.py", "adapters/test_corpus.py", "studies/test_running.py",
    "adapters/test_fields.py", "geometry/test_trained.py", "test_wheel.py",
    "adapters/test_scvi_extra.py", "browser/test_report.py", "own_parts/test_lab.py",
    "metrics/test_dci.py", "training/test_many.py", "tuning/test_tune_beta.py",
)  # fmt: skip
#: Seconds on a quiet core from which all cases of a test function together are `slow`.
SLOW = 0.5
_WANT = "needs real data"
_HANDLERS, _LEVEL = (
    tuple(logging.getLogger("vaescope").handlers),
    logging.getLogger("vaescope").level,
)
_CHROMIUM = Path("/usr/bin/chromium")
_QUIET = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _own_log() -> Iterator[None]:
    """Commands put a handler on the library's log; no other test shall meet it, nor one that a
    fixture of a whole module put there."""
    log = logging.getLogger("vaescope")
    log.handlers = list(_HANDLERS)
    log.setLevel(_LEVEL)
    yield
    log.handlers = list(_HANDLERS)
    log.setLevel(_LEVEL)


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(0)  # `torch.manual_seed` walks the stack, for a GPU


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    """A fixture draws the same whichever test wants it first."""
    _seed()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """A test draws the same whatever ran before it in this process."""
    _seed()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {Path(__file__).parent / name: place for place, name in enumerate(_LONG)}
    items.sort(key=lambda item: order.get(item.path, len(order)))  # stable: the rest as it was


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """The path of a real data file, or a skip that `VAESCOPE_REQUIRE_DATA=1` makes a failure."""

    def find(relative: str) -> Path:
        for folder in _FOLDERS:
            if folder is not None and (folder / relative).exists():
                return folder / relative
        if os.environ.get("VAESCOPE_REQUIRE_DATA") == "1":
            pytest.fail(f"{_WANT}: {relative} is neither in $VAESCOPE_DATA nor in ../shared/data")
        pytest.skip(f"{_WANT}: {relative}")

    return find


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if _WANT in str(report.longrepr)
    ]
    terminalreporter.write_line(f"{len(skipped)} tests skipped because they need real data")
    seconds: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        if "slow" not in report.keywords:
            seconds[report.nodeid.split("[")[0]] += report.duration
    # Twice the time, as the other core may be at work.
    for name, total in seconds.most_common():
        if total > 2 * SLOW:
            terminalreporter.write_line(f"not marked slow and took {total:.1f} s: {name}")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests write below their own folder, whatever the user's environment says."""
    monkeypatch.setenv("VAESCOPE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("VAESCOPE_DATA", str(tmp_path / "data"))


@pytest.fixture(scope="session")
def small_sprites() -> Dataset:
    """Scale, x and y of an ellipse at 32 pixels: 6 x 8 x 8 images."""
    every_fourth = list(range(0, 32, 4))
    return dsprites(
        size=32, grid={"shape": [1], "orientation": [0], "x": every_fourth, "y": every_fourth}
    )


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The one Chromium of this process: a second Playwright beside it cannot be opened."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not _CHROMIUM.exists():
        pytest.skip(f"there is no {_CHROMIUM}: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=str(_CHROMIUM), args=_QUIET, timeout=1000 * LIMIT
        )
        yield chromium
        chromium.close()


@dataclass
class Visit:
    """An open page and what it did behind the reader's back."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens a file in a window of its own and waits until it is ready."""
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
        context.set_default_timeout(1000 * LIMIT)
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
