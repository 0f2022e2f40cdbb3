"""`scripts/studies.py` runs what is registered, and formulas, which are never registered."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from vaescope.studies.catalogue import find
from vaescope.studies.running import Outcome, run_study

SCRIPT = Path(__file__).parents[2] / "scripts" / "studies.py"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, which keeps its results in a folder of its own."""
    spec = importlib.util.spec_from_file_location("studies_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "studies").mkdir()
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "read_registry", list)
    return module


@pytest.mark.slow
def test_formulas_run_without_a_registration(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(study: Any, scale: str, out: Path, **options: Any) -> Outcome:
        return run_study(study, "smoke", out, **options)

    monkeypatch.setattr(script, "run_study", small)
    (study,) = find("zietlow2022/worked-example")
    script.run(study, tmp_path / "out", None, 1)
    found = script.kept(study)
    assert found is not None and script.last_unit(study, found) == 1
    assert "<svg" in script.place(study, ".svg").read_text()


def test_a_study_that_is_not_registered_is_refused(script: ModuleType, tmp_path: Path) -> None:
    (study,) = find("bhowal2024/theorem-1")
    with pytest.raises(SystemExit, match="is not registered"):
        script.run(study, tmp_path / "out", None, 1)
