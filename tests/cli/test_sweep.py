"""`vaescope sweep` and `vaescope table` as users and scripts see them."""

import csv
import io
import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.command import vaescope

from vaescope.cli.sweep import _drawn
from vaescope.sweeps import Status
from vaescope.sweeps.engine import WorkOutcome

SWEEP = """
preset: beta-vae
fixed: {data.name: synth-linear, data.n: 200, latent: 2, steps: 10, logging.every: 5}
grid: {objective.beta: [0.01, 0.1], seed: 0..1}
"""


def sweep(folder: Path, content: str, *more: str) -> tuple[int, dict[str, Any]]:
    (folder / "sweep.yaml").write_text(content)
    done = vaescope(
        "sweep", folder / "sweep.yaml", "--out", folder / "out", "--json", *more
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_a_sweep_its_table_and_its_page(tmp_path: Path) -> None:
    code, got = sweep(tmp_path, SWEEP, "--workers", "1")
    assert code == 0
    assert {k: got[k] for k in ("total", "done", "failed", "skipped")} == {
        "total": 4, "done": 4, "failed": 0, "skipped": 0
    }  # fmt: skip
    assert Path(got["page"]).stat().st_size > 500_000
    code, again = sweep(tmp_path, SWEEP)
    assert (code, again["done"], again["skipped"]) == (0, 4, 4)

    out = str(tmp_path / "out")
    rows = json.loads(vaescope("table", out, "--json").stdout)["rows"]
    assert [(row["objective.beta"], row["seed"], row["done"]) for row in rows].count(
        (0.1, 1, True)
    ) == 1
    assert "seconds" not in rows[0]
    assert "seconds" in json.loads(vaescope("table", out, "--timing", "--json").stdout)["rows"][0]
    piped = list(csv.DictReader(io.StringIO(vaescope("table", out).stdout)))
    assert [row["run"] for row in piped] == [row["run"] for row in rows]
    written = tmp_path / "t.csv"
    vaescope("table", out, "--out", str(written))
    assert list(csv.DictReader(written.open())) == piped
    summary = json.loads(vaescope("table", out, "--measure", "rate", "--json").stdout)["summary"]
    assert [one["t"]["n"] for one in summary["means"]] == [2, 2]
    assert sum(summary["variance"]["share"].values()) == pytest.approx(1.0)


def test_the_live_table_has_a_line_for_each_thing() -> None:
    outcome = WorkOutcome("beta-vae-s0-01234567", "trained")
    status = Status(12, 3, 0, 0, 2, 10.0, 30.0, (outcome,))
    console = Console(file=io.StringIO(), width=100)
    console.print(_drawn(status, deque([outcome])))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.split() for line in lines[:2]] == [
        ["done", "failed", "skipped", "running", "total", "time", "to", "go"],
        ["3", "0", "0", "2", "12", "10", "s", "30", "s"],
    ]
    assert set(lines[2].strip()) <= set("━╸╺") and lines[3].split() == ["trained", outcome.run]


@pytest.mark.slow
def test_a_failed_run_is_exit_code_one_and_the_others_are_done(tmp_path: Path) -> None:
    bad = SWEEP.replace(
        "grid:",
        "chain: [{fixed: {optimiser.lr: 1e-3}}, {fixed: {likelihood.name: bernoulli}}]\ngrid:",
    )
    code, got = sweep(tmp_path, bad, "--workers", "1", "--quiet")
    assert (code, got["total"], got["done"], got["failed"]) == (1, 8, 4, 4)
    assert all("RangeError" in one["message"] for one in got["failures"])
    assert json.loads(vaescope("table", str(tmp_path / "out"), "--json").stdout)["rows"]


@pytest.mark.parametrize(
    ("content", "more", "says"),
    [
        ("preset: beta-vae\ngrid: {objective.betta: [1]}", [], "objective.beta"),
        (SWEEP, ["--on", "dask"], "local"),
        (SWEEP, ["--workers", "0"], "workers"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, content: str, more: list[str], says: str) -> None:
    code, got = sweep(tmp_path, content, *more)
    assert code == 2 and says in got["error"]["message"] + got["error"]["remedy"]
    assert not (tmp_path / "out").exists()


def test_a_table_of_nothing_is_explained(tmp_path: Path) -> None:
    done = vaescope("table", str(tmp_path / "none"), "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["type"] == "RunError"
