"""Names that the shell offers are those that the commands take."""

import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command

from vaescope.cli import completion
from vaescope.cli.app import app
from vaescope.data import CARDS
from vaescope.presets import PRESETS


def offered(words: list[str], incomplete: str) -> list[str]:
    """What the command itself offers after these words, as the shell asks it."""
    command: Any = get_command(app)
    context = command.make_context("vaescope", words[:], resilient_parsing=True)
    for word in words:
        command = command.commands[word]
        context = command.make_context(word, [], parent=context, resilient_parsing=True)
    (first, *_) = [one for one in command.params if one.param_type_name == "argument"]
    return [item.value for item in first.shell_complete(context, incomplete)]


def test_presets_datasets_papers_and_studies_are_offered() -> None:
    assert offered(["train"], "beta-v") == [name for name in PRESETS if name.startswith("beta-v")]
    assert offered(["tune-beta"], "") == list(PRESETS)
    assert offered(["data", "info"], "shapes3d-r") == ["shapes3d-rendered"]
    assert set(CARDS) == set(completion.datasets(""))
    assert "grzes2023" in offered(["cite"], "grz")


@pytest.mark.slow
def test_studies_are_offered() -> None:
    assert "zietlow2022/table-3.4" in offered(["study"], "zietlow2022/table-3")


def test_settings_are_offered_up_to_their_value() -> None:
    assert "objective.beta=" in completion.settings("objective.b")
    assert completion.settings("no-such") == []


@pytest.mark.slow
def test_nothing_else_that_is_offered_waits_for_torch() -> None:
    asked = "from vaescope.cli import completion as c; "
    asked += "[f('') for f in (c.presets, c.datasets, c.citations, c.settings)]; "
    asked += "import sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0
