"""What users install: the wheel beside its declared requirements and nothing else."""

import json
import os
import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def required(name: str, extras: frozenset[str], found: dict[str, Distribution]) -> None:
    """Adds what a distribution requires, and what that requires, to `found`."""
    for line in distribution(name).requires or ():
        wanted = Requirement(line)
        marks = wanted.marker
        if marks and not any(marks.evaluate({"extra": extra}) for extra in {"", *extras}):
            continue
        key = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if key not in found or wanted.extras:
            found[key] = distribution(wanted.name)
            required(wanted.name, frozenset(wanted.extras), found)


def link(found: dict[str, Distribution], site: Path) -> None:
    """Puts what the distributions have in site-packages there, by links."""
    for one in found.values():
        for name in {file.parts[0] for file in one.files or () if ".." not in file.parts}:
            origin, place = Path(str(one.locate_file(name))), site / name
            if name == "__pycache__" or not origin.exists():
                continue
            if not place.exists():
                place.symlink_to(origin)


@pytest.mark.slow
def test_the_wheel_trains_beside_its_requirements_alone(tmp_path: Path) -> None:
    """The requirements are those of this environment, which pip installed from the same
    `pyproject.toml`: `pip check` says whether the wheel accepts them."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", python]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(
        [*pip, "install", "-q", "--no-compile", "--no-deps", "--no-index", wheel],
        check=True, capture_output=True, env=environment,
    )  # fmt: skip
    found: dict[str, Distribution] = {}
    required("vaescope", frozenset(), found)
    assert {"torch", "numpy", "pydantic"} <= found.keys() and "pytest" not in found
    link(found, site)
    subprocess.run([*pip, "check"], check=True, capture_output=True, env=environment)
    done = subprocess.run(
        [python, "-m", "vaescope", "train", "beta-vae", "data.size=32", "data.grid.shape=[1]",
         "data.grid.orientation=[0]", "steps=3", "--out", tmp_path / "runs", "--json"],
        check=True, capture_output=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert json.loads(done.stdout)["runs"][0]["done"]
    where = subprocess.run(
        [python, "-c", "import vaescope; print(vaescope.__file__)"],
        check=True, capture_output=True, text=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert Path(where.stdout.strip()).is_relative_to(site)
