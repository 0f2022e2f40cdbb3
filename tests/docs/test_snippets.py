"""Every block of Python of the guides and explanations runs; every command line of all pages names
commands and options that are there; every sweep file can be planned."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.docs.snippets import PAGES, ROOT, blocks, small
from typer.main import get_command

from vaescope.cli.app import app
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


def _calls(page: Path) -> list[list[str]]:
    lines = "\n".join(blocks(page, "sh", "")).replace("\\\n", " ").splitlines()
    found = [line.split("#")[0].replace(".venv/bin/", "").strip() for line in lines]
    return [shlex.split(line) for line in found if re.match(r"vaescope [a-z]", line)]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in EVERY if _calls(page)], ids=name)
def test_command_lines_name_commands_and_options_that_are_there(page: Path) -> None:
    root: Any = get_command(app)
    for words in _calls(page):
        command = root.commands[words[1]]
        if hasattr(command, "commands"):
            command = command.commands[words[2]]
        options = {option for one in command.params for option in one.opts} | {"--help"}
        for word in words[2:]:
            if word.startswith("--"):
                assert word.split("=")[0] in options, f"{' '.join(words)}: {word}"


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "yaml")], ids=name)
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
