"""What a run writes down reaches each logger, and is read back by that logger's own reader."""

import csv
import io
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.command import vaescope

import vaescope as vs
from vaescope.build import build_data
from vaescope.errors import Interrupted, UsageError
from vaescope.loggers import LOGGERS, check_loggers, logged, numbers
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.training.bar import shown
from vaescope.training.run import train_run

SETTINGS: dict[str, Any] = {
    "steps": 60, "latent": 2, "seed": 3, "logging.every": 20, "validation.every": 30,
    "validation.patience": 100,
}  # fmt: skip


def train(folder: Path, **options: Any) -> Run:
    return vs.train("vae", "pinwheel", out=folder, **SETTINGS, **options)


def expected(run: Run) -> dict[int, dict[str, float]]:
    """The files of the run, which no logger writes."""
    table: dict[int, dict[str, float]] = {}
    for file, before in (("history.jsonl", ""), ("validation.jsonl", "validation_")):
        for line in (run.path / file).read_text().splitlines():
            row = json.loads(line)
            step = table.setdefault(row.pop("step"), {})
            for name, value in row.items():
                if isinstance(value, list):
                    step |= {f"{name}_{place}": one for place, one in enumerate(value)}
                else:
                    step[before + name] = value
    return table


def close(got: dict[int, dict[str, float]], run: Run, rel: float = 1e-12) -> None:
    wanted = expected(run)
    assert sorted(wanted) == [20, 30, 40, 60]
    assert {step: sorted(row) for step, row in got.items()} == {
        step: sorted(row) for step, row in wanted.items()
    }
    for step, row in wanted.items():
        assert got[step] == pytest.approx(row, rel=rel), step


def test_every_row_is_given_to_on_record(tmp_path: Path) -> None:
    rows: list[Any] = []
    run = train(tmp_path, on_record=rows.append)
    close({row["step"]: numbers(row) for row in rows}, run)
    assert rows[0]["step"] == 20 and "loss" in rows[0] and set(rows[1]) == {
        "step", "validation_elbo", "validation_distortion", "validation_rate",
    }  # fmt: skip


def read_csv(run: Run) -> dict[int, dict[str, float]]:
    with (run.path / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {
        int(row["step"]): {k: float(v) for k, v in row.items() if k != "step" and v} for row in rows
    }


def test_a_csv_file_is_written_and_read_back(tmp_path: Path) -> None:
    run = train(tmp_path, loggers=("csv",))
    close(read_csv(run), run)


@pytest.mark.slow
def test_a_csv_file_of_a_resumed_run_is_whole(tmp_path: Path) -> None:
    spec = from_command_line(
        "vae", ["data.name=pinwheel", *(f"{k}={v}" for k, v in SETTINGS.items())]
    )
    run = Run.of(spec, "vae", tmp_path)
    run.create(spec)
    data, calls = build_data(spec.data), 0

    def stop() -> int:
        nonlocal calls
        calls += 1
        return 15 if calls == 45 else 0

    cpu = torch.device("cpu")
    with pytest.raises(Interrupted):
        for _ in logged(train_run(run, spec, data, device=cpu, stop=stop), run, spec, ["csv"]):
            pass
    assert sorted(read_csv(run)) == [20, 30, 40]
    for _ in logged(train_run(run, spec, data, device=cpu), run, spec, ["csv"]):
        pass
    close(read_csv(run), run)


def test_tensorboard_reads_the_event_files(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train(tmp_path, loggers=("tensorboard",))
    events = EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    got: dict[int, dict[str, float]] = {}
    for name in events.Tags()["scalars"]:
        for event in events.Scalars(name):
            got.setdefault(event.step, {})[name] = event.value
    close(got, run, rel=1e-6)  # event files hold float32


def log_records(content: bytes) -> Iterator[bytes]:
    """The records of a LevelDB log, which W&B writes after seven bytes of its own."""
    place, parts = 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:  # no header fits into the rest of this block
            place += 32768 - place % 32768
            continue
        length, kind = struct.unpack_from("<HB", content, place + 4)
        parts += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield parts
            parts = b""


@pytest.mark.slow
def test_an_offline_run_of_wandb_is_written_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb", reason="the extra wandb is not installed")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_MODE", "offline")
    run = train(tmp_path, loggers=("wandb",))
    wandb.teardown()  # a process of W&B's own writes the file: wait for its end
    (file,) = run.path.glob("wandb/offline-run-*/*.wandb")
    got: dict[int, dict[str, float]] = {}
    config: dict[str, Any] = {}
    for content in log_records(file.read_bytes()):
        record = Record()
        record.ParseFromString(content)
        config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
        if record.WhichOneof("record_type") == "history":
            row = {
                (item.key or ".".join(item.nested_key)): json.loads(item.value_json)
                for item in record.history.item
            }
            got[row["_step"]] = {k: v for k, v in row.items() if not k.startswith("_")}
    close(got, run)
    assert config["latent"] == 2 and config["data"]["name"] == "pinwheel"


@pytest.mark.slow
def test_a_file_store_of_mlflow_is_written_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file:{tmp_path / 'store'}")
    run = train(tmp_path / "runs", loggers=("mlflow",))
    client = mlflow.MlflowClient()
    place = client.get_experiment_by_name("vaescope")
    assert place is not None
    (stored,) = client.search_runs([place.experiment_id])
    assert stored.info.run_name == run.path.name and stored.info.status == "FINISHED"
    assert stored.data.params["latent"] == "2" and stored.data.params["data.name"] == "pinwheel"
    got: dict[int, dict[str, float]] = {}
    for name in stored.data.metrics:
        for metric in client.get_metric_history(stored.info.run_id, name):
            got.setdefault(metric.step, {})[name] = metric.value
    close(got, run)


def test_a_store_that_mlflow_refuses_is_an_error_of_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    mlflow.set_tracking_uri("nowhere://at/all")
    try:
        with pytest.raises(UsageError, match="MLflow cannot be used: ") as caught:
            train(tmp_path / "runs", loggers=("mlflow",))
    finally:
        mlflow.set_tracking_uri("")
    assert "MLFLOW_TRACKING_URI" in caught.value.remedy


def test_loggers_that_are_not_there_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="wanted some of csv, tensorboard, wandb, mlflow"):
        train(tmp_path, loggers=("tensorbord",))
    with pytest.raises(UsageError, match=r'Give e\.g\. loggers=\("csv",\)'):
        train(tmp_path, loggers="csv")
    monkeypatch.setattr("vaescope.loggers.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'vaescope\[wandb\]'"):
        train(tmp_path, loggers=("wandb",))
    assert not list(tmp_path.iterdir())
    check_loggers(["csv"])
    assert list(LOGGERS) == ["csv", "tensorboard", "wandb", "mlflow"]


@pytest.mark.slow
def test_loggers_do_not_change_what_is_trained(tmp_path: Path) -> None:
    plain, logged_run = (
        train(tmp_path / "a"),
        train(tmp_path / "b", loggers=("csv",), progress=True),
    )
    for name in ("weights.safetensors", "history.jsonl", "validation.jsonl"):
        assert (plain.path / name).read_bytes() == (logged_run.path / name).read_bytes()


@pytest.mark.slow
def test_a_bar_ends_at_the_last_step_and_is_drawn_only_when_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(tmp_path / "a")
    assert capsys.readouterr() == ("", "")
    train(tmp_path / "b", progress=True)
    said = capsys.readouterr()
    assert said.out == "" and said.err.endswith("\n") and said.err.count("\n") == 1
    assert "[########################] 60/60" in said.err and "loss" in said.err
    stream = io.StringIO()
    assert list(shown(iter([]), "nothing", stream=stream)) == [] and stream.getvalue() == ""


def test_the_command_takes_a_logger(tmp_path: Path) -> None:
    words = ["train", "vae", "data.name=pinwheel", "latent=2", "steps=4", "--logger", "csv"]
    ended = vaescope(*words, "--json", "--quiet", "--out", tmp_path, check=True)
    run = Run(Path(json.loads(ended.stdout)["runs"][0]["path"]))
    assert sorted(read_csv(run)) == [4]
