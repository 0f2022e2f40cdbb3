"""One small finished run, which each test damages in a folder of its own."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from vaescope.build import build_data
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.training.run import train_run

SETTINGS = ["data.name=synth-linear", "data.n=200", "latent=2", "steps=40", "logging.every=10"]


def train(run: Run, until: int | None = None) -> None:
    """To the end, or to a step after which whoever watched has gone."""
    spec = run.open()
    steps = train_run(run, spec, build_data(spec.data), device=torch.device("cpu"))
    for step in steps:
        if step.step == until:
            steps.close()  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def log_as_before() -> Iterator[None]:
    """Commands put a handler of their own on the log."""
    log = logging.getLogger("vaescope")
    before = log.handlers, log.level
    yield
    log.handlers, log.level = before


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    spec = from_command_line("vae", SETTINGS)
    made = Run.of(spec, "vae", tmp_path_factory.mktemp("finished"))
    made.create(spec)
    train(made)
    return made


@pytest.fixture
def run(finished: Run, tmp_path: Path) -> Run:
    """A copy of the finished run."""
    return Run(Path(shutil.copytree(finished.path, tmp_path / finished.path.name)))


@pytest.fixture
def half(tmp_path: Path) -> Run:
    """A run that was saved after 25 of 40 steps."""
    spec = from_command_line("vae", SETTINGS)
    made = Run.of(spec, "vae", tmp_path)
    made.create(spec)
    train(made, until=25)
    return made


def flip(path: Path, bit: int) -> bytes:
    """Flips one bit of a file; returns what it was."""
    before = path.read_bytes()
    content = bytearray(before)
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(bytes(content))
    return before
