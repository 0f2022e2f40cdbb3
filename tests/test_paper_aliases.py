"""Names of the first round are accepted, and what they kept on disk is found."""

import json
from pathlib import Path

import numpy as np
import pytest

from vaescope.citations import BIBTEX
from vaescope.codes import Codes
from vaescope.latents.types import CRITERIA, types
from vaescope.paper_aliases import CRITERIA as OLD_CRITERIA
from vaescope.paper_aliases import FUNCTIONS, PAPERS, paper_key
from vaescope.studies import SCALES, Trained
from vaescope.studies.catalogue import STUDIES, find
from vaescope.studies.running import run_study


def test_every_number_is_a_paper_that_can_be_cited_and_has_studies() -> None:
    assert set(PAPERS.values()) == {study.paper for study in STUDIES}
    assert set(PAPERS.values()) <= set(BIBTEX)
    for number, key in PAPERS.items():
        assert {study.paper for study in find(number)} == {key}
    assert [study.id for study in find("001/figure-10")] == ["bonheme2023/figure-10"]
    assert paper_key("002x/table") == "002x/table"


def test_old_criteria_mean_the_new_ones() -> None:
    generator = np.random.default_rng(0)
    mean = generator.normal(size=(500, 3)) * [0.05, 0.3, 1.0]
    codes = Codes(mean, np.tile([0.95, 0.8, 0.1], (500, 1)), mean)
    for old, new in OLD_CRITERIA.items():
        assert new in CRITERIA
        found = types(codes, criterion=old)
        assert found.names == types(codes, criterion=new).names and found.criterion == new


def test_a_key_names_one_function_and_a_function_has_one_key() -> None:
    functions: dict[str, object] = {}
    for study in STUDIES:
        for scale in SCALES:
            work = study.work(scale)
            function = work.measure if isinstance(work, Trained) else work.compute
            assert functions.setdefault(work.key, function) is function, work.key
            assert work.key.startswith(f"{study.paper}-")
    assert len(set(functions.values())) == len(functions)
    assert len(set(FUNCTIONS.values())) == len(FUNCTIONS)


def test_cells_that_the_first_round_kept_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (study,) = find("zietlow2022/worked-example")
    key = study.work("smoke").key
    with monkeypatch.context() as patch:  # what was written before there were keys
        patch.setattr("vaescope.studies.running._named", _by(FUNCTIONS[key]))
        before = run_study(study, "smoke", tmp_path, workers=1)
    parts = sorted((tmp_path / "computed").glob("*.json"))
    stamps = [path.stat().st_mtime_ns for path in parts]
    after = run_study(study, "smoke", tmp_path, workers=1)
    assert sorted((tmp_path / "computed").glob("*.json")) == parts
    assert [path.stat().st_mtime_ns for path in parts] == stamps
    assert json.dumps(dict(before.table.results)) == json.dumps(dict(after.table.results))


def _by(name: str):  # type: ignore[no-untyped-def]
    from vaescope.studies.running import _named as named

    return lambda work, index, folder, _: named(work, index, folder, name)
