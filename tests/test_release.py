"""What a release promises: one version everywhere, a citation, types, a workflow that runs CI."""

import ast
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import vaescope

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
#: What somebody who uses vaescope would write, checked as their own code is.
USER = '''\
"""Uses vaescope with types."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

import vaescope as vs


class Mine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(64, 8), nn.Linear(4, 64)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.encoder(x.flatten(1)).chunk(2, dim=1)
        return mean, logvar

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self.decoder(z)).view(-1, 1, 8, 8)


@dataclass(frozen=True)
class Weighted(vs.Objective):
    weight: float = 1.0

    def __call__(self, vae: vs.VAE, batch: vs.Batch, step: Tensor, noise: Tensor) -> vs.Terms:
        elbo = vs.objectives.BetaVAE()(vae, batch, step, noise)
        assert elbo.posterior is not None
        penalty = elbo.posterior.mean.square().sum()
        parts = {**elbo.parts, "penalty": penalty}
        return vs.Terms(elbo.loss + self.weight * penalty, parts, elbo.posterior)


def best(codes: vs.Codes) -> tuple[str, float]:
    score = vs.metrics.mig(codes)
    kinds = vs.latents.types(codes)
    return kinds.summary(), score.value


def main() -> None:
    data: vs.Dataset = vs.load_dataset("digits")
    run: vs.Run = vs.train("beta-vae", data, beta=4.0, steps=10)
    says, value = best(vs.encode(run, np.arange(3)))
    print(says, value, vs.inspect(run).summary(), vs.prune(run).dropped)
    for latent in vs.inspect(Mine(), data, posterior="logvar", effort="fast").latents:
        print(latent.index, latent.type, latent.kl_nats)
    runs = [vs.train("vae", data, objective=Weighted(2.0), seed=seed) for seed in range(3)]
    for name, metric in vs.compare(run, *runs, metrics=["mig"]).metrics.items():
        for gap in metric.gaps:
            print(name, gap.first, gap.second, gap.difference, gap.interval)
    seen = vs.watch(torch.zeros(3, 2), logvar=torch.zeros(3, 2))
    print(seen.summary(), seen.kl.sum())
'''


def test_the_citation_has_what_its_format_asks_for_and_the_version() -> None:
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(content)
    assert content["version"] == vaescope.__version__
    assert all("name" in own or "family-names" in own for own in content["authors"])
    assert f"## {vaescope.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_every_extra_is_in_the_docs_and_in_the_constraints() -> None:
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    for extra in PROJECT["optional-dependencies"]:
        assert f"`{extra}`" in page, extra


def test_every_extra_has_a_command_in_the_script_that_tries_them() -> None:
    tree = ast.parse((ROOT / "scripts" / "extras.py").read_text("utf-8"))
    (commands,) = [
        node.value for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMMANDS"
    ]  # fmt: skip
    assert isinstance(commands, ast.Dict)
    names = {key.value for key in commands.keys if isinstance(key, ast.Constant)}
    assert names == set(PROJECT["optional-dependencies"])


def test_the_workflow_runs_what_ci_runs() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    said = [step.get("run") for job in workflow["jobs"].values() for step in job["steps"]]
    assert ".ci/run" in said and "make docs" in said
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        content = yaml.safe_load(form.read_text("utf-8"))
        assert "blank_issues_enabled" in content or {"name", "description", "body"} <= set(content)


@pytest.mark.slow
def test_a_program_of_a_user_passes_mypy_strict(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".mypy_cache"]
    done = subprocess.run(
        [*command, "--config-file", ROOT / "pyproject.toml", tmp_path / "user.py"],
        check=False, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_program_of_a_user_passes_pyright_strict(tmp_path: Path) -> None:
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed: pip install 'pyright[nodejs]'")
    settings = {"include": ["user.py"], "typeCheckingMode": "strict"}
    sources = {"extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings | sources))
    (tmp_path / "user.py").write_text(USER)
    command = [pyright, "--pythonpath", sys.executable, "--project", tmp_path]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
