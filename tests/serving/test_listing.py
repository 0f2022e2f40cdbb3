"""Rows of the runs page: seeds folded honestly, filters by value, every view in its address."""

import shutil
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from benchmarks.serve import make_run, spec_of
from hypothesis import given
from hypothesis import strategies as st
from tests.serving.conftest import fill

from vaescope.errors import UsageError
from vaescope.serving.filters import column_named, parse_filter
from vaescope.serving.index import Index, Snapshot
from vaescope.serving.listing import listed, pareto
from vaescope.serving.view import FRONTS, View, view_of
from vaescope.statistics import mean_of, mean_over_seeds, means_of
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


def test_no_interval_ends_where_no_value_can_lie(runs: Path) -> None:
    groups = listed(snapshot_of(runs), View(cols=("active", "passive", "mig", "rate"))).groups
    ends = {name: g.means[name].interval for g in groups for name in ("active", "passive", "rate")}
    assert any(ends.values())
    for name, interval in ends.items():
        assert interval is None or interval[0] >= 0.0
        assert interval is None or name == "rate" or interval[1] <= 10.0, "ten latents"


def test_means_of_many_groups_are_those_of_each(runs: Path) -> None:
    values = np.array([0.1, 0.9, np.nan, 0.2, 1.4, 0.3, 0.35])
    places = [[0, 1], [2], [3, 4, 2], [5], [6, 5, 3], []]
    found = means_of("mig", values, places, latents=[None] * 6)
    for own, group in zip(found, places, strict=True):
        wanted = mean_of("mig", values[group])
        assert own.n == wanted.n and own.value == pytest.approx(wanted.value, nan_ok=True)
        assert (own.interval is None) == (wanted.interval is None)
        assert own.interval is None or own.interval == pytest.approx(wanted.interval)


def test_turning_a_page_does_not_sort_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = snapshot_of(runs)
    first = listed(snapshot, View(sort="-beta"), rows=1)
    monkeypatch.setattr("vaescope.serving.listing._select", lambda *_: pytest.fail("selected"))
    pages = [listed(snapshot, View(sort="-beta", page=page), rows=1) for page in (1, 2, 3)]
    assert [g.key for g in pages[0].groups] == [g.key for g in first.groups]
    assert [p.groups[0].settings["objective.beta"] for p in pages] == [9.0, 4.0, 1.0]


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


def test_settings_that_follow_from_a_name_are_left_out(runs: Path) -> None:
    for seed, (data, size) in enumerate((("dsprites", 32), ("mnist", 28))):
        spec = spec_of(4.0, seed)
        spec["data"] = {"name": data, "size": size}
        make_run(runs / f"other-{data}", spec, np.random.default_rng(seed), records=1)
    columns = listed(snapshot_of(runs), View(q="other")).columns
    assert "data.name" in columns and "data.size" not in columns
    both = listed(snapshot_of(runs), View(q="other", cols=("size",)))
    assert both.columns == ("data.size",)


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


@pytest.mark.slow
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


@pytest.mark.slow
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
