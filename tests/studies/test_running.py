"""Studies run, are kept by digest and shown: every smoke scale, for real."""

import json
import subprocess
import sys
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from vaescope.errors import DataError, Interrupted, RunError
from vaescope.report.render import render
from vaescope.report.scoreboard import scoreboard, study_text
from vaescope.report.study_page import study_page
from vaescope.studies import Study, running
from vaescope.studies.catalogue import STUDIES, TOTAL, find
from vaescope.studies.running import Outcome, load_outcome, run_study, save_outcome


def vaescope(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vaescope", *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all: runs are shared by digest."""
    return tmp_path_factory.mktemp("studies")


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_the_smoke_scale_runs_and_gives_a_verdict_for_each_claim(study: Study, out: Path) -> None:
    outcome = run_study(study, "smoke", out, workers=1)
    assert len(outcome.table) == len(study.work("smoke").cells)
    verdicts = outcome.verdicts()
    assert [verdict.claim for verdict in verdicts] == list(study.claims)
    for verdict in verdicts:
        assert verdict.effect is None or np.isfinite(verdict.effect)
    page = render(study_page(study, outcome, verdicts))
    for claim in study.claims:
        assert claim.where.split(",")[0] in page
    assert study.id in study_text(study, outcome, verdicts)


@pytest.fixture(scope="module")
def example() -> Study:
    (study,) = find("zietlow2022/worked-example")
    return study


@pytest.fixture(scope="module")
def outcome(example: Study, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run_study(example, "smoke", tmp_path_factory.mktemp("example"), workers=1)


def test_a_table_is_saved_and_read_with_its_digest(outcome: Outcome, tmp_path: Path) -> None:
    save_outcome(outcome, tmp_path / "table.json")
    again = load_outcome(tmp_path / "table.json")
    assert (again.study, again.scale, again.digest) == (
        outcome.study, outcome.scale, outcome.digest,
    )  # fmt: skip
    assert again.table.settings == outcome.table.settings
    first, second = (one.verdicts() for one in (outcome, again))
    assert [v.verdict for v in first] == [v.verdict for v in second]
    assert again.versions["torch"]


def test_a_damaged_table_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text('{"study": "zietlow2022')
    with pytest.raises(RunError, match=r"table\.json is no table of a study"):
        load_outcome(tmp_path / "table.json")


def test_what_is_measured_is_not_measured_again(example: Study, tmp_path: Path) -> None:
    first = run_study(example, "smoke", tmp_path, workers=1)
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    second = run_study(example, "smoke", tmp_path, workers=1)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == stamps
    assert first.table.results == second.table.results


def test_a_damaged_part_is_named_with_its_remedy(example: Study, tmp_path: Path) -> None:
    run_study(example, "smoke", tmp_path, workers=1)
    part = min((tmp_path / "computed").glob("*.json"))
    part.write_text("half")
    with pytest.raises(DataError, match=rf"{part.name} cannot be read.*measures it again"):
        run_study(example, "smoke", tmp_path, workers=1)


class Pool:
    """Stands for processes that were ended from outside."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, *_: object) -> Future[None]:
        future: Future[None] = Future()
        future.set_exception(BrokenProcessPool("terminated abruptly"))
        return future


@pytest.mark.parametrize(("number", "kind"), [(2, Interrupted), (0, RunError)])
def test_processes_that_die_are_a_stop_after_a_signal_and_else_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    monkeypatch.setattr(running, "ProcessPoolExecutor", Pool)
    (study,) = find("mathieu2019/theorems")
    looks = iter([0])  # the signal comes after the first look
    with pytest.raises(kind, match=r"Stopped by signal 2|measured runs died"):
        run_study(study, "smoke", tmp_path, workers=2, stop=lambda: next(looks, number))


def test_a_part_that_is_lost_is_measured_again(example: Study, tmp_path: Path) -> None:
    first = run_study(example, "smoke", tmp_path, workers=1)
    lost = sorted((tmp_path / "computed").glob("*.json"))[0]
    lost.unlink()
    second = run_study(example, "smoke", tmp_path, workers=1)
    assert lost.exists() and first.table.results == second.table.results


def test_the_scoreboard_counts_every_claim_once(example: Study, outcome: Outcome) -> None:
    verdicts = outcome.verdicts()
    text = scoreboard([(example, outcome, verdicts)], [s for s in STUDIES if s is not example])
    assert f"of {TOTAL} claims in {len(STUDIES)} studies" in text
    for verdict in verdicts:
        assert text.count(f"| **{verdict.verdict}** | {verdict.claim.says} |") >= 1


@pytest.mark.slow
def test_the_catalogue_is_listed_as_the_interface_has_it() -> None:
    listed = json.loads(vaescope("study", "--json").stdout)["studies"]
    assert len(listed) == len(STUDIES)
    for study in listed:
        assert {"id", "paper", "title", "scales", "claims"} <= set(study)
        assert all({"says", "where"} <= set(claim) for claim in study["claims"])


@pytest.mark.slow
def test_a_study_by_command_prints_verdicts_and_writes_its_page(tmp_path: Path) -> None:
    done = vaescope(
        "study", "zietlow2022/worked-example", "--scale", "smoke", "--out", str(tmp_path), "--json"
    )
    found = json.loads(done.stdout)
    wanted = {"says", "verdict", "effect", "interval", "seeds", "paper", "substituted"}
    assert found["verdicts"] and all(wanted <= set(verdict) for verdict in found["verdicts"])
    for ending in ("html", "json", "csv"):
        assert (tmp_path / f"zietlow2022-worked-example-smoke.{ending}").exists()


@pytest.mark.slow
def test_an_unknown_study_or_scale_is_wrong_usage(tmp_path: Path) -> None:
    for words in (["009/table-1"], ["zietlow2022/worked-example", "--scale", "huge"]):
        done = vaescope("study", *words, "--out", str(tmp_path), "--json")
        assert done.returncode == 2
        assert json.loads(done.stdout)["error"]["remedy"]
