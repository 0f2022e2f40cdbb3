"""Every block of Python of guides and explanations runs; every sweep file can be planned."""

from pathlib import Path
from typing import Any

import pytest
from tests.docs.snippets import PAGES, ROOT, blocks, small

from vaescope.sweeps import read_plan

EVERY = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=name)
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page, "python")):
        where = f"{name(page)}, block {number}"
        exec(compile(small(block, where), where, "exec"), names)


@pytest.mark.parametrize("page", EVERY, ids=name)
def test_python_of_a_page_can_be_compiled(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, name(page), "exec")


@pytest.mark.parametrize("page", [p for p in EVERY if blocks(p, "yaml")], ids=name)
def test_sweep_files_of_a_page_can_be_planned(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        if block.startswith("# mylab.py"):
            (tmp_path / "mylab.py").write_text(block)
        if block.startswith("# photos/"):
            exec(compile(block, name(page), "exec"), {})
    for block in blocks(page, "yaml"):
        (tmp_path / "sweep.yaml").write_text(block)
        assert len(read_plan(tmp_path / "sweep.yaml")) > 3
