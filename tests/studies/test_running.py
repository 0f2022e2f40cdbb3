"""Studies run, are kept by digest and shown: every smoke scale, for real."""

import json
import subprocess
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.command import vaescope

from vaescope.errors import DataError, Interrupted, RunError
from vaescope.report.render import render
from vaescope.report.scoreboard import Judged, scoreboard, study_text
from vaescope.report.scoreboard_figure import scoreboard_figure
from vaescope.report.study_page import study_page
from vaescope.studies import Study, decide, running
from vaescope.studies.catalogue import STUDIES, cases, find
from vaescope.studies.registry import Registration, read_registry, register, status, withdrawn
from vaescope.studies.running import Outcome, load_outcome, run_study, save_outcome
from vaescope.studies.sampling import add_units, next_units, sample
from vaescope.tables import Row, Table, table_of


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
    assert study.id in study_text(Judged(study, outcome, "not registered", verdicts))


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
    with pytest.raises(RunError, match=r"table\.json is not a table of a study"):
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
    monkeypatch.setattr(running, "process_pool", Pool)
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


def everything(run: dict[str, tuple[Outcome, str]]) -> list[Judged]:
    """The whole catalogue as the scoreboard has it."""
    decided = decide(cases({name: (one.table, state) for name, (one, state) in run.items()}))
    verdicts = {study.id: [v for v in decided if v.claim in study.claims] for study in STUDIES}
    return [
        Judged(study, *run.get(study.id, (None, "not run")), verdicts[study.id])
        for study in STUDIES
    ]


def test_the_headline_counts_registered_primary_claims_about_trained_models(
    example: Study, outcome: Outcome
) -> None:
    (study,) = find("zietlow2022/theorem-2")
    cells = study.of_units("laptop", range(1000, 1016)).cells
    found = {"angle": 0.1, "plane_angle": 0.2, "variance_miss": 0.0, "miscount": 0, "cosine": 0.1}
    rows = (
        Row(
            f"r{i}",
            True,
            c.columns,
            {**found, "angle": 40.0 if c.labels["model"] == "linear AE" else 0.1},
        )
        for i, c in enumerate(cells)
    )
    made = Outcome(study.id, "laptop", study.digest("laptop"), table_of(rows), {}, "a machine")
    primaries = sum(c.primary for s in STUDIES for c in s.claims)
    optima = sum(c.primary for s in STUDIES if s.at_optimum for c in s.claims)
    assert optima > 0  # counted apart
    own = sum(c.primary and c.own for s in STUDIES for c in s.claims)
    for state, shown in (("registered before", 1), ("re-analysed", 0)):
        run = {study.id: (made, state), example.id: (outcome, "re-analysed")}
        text = scoreboard(everything(run), [], [])
        assert (
            f"papers' {primaries - own - optima} primary claims about trained models, {shown} ha"
            in text
        )
        assert f"Of our own {own}, 0 have run after registration." in text
        assert ("**1 supported**" in text) == (shown == 1)
        assert all(claim.says in text for claim in example.claims)  # as formulas
    assert "older table: supported: 16 of 16 seeds" in text
    assert scoreboard_figure(everything(run)).count("<rect") == primaries + 5


@pytest.mark.slow
def test_seeds_are_added_without_running_the_old_ones_again(example: Study, tmp_path: Path) -> None:
    """Law: twice eight is the same as once sixteen."""
    options = {"workers": 1}
    first = sample(example, "smoke", tmp_path / "a", None, None, 8, **options)
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "a").rglob("*.json")}
    twice = sample(example, "smoke", tmp_path / "b", first, None, 8, **options)
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps
    assert len(list((tmp_path / "b" / "computed").glob("*.json"))) == 8  # the new ones only
    once = sample(example, "smoke", tmp_path / "c", None, None, 16, **options)
    assert twice.table == once.table and twice.digest == once.digest
    assert twice.table.columns["seed"] == list(range(16))


@pytest.mark.slow
def test_trained_seeds_are_added_as_computed_ones_are(tmp_path: Path) -> None:
    """Twice eight is once sixteen for models too, and the old ones are not trained again."""
    (study,) = find("zietlow2022/table-3.4")
    first = sample(study, "smoke", tmp_path / "a", None, None, 8, workers=1)
    twice = sample(study, "smoke", tmp_path / "b", first, None, 8, workers=1)
    once = sample(study, "smoke", tmp_path / "c", None, None, 16, workers=1)
    assert twice.table == once.table and twice.digest == once.digest
    measured = list((tmp_path / "b" / "runs").glob("*/study-*.json"))
    assert len(measured) == len(study.of_units("smoke", range(8, 16)).cells)


def test_the_committed_table_is_what_seeds_are_added_to() -> None:
    """`vaescope study zietlow2022/table-3.4 --seeds +8` runs the units after its last one."""
    results = Path(__file__).parents[2] / "docs" / "results"
    (study,) = find("zietlow2022/table-3.4")
    known = load_outcome(results / "studies" / "zietlow2022-table-3.4.json")
    assert known.digest == study.digest("laptop")
    lines = [line for line in read_registry(results / "registry.jsonl") if line.study == study.id]
    last = max(row["seed"] for row in known.table.rows())
    asked = next_units(study, known, lines[-1], 8)
    assert asked == range(last + 1, last + 9) and last + 9 <= lines[-1].first + lines[-1].cap


def test_until_decided_stops_at_the_cap(example: Study, tmp_path: Path) -> None:
    small = replace(example, cap=20)
    asked = next_units(small, None, None, None)
    assert asked == range(16)
    known = add_units(small, "smoke", tmp_path, asked, None, workers=1)
    assert next_units(small, known, None, 8) == range(16, 20)
    whole = sample(small, "smoke", tmp_path, known, None, 8, workers=1)
    assert not next_units(small, whole, None, 8)
    assert sample(small, "smoke", tmp_path, whole, None, 8, workers=1).table == whole.table


def test_a_registration_is_a_line_and_a_change_of_claims_is_another(tmp_path: Path) -> None:
    (study,) = find("zietlow2022/theorem-2")
    path = tmp_path / "registry.jsonl"
    first = register(study, "2026-01-01", path)
    assert register(study, "2026-01-02", path) == first and read_registry(path) == [first]
    claims = (replace(study.claims[0], threshold=5.0), *study.claims[1:])
    changed = replace(study, claims=claims)
    second = register(changed, "2026-01-03", path)
    assert read_registry(path) == [first, second]
    assert second.first > first.first  # units that nobody has looked at

    def table(seed: int) -> Table:
        return table_of([Row("r", True, {"seed": seed}, {"angle": 1.0})])

    lines = read_registry(path)
    digest = study.digest("laptop")
    assert status(study, digest, table(first.first), [first]) == "registered before"
    assert status(study, digest, table(3), [first]) == "re-analysed"
    assert status(study, "another", table(first.first), [first]) == "re-analysed"
    assert status(study, digest, table(second.first), lines) == "re-analysed"  # claims changed
    assert status(changed, digest, table(second.first), lines) == "revised once"
    assert status(changed, digest, table(first.first), lines) == "re-analysed"


def test_a_primary_claim_that_is_withdrawn_stays_in_its_family(tmp_path: Path) -> None:
    (study,) = find("zietlow2022/theorem-2")
    other = replace(study, claims=(replace(study.claims[0], says="Something else."),))
    line = register(other, "2026-01-01", tmp_path / "registry.jsonl")
    (case,) = withdrawn([line], STUDIES)
    assert (case.claim.says, case.family, case.table) == ("Something else.", "zietlow2022", None)
    assert decide([case])[0].verdict == "undecided"


@pytest.mark.slow
def test_registered_tables_were_committed_after_their_registration() -> None:
    """By ancestry, where there is a history."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        pytest.skip("this is not a checkout with a history")

    def git(*words: str) -> str:
        run = ["git", "-C", str(root), *words]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()

    if git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("the history is cut off")
    results = "docs/results"

    def made(line: Registration) -> str | None:
        """The first commit whose table has the registered work and only units that may vote."""
        path = f"{results}/studies/{line.study.replace('/', '-')}.json"
        for commit in git("log", "--reverse", "--format=%H", "--", path).splitlines():
            table = json.loads(git("show", f"{commit}:{path}"))
            units = [u for u in table["settings"].get("seed", []) if u is not None]
            if table["digest"] == line.work and units and min(units) >= line.first:
                return commit
        return None

    compared = 0
    for line in read_registry(root / results / "registry.jsonl"):
        # A revision of claims alone has the work of the line before it.
        content = f'"claims": "{line.claims}", "first": {line.first},'
        finding = ("log", "--reverse", "--format=%H", f"-S{content}", "--")
        written, table = git(*finding, f"{results}/registry.jsonl").splitlines(), made(line)
        if table and written:  # what is not committed yet cannot be compared
            compared += 1
            assert written[0] != table, f"{line.study}: registered together with its table"
            assert git("merge-base", written[0], table) == written[0], line.study
    assert compared > 50  # of 86 lines; others were revised before their units ran, or wait


@pytest.mark.slow
def test_the_catalogue_is_listed_as_the_interface_has_it() -> None:
    listed = json.loads(vaescope("study", "--json").stdout)["studies"]
    assert len(listed) == len(STUDIES)
    for study in listed:
        assert {"id", "paper", "title", "scales", "claims"} <= set(study)
        wanted = {"says", "where", "kind", "primary", "quote", "control"}
        assert all(wanted <= set(claim) for claim in study["claims"])


@pytest.mark.slow
def test_a_study_by_command_prints_verdicts_and_writes_its_page(tmp_path: Path) -> None:
    done = vaescope(
        "study", "zietlow2022/worked-example", "--scale", "smoke", "--out", str(tmp_path), "--json"
    )
    found = json.loads(done.stdout)
    wanted = {"says", "verdict", "effect", "interval", "seeds", "paper", "substituted"}
    wanted |= {"votes", "e", "registered", "kind", "primary", "quote", "control"}
    assert found["verdicts"] and all(wanted <= set(verdict) for verdict in found["verdicts"])
    for ending in ("html", "json", "csv"):
        assert (tmp_path / f"zietlow2022-worked-example-smoke.{ending}").exists()


@pytest.mark.slow
def test_an_unknown_study_or_scale_is_wrong_usage(tmp_path: Path) -> None:
    for words in (
        ["009/table-1"],
        ["zietlow2022/worked-example", "--scale", "huge"],
        ["zietlow2022/worked-example", "--seeds", "8"],
    ):
        done = vaescope("study", *words, "--out", str(tmp_path), "--json")
        assert done.returncode == 2
        assert json.loads(done.stdout)["error"]["remedy"]
