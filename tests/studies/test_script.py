"""`scripts/studies.py` runs what is registered, and formulas, which are never registered."""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from vaescope.studies.catalogue import find
from vaescope.studies.running import Outcome, run_study, save_outcome

#: One small model a unit.
TRAINED = "bonheme2023/readouts"
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


@pytest.fixture
def small(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script at its smoke scale, with a committed table of two units of a study."""

    def run(study: Any, scale: str, out: Path, **options: Any) -> Outcome:
        found = run_study(study, "smoke", out, **options)
        return replace(found, digest=study.digest("laptop"))

    monkeypatch.setattr(script, "run_study", run)
    (study,) = find(TRAINED)
    kept = run(study, "laptop", script.RESULTS / "runs", units=(1000, 1001), workers=1)
    save_outcome(kept, script.place(study, ".json"))
    return script


def test_a_table_that_is_made_again_is_the_same(
    small: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study,) = find(TRAINED)
    assert small.again(study, tmp_path / "again", 1, 1)
    said = capsys.readouterr().out
    assert re.search(r"rows, wall .*\n  (\d+) of \1 values are the same\n", said)


def test_one_other_number_is_found_and_said(
    small: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study,) = find(TRAINED)
    kept = small.kept(study)
    name, column = next(
        (name, list(column))
        for name, column in kept.table.results.items()
        if isinstance(column[0], float)
    )
    column[0] *= 1.25
    table = replace(kept.table, results={**kept.table.results, name: column})
    save_outcome(replace(kept, table=table), small.place(study, ".json"))
    assert not small.again(study, tmp_path / "again", 2, 1)
    assert f"most by 0.2 of it: {name} of " in capsys.readouterr().out


def test_a_table_of_another_design_is_not_made_again(small: ModuleType, tmp_path: Path) -> None:
    (study,) = find(TRAINED)
    save_outcome(replace(small.kept(study), digest="another"), small.place(study, ".json"))
    with pytest.raises(SystemExit, match="no table of the study as it stands"):
        small.again(study, tmp_path / "again", 2, 1)
