"""Optimisers are torch's own, made and stepped without importing its compiler."""

import subprocess
import sys

import pytest
import torch

from vaescope.optimisers import build_optimiser
from vaescope.settings import from_command_line

FIRST_STEPS = """
import sys
import torch
from vaescope.build import build_vae
from vaescope.optimisers import build_optimiser
from vaescope.settings import from_command_line

spec = from_command_line("{preset}", [])
weight = torch.nn.Parameter(torch.ones(3))
optimiser = build_optimiser(spec, "vae", [weight])
weight.grad = torch.tensor([1.0, -2.0, 0.0])
optimiser.step()
assert weight[0] != 1.0
heavy = [name for name in ("torch._dynamo", "sympy", "scipy.stats") if name in sys.modules]
assert not heavy, heavy
optimiser = torch.optim.Adam([weight])  # the user's own, after ours
optimiser.step()
assert "torch._dynamo" in sys.modules
"""


@pytest.mark.slow
def test_the_first_step_imports_neither_compiler_nor_statistics() -> None:
    code = FIRST_STEPS.format(preset="beta-vae")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("name", ["adam", "adagrad"])
def test_steps_are_torchs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = from_command_line("beta-vae", [f"optimiser.name={name}"])
    weights = []
    for compiler in (False, True):
        if compiler:
            monkeypatch.setitem(sys.modules, "torch._dynamo", torch._dynamo)
        else:
            monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
        weight = torch.nn.Parameter(torch.linspace(-1.0, 1.0, 5))
        optimiser = build_optimiser(spec, "vae", [weight])
        assert ("step" in vars(optimiser)) is not compiler
        for step in range(3):
            weight.grad = torch.cos(weight.detach() * (step + 1))
            optimiser.step()
        assert not weight.grad.requires_grad
        weights.append(weight.detach().clone())
    torch.testing.assert_close(*weights, rtol=0.0, atol=0.0)
