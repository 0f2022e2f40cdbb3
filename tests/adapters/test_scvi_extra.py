"""The extra `scvi` installs beside the pinned packages, and its tests pass there."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("scvi") is not None, reason="the extra is installed: test_scvi runs by itself"
)
def test_the_extra_installs_and_its_tests_pass(tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=True)
    python = tmp_path / "bin" / "python"
    site = Path(
        sysconfig.get_path("purelib", vars={"base": str(tmp_path), "platbase": str(tmp_path)})
    )
    (site / "tests.pth").write_text(sysconfig.get_path("purelib"))  # what is installed here
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = known["project"]["optional-dependencies"]["scvi"]
    install = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-compile",
         "-c", ROOT / "constraints.txt", *wanted],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if install.returncode and "No matching distribution" in install.stderr:
        pytest.skip("no package index answers")
    assert install.returncode == 0, install.stderr
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    run = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:xdist", "tests/adapters/test_scvi.py",
         "tests/docs/test_reference_snippets.py::test_calls_for_models_of_other_libraries_run[scvi]"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout and re.search(r"\d+ skipped", run.stdout) is None
