"""Tables of runs hold what the folders hold."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaescope.errors import RunError, UsageError
from vaescope.specs import to_dict
from vaescope.sweeps import plan, product
from vaescope.tables import Table, csv_text, read_table, save_table


def runs(folder: Path, *, betas: int = 2, seeds: int = 3) -> Path:
    """Folders as a sweep leaves them, without the training."""
    found = plan(
        product({"objective.beta": range(1, betas + 1), "seed": range(seeds)}),
        preset_name="beta-vae",
    )
    for name, spec in zip(found.names, found, strict=True):
        run = folder / name
        run.mkdir(parents=True)
        (run / "spec.json").write_text(json.dumps(to_dict(spec)))
        beta = spec.objective.beta  # type: ignore[union-attr]
        rows = [{"step": s, "loss": beta + spec.seed / s, "variance": [1.0] * 9} for s in (1, 2)]
        (run / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (run / "timing.jsonl").write_text('{"step": 1, "seconds": 2}\n{"step": 2, "seconds": 3}\n')
        (run / "done.json").write_text("{}")
        (run / "weights.safetensors").touch()
    return folder


def test_a_row_has_the_settings_and_the_last_record(tmp_path: Path) -> None:
    table = read_table(runs(tmp_path))
    row = list(table.rows())[-1]
    assert list(row)[:3] == ["run", "seed", "done"]
    assert row["seed"] == 2 and row["done"] is True
    assert row["data.name"] == "dsprites" and row["net.name"] == "conv"
    assert row["optimiser.betas"] == "[0.9, 0.999]"
    assert row["step"] == 2 and row["loss"] == row["objective.beta"] + 1.0  # type: ignore[operator]
    assert "variance" not in row and "seconds" not in row and "format" not in row
    assert table.varying() == ["seed", "objective.beta"]
    assert table.measures() == ["loss"]


def test_rows_come_in_the_order_of_numbers(tmp_path: Path) -> None:
    table = read_table(runs(tmp_path, betas=1, seeds=12))
    assert table.columns["seed"] == list(range(12))


def test_half_a_line_and_a_missing_history_are_no_harm(tmp_path: Path) -> None:
    names = sorted(path.name for path in runs(tmp_path, betas=1).iterdir())
    with (tmp_path / names[0] / "history.jsonl").open("a") as file:
        file.write('{"step": 3, "lo')
    (tmp_path / names[1] / "history.jsonl").unlink()
    (tmp_path / names[2] / "done.json").unlink()
    (tmp_path / "not-a-run").mkdir()
    table = read_table(tmp_path)
    assert table.columns["step"] == [2, None, 2]
    assert table.columns["done"] == [True, True, False]
    assert np.isnan(table.numbers("loss")[1])


def test_a_history_with_long_rows_is_read_from_its_end(tmp_path: Path) -> None:
    (name,) = (path.name for path in runs(tmp_path, betas=1, seeds=1).iterdir())
    rows = [{"step": s, "loss": 0.5 * s, "variance": [0.123456789] * 5000} for s in range(4)]
    (tmp_path / name / "history.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert read_table(tmp_path).columns["loss"] == [1.5]


def test_timing_adds_up_over_resumptions(tmp_path: Path) -> None:
    folder = runs(tmp_path, betas=1, seeds=1)
    (run,) = folder.iterdir()
    (run / "timing.jsonl").write_text(
        "".join(f'{{"step": {i}, "seconds": {s}}}\n' for i, s in enumerate((2, 5, 1, 4)))
    )
    assert read_table(folder, timing=True).columns["seconds"] == [9.0]


def test_scores_are_their_values(tmp_path: Path) -> None:
    folder = runs(tmp_path, betas=1, seeds=1)
    (run,) = folder.iterdir()
    scores = {"format": 1, "mean": {"mig": {"value": 0.25, "details": {"gaps": [1]}}}, "loss": 7}
    (run / "scores.json").write_text(json.dumps(scores))
    assert read_table(folder).results == {"step": [2], "loss": [7], "mean.mig": [0.25]}


def test_a_failure_shows_until_the_run_is_done(tmp_path: Path) -> None:
    folder = runs(tmp_path, betas=1, seeds=1)
    (run,) = folder.iterdir()
    (run / "failed.json").write_text('{"type": "NonFiniteError", "message": "nan"}')
    assert "error" not in read_table(folder).columns
    (run / "done.json").unlink()
    assert read_table(folder).columns["error"] == ["NonFiniteError: nan"]


def test_one_run_is_a_table_of_one_row(tmp_path: Path) -> None:
    run = next(runs(tmp_path).iterdir())
    assert read_table(run).columns["run"] == [run.name]


def test_csv_gives_back_every_digit(tmp_path: Path) -> None:
    table = read_table(runs(tmp_path))
    rows = list(csv.DictReader(io.StringIO(csv_text(table))))
    assert [float(row["loss"]) for row in rows] == table.columns["loss"]
    assert {row["done"] for row in rows} == {"true"}
    save_table(table, tmp_path / "deep" / "t.csv")
    assert (tmp_path / "deep" / "t.csv").read_text() == csv_text(table)


def test_parquet_gives_back_types_and_gaps(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    mixed: dict[str, Any] = {"run": ["a", "b"], "seed": [0, 1], "done": [True, False]}
    table = Table(mixed, {"loss": [1, 0.5], "what": ["x", 3], "rate": [None, 2.0]})
    save_table(table, tmp_path / "t.parquet")
    back = parquet.read_table(tmp_path / "t.parquet")
    assert back.to_pydict() == {**mixed, "loss": [1.0, 0.5], "what": ["x", "3"], "rate": [None, 2]}
    assert back.schema.metadata[b"format"] == b"1"


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"vaescope\[parquet\]"):
        save_table(read_table(runs(tmp_path)), tmp_path / "t.parquet")


@pytest.mark.slow
def test_ten_thousand_runs_are_all_read(tmp_path: Path) -> None:
    assert len(read_table(runs(tmp_path, betas=200, seeds=50))) == 10_000


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no folder"):
        read_table(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="no runs"):
        read_table(tmp_path / "empty")
    with pytest.raises(UsageError, match=r"\.csv or \.parquet"):
        save_table(read_table(runs(tmp_path / "runs")), tmp_path / "t.xls")
    run = next((tmp_path / "runs").iterdir())
    (run / "spec.json").write_text('{"format": 99}')
    with pytest.raises(RunError, match="format 99"):
        read_table(tmp_path / "runs")
    (run / "spec.json").write_text("{")
    with pytest.raises(RunError, match="is damaged"):
        read_table(tmp_path / "runs")
