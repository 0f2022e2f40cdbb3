"""What the committed tables took: the sum, its measured part, and nothing left without a word."""

from dataclasses import replace
from pathlib import Path

import pytest

from vaescope.report.run_times import RunTime, add_time, read_times, save_times, times_section
from vaescope.studies.catalogue import STUDIES
from vaescope.studies.study import Study

RESULTS = Path(__file__).parents[2] / "docs" / "results"
RUN = RunTime("a" * 16, 8, 720.0, 500.0, 2.0, "2026-11-19", "two cores")


def test_runs_of_one_design_add_up_and_another_design_begins_anew() -> None:
    both = add_time(RUN, replace(RUN, units=4, processor=180.0, wall=100.0))
    assert (both.units, both.processor, both.wall) == (12, 900.0, 600.0)
    assert add_time(RUN, replace(RUN, work="b" * 16, units=1)).units == 1


def test_a_sample_is_replaced_by_a_run() -> None:
    sample = replace(RUN, units=2, note="from 2 units")
    assert add_time(sample, RUN) == RUN


def test_the_sum_keeps_what_is_scaled_apart() -> None:
    """720 s for 8 units: 10 units take 900 s, 180 of them scaled; a sample of 2 units at 60 s
    scaled to 30 takes 1,800 s, none of it measured."""
    sample = replace(RUN, work="b" * 16, units=2, processor=120.0, note="from 2 units")
    alike = replace(RUN, units=0, processor=0.0)
    text = "\n".join(
        times_section([("a", 10, RUN), ("b", 30, sample), ("c", 10, alike), ("d", 5, None)])
    )
    assert "3 tables from nothing: 0.8 processor hours, 0.4 hours on two cores" in text  # .75, .375
    assert "0.2 of them are measured, 0.6 scaled" in text  # .2 and .55
    assert "| c | 10 | | 0 | 0 | the work of a |" in text
    assert "Of 1 others no time is known: d." in text


def test_they_are_read_as_they_were_saved(tmp_path: Path) -> None:
    save_times({"b": RUN, "a": replace(RUN, units=1)}, tmp_path / "times.json")
    assert list(read_times(tmp_path / "times.json").items()) == [
        ("a", replace(RUN, units=1)), ("b", RUN),
    ]  # fmt: skip


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_every_study_with_a_table_has_a_time_or_is_named(study: Study) -> None:
    if not (RESULTS / "studies" / f"{study.id.replace('/', '-')}.json").exists():
        pytest.skip("no table yet")
    section = (RESULTS / "index.md").read_text("utf-8").split("## What the tables took")[1]
    timed, _, left = section.partition("no time is known: ")
    assert f"| {study.id} |" in section or study.id in left.split("\n")[0]
    assert timed
