"""Fingerprints tell objects apart that would do something else, and no others."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import vaescope
from vaescope.own_parts.fingerprint import code_of, fingerprint

CELL = """
from dataclasses import dataclass
import torch
from torch import nn
import vaescope as vs

STRENGTH = 2.0

def scaled(x):
    return STRENGTH * x

@dataclass(frozen=True)
class Mine(vs.Objective):
    weight: float = 1.0
    draws = 1

    def __call__(self, vae, batch, step, noise):
        return scaled(self.weight) in {1.0, 2.0, 3.0}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self._power = 3
        self.act = torch.tanh
        self.layer = nn.Linear(3, 2)
"""


def cell(text: str = CELL) -> dict[str, Any]:
    """What a cell of a notebook defines."""
    names: dict[str, Any] = {"__name__": "cell"}
    exec(compile(text, "<cell>", "exec"), names)
    return names


def both(names: dict[str, Any]) -> list[str]:
    return [fingerprint(names["Mine"](1.0)), fingerprint(names["Net"]())]


def test_the_same_cell_run_again_gives_the_same_fingerprints() -> None:
    assert both(cell()) == both(cell())
    assert both(cell(CELL.replace("# ", "") + "\n# a comment\n")) == both(cell())


@pytest.mark.slow
def test_another_process_gives_the_same_fingerprints(tmp_path: Path) -> None:
    (tmp_path / "cell.py").write_text(CELL)
    code = (
        "import pathlib, sys; from vaescope.own_parts.fingerprint import fingerprint as f\n"
        "names = {'__name__': 'cell'}\n"
        "exec(compile(pathlib.Path(sys.argv[1]).read_text(), '<cell>', 'exec'), names)\n"
        "print(f(names['Mine'](1.0)), f(names['Net']()))"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(vaescope.__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cell.py")],
        env={**env, "PYTHONHASHSEED": "7"}, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert ended.stdout.split() == both(cell())


@pytest.mark.parametrize(
    ("old", "new", "which"),
    [
        ("STRENGTH = 2.0", "STRENGTH = 3.0", 0),  # a constant that a function uses
        ("return STRENGTH * x", "return STRENGTH + x", 0),  # a function that the method uses
        ("draws = 1", "draws = 2", 0),
        ("3.0}", "4.0}", 0),
        ("_power = 3", "_power = 4", 1),
        ("torch.tanh", "torch.relu", 1),
        ("Linear(3, 2)", "Linear(3, 3)", 1),
    ],
)
def test_a_change_that_matters_changes_the_fingerprint(old: str, new: str, which: int) -> None:
    assert CELL.count(old) == 1
    before, after = both(cell()), both(cell(CELL.replace(old, new)))
    assert before[which] != after[which] and before[1 - which] == after[1 - which]


def test_fingerprints_hold_numbers_but_not_weights() -> None:
    def scaled(factor: Any) -> Any:
        return lambda latent: factor * latent

    assert fingerprint(nn.Linear(2, 3)) == fingerprint(nn.Linear(2, 3))
    assert fingerprint(nn.Dropout(0.1)) != fingerprint(nn.Dropout(0.2))
    assert fingerprint(scaled(1.0)) == fingerprint(scaled(1.0)) != fingerprint(scaled(2.0))
    assert fingerprint(scaled(np.arange(3))) != fingerprint(scaled(np.arange(3) + 1))
    assert fingerprint(scaled(torch.zeros(2))) != fingerprint(scaled(torch.zeros(3)))
    assert fingerprint(cell()["Mine"](1.0)) != fingerprint(cell()["Mine"](2.0))
    assert code_of(both) != code_of(cell)
