"""No row of the papers, and no question that they raise, is left without a word."""

import re
from pathlib import Path

import pytest

from vaescope.report.scoreboard import coverage_lines
from vaescope.studies.catalogue import STUDIES
from vaescope.studies.coverage import COVERAGE, Covered, missing

ROOT = Path(__file__).parents[2]
IDS = {study.id for study in STUDIES}
#: Schematics and other projects; 3.3 (a surface) and 4.1 stand with the worked example.
SCHEMATIC = re.compile(
    r"bonheme2023 Fig 1-3$|zietlow2022 Fig 7\.1|(bhowal2024 Fig 1-3|mathieu2019 Fig 1)$"
)
#: Items of papers.md 13.6 and how many of each paper our table has to have beyond tables, figures,
#: theorems and appendices (hierarchical priors and the 9,000 released models aside).
QUESTIONS = {"grzes2023": 5, "bonheme2023": 5, "zietlow2022": 6, "bhowal2024": 6, "mathieu2019": 6}
PRINTED = re.compile(r"^(Tab|Fig|text|App C$|Thm 1-2|Thm 1\(c\)|Thm 2$)")


def test_every_row_is_tried_or_says_what_is_missing() -> None:
    assert len({one.name for one in COVERAGE}) == len(COVERAGE)
    for one in COVERAGE:
        assert one.studies or one.tests or one.missing, one.name


def test_studies_that_are_named_exist_and_every_study_is_named() -> None:
    named = {name for one in COVERAGE for name in one.studies}
    assert named <= IDS
    # What covers a row that another study has too, or a claim of our own.
    more = {"zietlow2022/dto-steps", "zietlow2022/orthogonal", "zietlow2022/seeds",
            "mathieu2019/seed-share"}  # fmt: skip
    assert {study.id for study in STUDIES} - named <= more


@pytest.mark.parametrize("one", [one for one in COVERAGE if one.tests], ids=lambda one: one.name)
def test_tests_that_are_named_exist(one: Covered) -> None:
    for name in one.tests:
        path, function = name.split("::")
        assert f"def {function}(" in (ROOT / path).read_text("utf-8"), name


def test_every_question_of_the_papers_has_its_line() -> None:
    for paper, count in QUESTIONS.items():
        own = [one.row for one in COVERAGE if one.paper == paper and not PRINTED.match(one.row)]
        assert len(own) >= count, (paper, own)


def test_every_row_of_the_reference_is_in_the_table() -> None:
    """Where the reference lies beside the checkout."""
    reference = ROOT.parent / "shared" / "reference" / "papers.md"
    reference = reference if reference.exists() else ROOT.parents[1] / "shared/reference/papers.md"
    if not reference.exists():
        pytest.skip("the reference is not beside this checkout")
    text = reference.read_text("utf-8")
    papers = ("grzes2023", "bonheme2023", "zietlow2022", "bhowal2024", "mathieu2019")
    names = {one.name for one in COVERAGE}
    left = []
    for k, paper in enumerate(papers, start=1):
        section = text.split(f"### 9.{k} ")[1].split("\n##")[0]
        rows = re.findall(r"^\| ([^|]+?) \|", section, flags=re.MULTILINE)
        # Rows that repeat the one above (`"`) and chapters that are out of scope are no rows.
        wanted = [f"{paper} {row}" for row in rows if row not in ("id", '"')]
        assert len(wanted) >= 6
        left += [name for name in wanted if name not in names and not SCHEMATIC.match(name)]
    assert left == []


def test_the_scoreboard_shows_all_that_is_missing() -> None:
    page = "\n".join(coverage_lines())
    assert len(missing()) > 20
    for one in missing():
        assert one.row in page and one.missing in page
    committed = (ROOT / "docs" / "results" / "index.md").read_text("utf-8")
    assert page in committed
