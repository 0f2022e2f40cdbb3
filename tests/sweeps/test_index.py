"""The index is a copy of the folders, written by one process."""

import json
import sqlite3
from pathlib import Path

import pytest

from vaescope.sweeps.index import Index, index_path, indexed_rows
from vaescope.tables import read_row


def runs(folder: Path, *names: str) -> None:
    for seed, name in enumerate(names):
        (folder / name).mkdir()
        (folder / name / "spec.json").write_text(json.dumps({"seed": seed, "latent": 3}))
        (folder / name / "history.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
        (folder / name / "done.json").write_text("{}")


def test_it_is_what_the_folders_say(tmp_path: Path) -> None:
    runs(tmp_path, "a", "b")
    (tmp_path / "c").mkdir()
    with Index(tmp_path):
        pass
    assert list(indexed_rows(tmp_path)) == [read_row(tmp_path, name) for name in ("a", "b")]


def test_it_follows_what_changes_and_goes(tmp_path: Path) -> None:
    runs(tmp_path, "a", "b")
    with Index(tmp_path) as index:
        (tmp_path / "a" / "scores.json").write_text('{"mig": {"value": 0.5}}')
        (tmp_path / "b" / "spec.json").unlink()
        index.update(["a"])
        assert {row.run: row.results.get("mig") for row in indexed_rows(tmp_path)}["a"] == 0.5
    for file in (tmp_path / "b").iterdir():
        file.unlink()
    (tmp_path / "b").rmdir()
    with Index(tmp_path):
        pass
    assert [row.run for row in indexed_rows(tmp_path)] == ["a"]


def test_one_process_writes_and_the_next_takes_over(tmp_path: Path) -> None:
    with Index(tmp_path), Index(tmp_path) as second:
        runs(tmp_path, "a")
        second.update(["a"])
        assert list(indexed_rows(tmp_path)) == []
    with Index(tmp_path):
        assert [row.run for row in indexed_rows(tmp_path)] == ["a"]


def test_deleted_or_damaged_it_is_made_anew(tmp_path: Path) -> None:
    runs(tmp_path, "a")
    with Index(tmp_path):
        pass
    index_path(tmp_path).write_bytes(b"this is no database, but long enough to look at" * 50)
    with Index(tmp_path):
        pass
    assert [row.run for row in indexed_rows(tmp_path)] == ["a"]


def test_where_it_cannot_be_written_the_sweep_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs(tmp_path, "a")

    def full(*_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", full)
        with Index(tmp_path) as index:
            index.update(["a"])
            index.refresh()
    assert [message for message in caplog.messages if "disk is full" in message] != []
    with Index(tmp_path):
        pass
    assert [row.run for row in indexed_rows(tmp_path)] == ["a"]


def test_a_damaged_run_stops_nobody_else(tmp_path: Path) -> None:
    runs(tmp_path, "a", "b")
    (tmp_path / "a" / "spec.json").write_text("no JSON")
    with Index(tmp_path) as index:
        index.update(["a", "b"])
    assert [row.run for row in indexed_rows(tmp_path)] == ["b"]


def test_readers_do_not_wait_for_the_writer(tmp_path: Path) -> None:
    with Index(tmp_path):
        mode = sqlite3.connect(index_path(tmp_path)).execute("PRAGMA journal_mode").fetchone()
    assert mode == ("wal",)
