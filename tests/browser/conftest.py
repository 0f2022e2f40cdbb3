"""The report of a short demo."""

from pathlib import Path

import pytest

import vaescope as vs
from vaescope.inspection import Inspection, inspect
from vaescope.report import save
from vaescope.runs import Run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return vs.train("demo", out=tmp_path_factory.mktemp("runs"), steps=60, every=5)


@pytest.fixture(scope="session")
def inspection(run: Run) -> Inspection:
    return inspect(run)


@pytest.fixture(scope="session")
def report(inspection: Inspection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    save(inspection, path)
    return path
