"""The index sees what is on the disk, reads what changed, and never what lies outside."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.serve import history_of, make_run, spec_of
from starlette.testclient import TestClient

from vaescope.sealing import seal_document, sha256_of
from vaescope.serving import index as indexing
from vaescope.serving.app import create_app
from vaescope.serving.index import Index
from vaescope.serving.site import Options


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(indexing, "PAUSE", 0.0)
    monkeypatch.setattr(indexing, "SHARE", 0.0)
    for seed in range(3):
        make_run(tmp_path / "runs" / f"r-s{seed}", spec_of(2.0, seed), np.random.default_rng(seed),
                 records=2)  # fmt: skip
    return tmp_path / "runs"


def test_a_second_scan_reads_only_what_changed(runs: Path, tmp_path: Path) -> None:
    index = Index(runs, tmp_path / "cache")
    assert index.refresh().read == 3
    version = index.refresh().version
    assert version == 1, "nothing changed"
    with (runs / "r-s1" / "history.jsonl").open("a") as file:
        file.write(json.dumps({"step": 300, "rate": 7.0}) + "\n")
    (runs / "r-s1" / "done.json").unlink()
    make_run(runs / "deep" / "er" / "r-s9", spec_of(3.0, 9), np.random.default_rng(0))
    snapshot = index.refresh()
    assert (snapshot.version, snapshot.read, len(snapshot.entries)) == (2, 2, 4)
    changed = snapshot.find("r-s1")
    assert changed is not None and changed.state == "unfinished"
    assert snapshot.results(changed)["rate"] == 7.0
    assert snapshot.find("deep/er/r-s9") is not None


@pytest.mark.parametrize(
    ("text", "seed", "beta"),
    [
        ('{\n "beta": 1,\n "seed": 8\n}', 8, 1),
        ('{\n "beta": 2,\n "seed": 8\n}', 8, 2),
        ('{\n "beta": 1,\n "seed": 8,\n "seed": 9\n}', 9, 1),  # the last one holds
        ('{\n "beta": 1,\n "seed": 8,\n "s\\u0065ed": 9\n}', 9, 1),
        ('{\n "beta": 1,\n "data": {\n "seed": 8\n}}', None, 1),  # of a part
        ('{\n "beta": 1,\n "seed": -8\n}', -8, 1),
    ],
)
def test_a_text_that_differs_in_its_seed_alone_is_read_as_json_says(
    tmp_path: Path, text: str, seed: int | None, beta: int
) -> None:
    for name, other in (("a", text.replace("8", "7")), ("b", text)):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "spec.json").write_text(other)
    snapshot = Index(tmp_path / "runs", tmp_path / "cache").refresh()
    run = snapshot.find("b")
    assert run is not None and run.seed == seed
    assert snapshot.settings[run.setting]["beta"] == beta
    assert snapshot.settings[run.setting].get("data.seed") == (8 if seed is None else None)


def test_a_wrong_seed_is_no_seed_of_a_text_that_was_read(tmp_path: Path) -> None:
    for name, seed in (("a", "7"), ("b", "07"), ("c", "99999999999999999999")):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "spec.json").write_text(f'{{\n "beta": 1,\n "seed": {seed}\n}}')
    entries = Index(tmp_path / "runs", tmp_path / "cache").refresh().entries
    assert [entry.state for entry in entries] == ["unfinished", "damaged", "damaged"]


def test_the_cache_is_only_a_cache(runs: Path, tmp_path: Path) -> None:
    first = Index(runs, tmp_path / "cache")
    entries = first.refresh().entries
    first.close()
    warm = Index(runs, tmp_path / "cache")
    assert warm.refresh().read == 0
    assert warm.snapshot.entries == entries
    warm.close()
    (file,) = (tmp_path / "cache").glob("*.sqlite")
    file.write_bytes(b"SQLite format 3\0" + b"nonsense" * 500)
    damaged = Index(runs, tmp_path / "cache")
    assert damaged.refresh().entries == entries
    damaged.close()
    in_memory = Index(runs, Path("/proc/nowhere"))
    assert in_memory.refresh().entries == entries


def test_deleted_and_renamed_runs_are_seen(runs: Path, tmp_path: Path) -> None:
    index = Index(runs, tmp_path / "cache")
    index.refresh()
    shutil.rmtree(runs / "r-s0")
    (runs / "r-s1").rename(runs / "better")
    assert sorted(e.path for e in index.refresh().entries) == ["better", "r-s2"]
    assert index.moved("r-s1") == "better"
    assert index.moved("r-s0") is None


@pytest.mark.parametrize("content", ["", '{"objective": ', "[1]", '{"format": 99}'])
def test_a_half_written_run_is_named_and_stops_nobody(
    runs: Path, tmp_path: Path, content: str
) -> None:
    (runs / "half").mkdir()
    (runs / "half" / "spec.json").write_text(content)
    (runs / "r-s2" / "history.jsonl").write_text("{}\n")
    snapshot = Index(runs, tmp_path / "cache").refresh()
    states = {e.path: e.state for e in snapshot.entries}
    assert states == {"half": "damaged", "r-s0": "done", "r-s1": "done", "r-s2": "damaged"}
    assert all(e.error for e in snapshot.entries if e.state == "damaged")


def test_halves_of_characters_and_names_that_are_taken_stop_nobody(
    runs: Path, tmp_path: Path
) -> None:
    for name in ("spec.json", "done.json"):
        (runs / "r-s0" / name).unlink()
    spec = {**spec_of(2.0, 0), "note": "\ud800"}
    (runs / "r-s0" / "spec.json").write_text(json.dumps(spec))
    (runs / "r-s0" / "failed.json").write_text('{"type": "E", "message": "\\udfff"}')
    (runs / "r-s1" / "scores.json").write_text('{"seed": 9, "latent": 3, "\\ud800": 1.0}')
    app = create_app(Options(runs, cache=tmp_path / "cache"))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for address in ("/", "/?seeds=1", "/run?path=r-s0", "/api/live?path=r-s0", "/save"):
            assert client.get(address).status_code == 200, address
        snapshot = app._app.state.site.snapshot()
        found = snapshot.results(snapshot.find("r-s1"))
        assert (found["result.seed"], found["result.latent"]) == (9.0, 3.0)


def exported(folder: Path) -> Path:
    """As `vs.save_pretrained` writes a run."""
    folder.mkdir(parents=True)
    history = history_of(np.random.default_rng(0), 3)
    config = {"library": "vaescope", "format": 1, "name": "r", "digest": "0" * 64,
              "weights_sha256": "0" * 64, "experiment": spec_of(5.0, 7),
              "files": {"history.jsonl": sha256_of(history), "model.safetensors": ""}}  # fmt: skip
    (folder / "history.jsonl").write_bytes(history)
    (folder / "model.safetensors").touch()
    (folder / "config.json").write_text(json.dumps(seal_document(config), indent=1))
    return folder


def test_exported_folders_are_runs_too(runs: Path, tmp_path: Path) -> None:
    exported(runs / "for-the-hub")
    (runs / "sweep").mkdir()
    (runs / "sweep" / "config.json").write_text('{"model_type": "bert"}')  # somebody else's
    (runs / "r-s0").rename(runs / "sweep" / "r-s0")
    index = Index(runs, tmp_path / "cache")
    snapshot = index.refresh()
    assert [e.path for e in snapshot.entries] == ["for-the-hub", "r-s1", "r-s2", "sweep/r-s0"]
    hub = snapshot.entries[0]
    assert (hub.state, hub.seed) == ("done", 7)
    assert snapshot.settings[hub.setting]["objective.beta"] == 5.0
    assert snapshot.results(hub)["step"] == 300
    with (runs / "for-the-hub" / "history.jsonl").open("a") as file:
        file.write("x")
    damaged = index.refresh().entries[0]
    assert damaged.state == "damaged" and "history.jsonl is damaged" in damaged.error


def test_an_export_whose_config_was_changed_is_damaged(runs: Path, tmp_path: Path) -> None:
    config = exported(runs / "hub") / "config.json"
    config.write_text(config.read_text().replace("5.0", "6.0"))
    entry = Index(runs, tmp_path / "cache").refresh().find("hub")
    assert entry is not None and entry.state == "damaged" and "checksum" in entry.error


def test_links_that_leave_are_not_followed(runs: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    make_run(outside / "secret", spec_of(1.0, 0), np.random.default_rng(0))
    os.symlink(outside / "secret", runs / "linked-folder")
    os.symlink(runs / "r-s0", runs / "inside-link")
    for name in ("spec.json", "history.jsonl", "scores.json"):
        (runs / f"leak-{name}").mkdir()
        for own in ("spec.json", "history.jsonl"):
            shutil.copy(outside / "secret" / own, runs / f"leak-{name}" / own)
        (runs / f"leak-{name}" / name).unlink(missing_ok=True)
        os.symlink(outside / "secret" / name, runs / f"leak-{name}" / name)
    snapshot = Index(runs, tmp_path / "cache").refresh()
    assert snapshot.find("linked-folder") is None
    assert snapshot.find("inside-link") is not None
    leaks = [e for e in snapshot.entries if e.path.startswith("leak")]
    assert [e.state for e in leaks] == ["damaged"] * 3
    assert all("link that leaves" in e.error for e in leaks)
