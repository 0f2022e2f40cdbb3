"""What parts of the user's own do that no part should: it is said, and resuming stays exact."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.command import vaescope

from vaescope.build import build_data
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.training.run import train_run

SMALL = ["data.name=synth-linear", "data.n=200", "latent=2", "steps=12", "logging.every=4"]
HEAD = """
import random
import sys
import numpy as np
import torch
import vaescope as vs

class Silent(Exception):
    def __str__(self):
        raise RuntimeError

class Deep(BaseException):
    pass

def scaled(terms, by):
    return vs.Terms(terms.loss * by, terms.parts, terms.posterior)

def objective(vae, batch, step, noise):
    terms = vs.objectives.BetaVAE()(vae, batch, step, noise)
"""


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ("sys.exit(0)", "SystemExit: 0."),
        ("sys.exit()", "SystemExit: no message."),
        ("raise Deep('far down')", "Deep: far down."),
        ("raise Silent", "Silent: its message raises RuntimeError."),
        ("raise ValueError('\\x1b[2Jcleared')", "ValueError: \x1b[2Jcleared."),
    ],
)
def test_however_your_own_code_ends_the_command_failed_and_says_where(
    lab: Path, ends: str, says: str
) -> None:
    (lab / "mylab.py").write_text(f"{HEAD}    {ends}\n")
    done = vaescope("train", "vae", *SMALL, "objective.name=mylab:objective", "--json")
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 1
    assert error["message"] == says
    assert "your own code" in error["remedy"] and "mylab.py" in error["remedy"]
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("draws", ["np.random.rand()", "random.random()", "torch.rand(()).item()"])
def test_all_global_generators_are_functions_of_seed_and_step(lab: Path, draws: str) -> None:
    """Resumed after five steps, in a process that has drawn other numbers meanwhile."""
    (lab / "mylab.py").write_text(f"{HEAD}    return scaled(terms, 1.0 + {draws})\n")
    spec = from_command_line("vae", [*SMALL, "objective.name=mylab:objective"])
    weights = []
    for stops in ((), (5,)):
        run = Run.of(spec, "vae", lab / f"runs{len(stops)}")
        run.create(spec)
        np.random.rand(3), random.random()
        before = np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index]
        for until in (*stops, None):
            steps = train_run(run, spec, build_data(spec.data), device=torch.device("cpu"))
            for step in steps:
                if step.step == until:
                    steps.close()  # type: ignore[attr-defined]
        assert before == (np.random.get_state()[1].tolist(), random.getstate())  # type: ignore[index]
        weights.append((run.path / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]
