"""Runs end the same whatever happens on the way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.waiting import LIMIT, until

import vaescope as vs
from vaescope.data import Dataset
from vaescope.data.in_memory import from_arrays
from vaescope.errors import (
    BusyError,
    DataError,
    DiskError,
    Interrupted,
    NonFiniteError,
    RangeError,
    RunError,
    UsageError,
)
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.training import run as run_module
from vaescope.training.run import train_run

CPU = torch.device("cpu")
SMALL = ["data.name=synth-linear", "data.n=500", "latent=2", "steps=60", "logging.every=20",
         "optimiser.lr=1e-2"]  # fmt: skip


def start(folder: Path, *settings: str, name: str = "beta-vae") -> tuple[Run, Dataset]:
    spec = from_command_line(name, [*SMALL, *settings])
    run = Run.of(spec, name, folder)
    run.create(spec)
    from vaescope.build import build_data

    return run, build_data(spec.data)


def finish(run: Run, data: Dataset, stop_after: int | None = None) -> None:
    seen = 0

    def stop() -> int:
        nonlocal seen
        seen += 1
        return signal.SIGTERM if seen == stop_after else 0

    for _ in train_run(run, run.open(), data, device=CPU, stop=stop):
        pass


def same(a: Run, b: Run) -> None:
    assert a.weights.read_bytes() == b.weights.read_bytes()
    assert a.history.read_bytes() == b.history.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("posterior", ["diagonal", "full"])
@pytest.mark.parametrize("optimiser", ["name=adam", "name=adagrad", "amsgrad=true"])
def test_stopped_at_any_step_and_resumed_it_ends_the_same(
    tmp_path: Path, posterior: str, optimiser: str
) -> None:
    settings = [f"posterior.name={posterior}", f"optimiser.{optimiser}"]
    whole, data = start(tmp_path / "a", *settings)
    finish(whole, data)
    broken, _ = start(tmp_path / "b", *settings)
    for after in (7, 20, 13):
        with pytest.raises(Interrupted):
            finish(broken, data, stop_after=after)
        assert not broken.is_done
    finish(broken, data)
    same(whole, broken)
    assert [row["step"] for row in whole.records()] == [20, 40, 60]


def test_a_run_with_a_split_trains_on_its_first_part_alone(tmp_path: Path) -> None:
    """Rows outside that part may hold anything in the data's range: the weights are the same."""
    from vaescope.build import held_out_rows

    shares = ["split.shares=[0.8, 0.1, 0.1]", "split.seed=3"]
    run, data = start(tmp_path / "a", *shares)
    finish(run, data)
    unseen = held_out_rows(run.open(), data)
    assert len(unseen) == 50
    changed = data.rows(np.arange(500))
    assert data.sources is not None and unseen.sources is not None
    places = [int(np.flatnonzero((data.sources == w).all(axis=1))[0]) for w in unseen.sources]
    changed[places] = changed[0]
    other = Run.of(run.open(), "beta-vae", tmp_path / "b")
    other.create(run.open())
    finish(other, from_arrays(changed))
    same(run, other)
    seen, _ = start(tmp_path / "c")
    finish(seen, data)
    assert seen.weights.read_bytes() != run.weights.read_bytes()
    assert seen.path.name != run.path.name


def test_shares_that_are_no_split_are_refused() -> None:
    with pytest.raises(UsageError, match=r"split\.shares must be .*add up to 1"):
        from_command_line("beta-vae", ["split.shares=[0.8, 0.1, 0.2]"])


@pytest.mark.slow
def test_a_convolutional_run_resumes_exactly(tmp_path: Path, small_sprites: Dataset) -> None:
    def begin(folder: str) -> Run:
        spec = from_command_line("beta-vae", ["data.size=32", "steps=8", "logging.every=3"])
        run = Run.of(spec, "beta-vae", tmp_path / folder)
        run.create(spec)
        return run

    whole, broken = begin("a"), begin("b")
    finish(whole, small_sprites)
    with pytest.raises(Interrupted):
        finish(broken, small_sprites, stop_after=4)
    finish(broken, small_sprites)
    same(whole, broken)


def test_rows_written_after_the_last_checkpoint_are_made_again(tmp_path: Path) -> None:
    whole, data = start(tmp_path / "a")
    finish(whole, data)
    broken, _ = start(tmp_path / "b")
    with pytest.raises(Interrupted):
        finish(broken, data, stop_after=25)
    with broken.history.open("a") as file:
        file.write('{"step": 40, "loss": 1.0}\n{"step": 60, "lo')  # killed in the middle
    finish(broken, data)
    same(whole, broken)


def test_a_done_run_is_left_alone(tmp_path: Path) -> None:
    run, data = start(tmp_path)
    finish(run, data)
    before = {f: f.stat().st_mtime_ns for f in run.path.iterdir()}
    finish(run, data)
    assert before == {f: f.stat().st_mtime_ns for f in run.path.iterdir()}


def test_the_folder_holds_what_the_interface_says_and_no_machine(tmp_path: Path) -> None:
    run, data = start(tmp_path)
    finish(run, data)
    names = {f.name for f in run.path.iterdir()} - {".lock"}
    assert names == {
        "spec.yaml", "spec.json", "history.jsonl", "timing.jsonl", "weights.safetensors",
        "state.safetensors", "environment.json", "done.json",
    }  # fmt: skip
    import getpass
    import socket

    for file in run.path.iterdir():
        content = file.read_bytes()
        for secret in (str(tmp_path), socket.gethostname(), f'"{getpass.getuser()}"'):
            assert secret.encode() not in content, file.name


def test_another_interval_of_logging_is_said_to_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "vaescope")
    run, data = start(tmp_path)
    start(tmp_path)
    assert not caplog.messages
    assert start(tmp_path, "logging.every=7")[0].path == run.path
    (said,) = caplog.messages
    assert "keeps logging.every=20" in said and run.open().logging.every == 20
    finish(run, data)
    start(tmp_path, "logging.every=7")
    assert len(caplog.messages) == 1  # a run that is done has nothing to log


def test_two_processes_cannot_train_one_run(tmp_path: Path) -> None:
    run, data = start(tmp_path)
    with run.lock(), pytest.raises(BusyError, match="Another process"):
        finish(run, data)


def test_nan_stops_with_the_step_the_term_and_the_last_good_state(tmp_path: Path) -> None:
    run, data = start(tmp_path, "optimiser.lr=1e30", "likelihood.name=gaussian")
    with pytest.raises(NonFiniteError, match=r"(distortion|rate).* became (nan|inf) at step \d+"):
        finish(run, data)
    assert not run.is_done


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (np.linspace(-2, 2, 4096).reshape(4, 1, 32, 32), r"-2 to 2.*wanted 0 to 1"),
        (np.where(np.arange(4096) == 9, np.inf, 0.5).reshape(4, 1, 32, 32), "infinite"),
        (np.full((4, 1, 32, 32), np.nan), "NaN"),
    ],
)
def test_data_outside_the_likelihoods_range_are_refused(
    tmp_path: Path, rows: np.ndarray, says: str
) -> None:
    with pytest.raises(RangeError, match=says):
        vs.train("vae", rows, steps=2, out=tmp_path)


def test_a_dataset_outside_the_likelihoods_range_is_refused_before_the_first_step(
    tmp_path: Path,
) -> None:
    run, data = start(tmp_path, "likelihood.name=bernoulli")
    with pytest.raises(RangeError, match=r"Bernoulli likelihood takes \[0, 1\]"):
        finish(run, data)


def test_a_full_disk_is_explained_and_the_last_state_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, data = start(tmp_path)
    with pytest.raises(Interrupted):
        finish(run, data, stop_after=30)
    good = run.state.read_bytes()
    real = os.fsync

    def full(descriptor: int) -> None:
        import errno

        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError, match="disk is full"):
        finish(run, data, stop_after=10)
    monkeypatch.setattr(os, "fsync", real)
    assert run.state.read_bytes() == good
    assert not [f for f in run.path.iterdir() if f.name.startswith(".state")]
    finish(run, data)
    assert run.is_done


def test_a_damaged_state_is_named(tmp_path: Path) -> None:
    run, data = start(tmp_path)
    run.state.write_bytes(b"\x00" * 100)
    with pytest.raises(RunError, match=r"state\.safetensors is not a file that vaescope wrote"):
        finish(run, data)


def test_own_arrays_train_from_python_and_are_known_by_content(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    settings = {"steps": 5, "latent": 2, "out": tmp_path}
    run = vs.train("vae", x, **settings)
    assert vs.train("vae", x.copy(), **settings).path == run.path
    assert vs.train("vae", x + 1, **settings).path != run.path
    codes = vs.encode(run, from_arrays(x))
    assert codes.mean.shape == (200, 2)


def test_training_takes_tensors_of_any_kind_names_and_paths(tmp_path: Path) -> None:
    x = torch.rand(30, 4, generator=torch.Generator().manual_seed(0)).bfloat16()
    settings = {"steps": 2, "latent": 2, "out": tmp_path / "runs"}
    run = vs.train("vae", x.float().numpy(), **settings)
    assert vs.train("vae", x, **settings).path == run.path
    assert vs.train("vae", x.float().requires_grad_(), **settings).path == run.path
    np.save(tmp_path / "x.npy", x.float().numpy())
    assert vs.train("vae", tmp_path / "x.npy", **settings).path == run.path
    assert vs.train("vae", "pinwheel", **settings).open().data.name == "pinwheel"


def test_own_files_take_no_settings_and_lost_ones_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    with pytest.raises(UsageError, match="takes no size"):
        vs.load_dataset(tmp_path / "x.npy", size=32)
    with pytest.raises(DataError, match=r"lost\.npz does not exist"):
        vs.load_dataset("lost.npz")


def test_precision_and_threads_follow_the_size(small_sprites: Dataset) -> None:
    from vaescope.build import build_vae
    from vaescope.training.precision import choose, threads_for

    small = build_vae(from_command_line("beta-vae", ["data.name=synth-linear"]))
    large = build_vae(from_command_line("beta-vae", []))
    assert threads_for(small) == 1
    assert threads_for(large) == torch.get_num_threads()
    assert choose("auto", CPU, small) == "fp32"
    assert choose("fp32", CPU, large) == "fp32"


def test_bf16_steps_keep_latents_and_losses_in_float32(small_sprites: Dataset) -> None:
    from vaescope.training.loop import fetch, new_state, noise_at
    from vaescope.training.precision import autocast

    spec = from_command_line("beta-vae", ["data.size=32"])
    state = new_state(spec, CPU)
    batch = fetch(small_sprites, np.arange(16), CPU)
    noise = noise_at(0, 0, (1, 16, 10), CPU)
    now = torch.tensor(0.0)
    full = state.objective(state.vae, batch, now, noise)
    with autocast("bf16", CPU):
        half = state.objective(state.vae, batch, now, noise)
    assert half.posterior.mean.dtype == half.loss.dtype == torch.float32
    assert half.loss != full.loss
    torch.testing.assert_close(half.loss, full.loss, rtol=2e-2, atol=0)


# The real command, but with a checkpoint as often as may be, and, given a step, standing still once
# the row of that step is written: it cannot end before it is killed, however fast the machine is.
COMMAND = """
import sys, time
import vaescope.training.run as run
from vaescope.cli import main
run.CHECKPOINT_SECONDS = 0.0
last, write = int(sys.argv.pop(1)), run._append
def append(file, row):
    write(file, row)
    if row["step"] == last and "seconds" in row:
        time.sleep(1e6)
run._append = append
main()
"""


def training(folder: Path, *, until_step: int = 0, steps: int = 140) -> list[str]:
    return [sys.executable, "-c", COMMAND, str(until_step), "train", "beta-vae",
            "data.name=dsprites", "data.size=32", "data.grid.shape=[1]",
            "data.grid.orientation=[0]", f"steps={steps}", "logging.every=20",
            "--seed", "1", "--quiet", "--json", "--out", str(folder)]  # fmt: skip


def rows(folder: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in folder.glob("*/timing.jsonl"))


@pytest.mark.slow
def test_killed_three_times_it_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # the order of sums may depend on threads
    a, b = tmp_path / "a", tmp_path / "b"
    whole = subprocess.run(training(a), capture_output=True, check=True)
    for step in (20, 60, 100):
        process = subprocess.Popen(training(b, until_step=step), stdout=subprocess.PIPE)
        until(lambda: rows(b) == step // 20, process)  # noqa: B023
        process.kill()
        process.communicate()
    last = subprocess.run(training(b), capture_output=True, check=True)
    first, second = (json.loads(done.stdout)["runs"][0] for done in (whole, last))
    assert 0 < second["resumed_from"] < 140
    same(Run(Path(first["path"])), Run(Path(second["path"])))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_checkpoints_then_exits(tmp_path: Path, number: int, code: int) -> None:
    process = subprocess.Popen(training(tmp_path, steps=10**9), stdout=subprocess.PIPE)
    until(lambda: rows(tmp_path) >= 1, process)
    process.send_signal(number)
    out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == code
    error = json.loads(out)["error"]
    assert error["type"] == "Interrupted"
    saved = int(error["message"].split(" after ")[1].split()[0])
    (state,) = tmp_path.glob("*/state.safetensors")
    assert json.loads(json.loads(header(state))["__metadata__"]["vaescope"])["step"] == saved >= 20


def header(path: Path) -> bytes:
    content = path.read_bytes()
    return content[8 : 8 + int.from_bytes(content[:8], "little")]


def test_checkpoints_follow_the_clock_not_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)
    saved: list[int] = []
    real = run_module.save_state

    def save(path: Path, state: run_module.State, digest: str, *, history: str) -> None:
        saved.append(state.step)
        real(path, state, digest, history=history)

    monkeypatch.setattr(run_module, "save_state", save)
    run, data = start(tmp_path)
    finish(run, data)
    assert saved[-1] == 60
    assert len(saved) > 1
