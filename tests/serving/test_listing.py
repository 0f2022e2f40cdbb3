"""Rows of the runs page: seeds folded honestly, filters by value, every view in its address."""

import shutil
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.serving.conftest import fill

from vaescope.errors import UsageError
from vaescope.serving.filters import column_named, parse_filter
from vaescope.serving.index import Index, Snapshot
from vaescope.serving.listing import listed, pareto
from vaescope.serving.view import FRONTS, View, view_of
from vaescope.statistics import mean_over_seeds
from vaescope.tables import read_table


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return fill(tmp_path / "runs")


def snapshot_of(runs: Path) -> Snapshot:
    return Index(runs, runs.parent / "cache").refresh()


def test_means_are_those_of_the_table_command(runs: Path) -> None:
    found = listed(snapshot_of(runs), View(q="beta=4"))
    (group,) = found.groups
    for path in runs.iterdir():
        if "b4" not in path.name:
            shutil.rmtree(path)
    (wanted,) = mean_over_seeds(read_table(runs), "distortion")
    mean = group.means["distortion"]
    assert (mean.n, mean.value) == (3, pytest.approx(wanted.estimate.value))
    assert mean.interval == pytest.approx(wanted.estimate.interval)


def test_a_copy_of_a_run_is_no_second_seed(runs: Path) -> None:
    before = listed(snapshot_of(runs), View(q="beta=4")).groups[0].means["mean.mig"]
    shutil.copytree(runs / "beta-vae-s2-b4", runs / "copies" / "again")
    (group,) = listed(snapshot_of(runs), View(q="beta=4")).groups
    assert len(group.entries) == 4
    assert group.means["mean.mig"].value == pytest.approx(before.value)
    assert group.means["mean.mig"].n == 3


def test_unfinished_runs_are_not_in_the_mean(runs: Path) -> None:
    (group,) = listed(snapshot_of(runs), View(q="beta=1")).groups
    assert (len(group.entries), len(group.counted)) == (4, 3)
    assert group.means["mean.mig"].value == pytest.approx(0.11)


def test_a_filter_on_a_measure_compares_the_mean_of_folded_seeds(runs: Path) -> None:
    snapshot = snapshot_of(runs)
    # Seeds of beta 1 score 0.10, 0.11 and 0.12: one of them is above 0.115, their mean is not.
    folded = listed(snapshot, View(q="mig>.115 state=done"))
    assert [g.settings["objective.beta"] for g in folded.groups] == [4.0]
    single = listed(snapshot, View(q="mig>.115 state=done", seeds=True))
    assert sorted(g.shown.path for g in single.groups) == [
        "beta-vae-s0-b4", "beta-vae-s1-b4", "beta-vae-s2-b1", "beta-vae-s2-b4",
    ]  # fmt: skip


def test_only_columns_that_differ_are_shown(runs: Path) -> None:
    columns = listed(snapshot_of(runs), View()).columns
    assert "objective.beta" in columns and "mean.mig" in columns
    assert not {"latent", "data.name", "batch"} & set(columns)


def test_sorting_puts_what_is_missing_last_both_ways(runs: Path) -> None:
    snapshot = snapshot_of(runs)
    for sort in ("sap", "-sap"):  # a score that only runs without given scores have
        groups = listed(snapshot, View(sort=sort)).groups
        known = [np.isfinite(g.means["mean.sap"].value) for g in groups]
        assert known == sorted(known, reverse=True)
    betas = [g.settings["objective.beta"] for g in listed(snapshot, View(sort="-beta")).groups]
    assert betas == [9.0, 4.0, 1.0]


@pytest.mark.parametrize(
    "text", ["beta>=", ">4", "beta>>4", "beta=4=5=", 'a"b', "nope>1", "=", "x" * 1001]
)
def test_a_filter_that_means_nothing_says_so(runs: Path, text: str) -> None:
    found = listed(snapshot_of(runs), View(q=text))
    assert found.problem and found.total == 3


def test_an_ambiguous_name_lists_what_it_may_be() -> None:
    with pytest.raises(UsageError, match=r"mig may be a\.mig, b\.mig"):
        column_named("mig", ["a.mig", "b.mig"])
    assert [c.op for c in parse_filter("beta >= 4 data=dsprites word")] == [">=", "=", ""]


texts = st.text(max_size=20).filter(lambda t: t.isprintable())


@given(
    st.builds(
        View, q=texts, sort=texts, seeds=st.booleans(), open=st.tuples(texts), cols=st.tuples(),
        page=st.integers(1, 10**8), x=texts, y=texts, front=st.sampled_from(FRONTS),
        sel=st.lists(texts, max_size=3).map(tuple),
    )
)  # fmt: skip
def test_every_view_is_restored_from_its_address(view: View) -> None:
    address = view.query()
    pairs = parse_qsl(address.partition("?")[2], keep_blank_values=True)
    assert view_of(pairs) == view


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12),
       st.sampled_from(FRONTS[1:]))  # fmt: skip
def test_the_front_is_what_no_point_beats(points: list[tuple[int, int]], front: str) -> None:
    signs = [-1 if side == "max" else 1 for side in front.split(",")]
    own = [(signs[0] * x, signs[1] * y) for x, y in points]
    wanted = {
        i for i, a in enumerate(own)
        if not any(b[0] <= a[0] and b[1] <= a[1] and b != a for b in own)
    }  # fmt: skip
    assert pareto(points, front) == wanted
