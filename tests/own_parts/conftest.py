"""A clean folder with the module that docs/own-parts.md shows."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "own-parts.md"


def blocks() -> list[str]:
    """The Python that the docs show."""
    return re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="session")
def shown() -> str:
    """mylab.py as the docs have it."""
    return blocks()[0]


@pytest.fixture(scope="session")
def shown_class() -> str:
    """The objective that the docs write as a class."""
    return blocks()[1]


@pytest.fixture
def lab(
    tmp_path: Path, shown: str, shown_class: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The current folder, with both in mylab.py and nothing else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mylab.py").write_text(shown + shown_class)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mylab", "labs")]:
        del sys.modules[name]
