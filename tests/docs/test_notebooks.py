"""Each tutorial runs in an empty folder, and its page is made of outputs that were kept."""

import json
import sys
from pathlib import Path

import pytest
from tests.docs.snippets import ROOT

sys.path.append(str(ROOT / "docs" / "site"))
import notebooks

FILES = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def test_there_are_five() -> None:
    assert len(FILES) == 5


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_says_something(path: Path) -> None:
    outputs = notebooks.run(path)
    code = [cell for cell in notebooks.cells(path) if cell["cell_type"] == "code"]
    assert len(code) > 3
    printed = [one for cell in outputs for one in cell if one["output_type"] == "stream"]
    assert printed and any("image/png" in one.get("data", {}) for cell in outputs for one in cell)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_outputs_are_kept_for_the_page(path: Path) -> None:
    content = json.loads(path.read_text("utf-8"))
    assert content["nbformat"] == 4
    assert any(cell.get("outputs") for cell in content["cells"])
    assert not any("/tmp/" in line for cell in content["cells"] for line in _lines(cell))


def _lines(cell: dict[str, list[dict[str, list[str]]]]) -> list[str]:
    return [line for output in cell.get("outputs", []) for line in output.get("text", [])]
