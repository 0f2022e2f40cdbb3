"""Where real data are found, and what it means when they are not."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.data import Dataset
from vaescope.data.dsprites import dsprites

_FOLDERS = [
    Path(os.environ["VAESCOPE_DATA"]) if "VAESCOPE_DATA" in os.environ else None,
    Path(__file__).parents[2] / "shared" / "data",
]
_WANT = "wants real data"


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
    terminalreporter.write_line(f"{len(skipped)} tests skipped for want of real data")


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
