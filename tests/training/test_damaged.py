"""Run folders that were damaged are refused by name, and nothing wrong is trained or read."""

import json
import logging
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

from vaescope.build import build_data
from vaescope.encoding import load_vae
from vaescope.errors import RunError
from vaescope.inspection import inspect
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.tables import read_table
from vaescope.training.run import train_run

SETTINGS = ["data.name=synth-linear", "data.n=200", "latent=2", "steps=40", "logging.every=10"]


def train(run: Run) -> None:
    spec = run.open()
    for _ in train_run(run, spec, build_data(spec.data), device=torch.device("cpu")):
        pass


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A finished run."""
    spec = from_command_line("vae", SETTINGS)
    made = Run.of(spec, "vae", tmp_path)
    made.create(spec)
    train(made)
    return made


def undone(run: Run) -> None:
    (run.path / "done.json").unlink()


def change_spec(run: Run, **changes: object) -> None:
    file = run.path / "spec.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def without(run: Run, name: str) -> None:
    """Takes a tensor or a fact out of the state."""
    content = run.state.read_bytes()
    length = int.from_bytes(content[:8], "little")
    facts = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["vaescope"])
    tensors = load(content)
    del (facts if name in facts else tensors)[name]
    run.state.write_bytes(save(tensors, {"vaescope": json.dumps(facts)}))


def test_lost_weights_are_made_again_from_the_last_checkpoint(run: Run) -> None:
    weights, history = run.weights.read_bytes(), run.history.read_bytes()
    run.weights.unlink()
    assert not run.is_done
    train(run)
    assert run.is_done
    assert (run.weights.read_bytes(), run.history.read_bytes()) == (weights, history)


def test_weights_of_which_one_bit_changed_are_refused(run: Run) -> None:
    content = bytearray(run.weights.read_bytes())
    content[-1] ^= 1
    run.weights.write_bytes(bytes(content))
    with pytest.raises(RunError, match=r"weights\.safetensors has changed since"):
        load_vae(run)


@pytest.mark.parametrize("content", ["", "[]"])
def test_a_damaged_mark_of_the_end_is_named(run: Run, content: str) -> None:
    (run.path / "done.json").write_text(content)
    with pytest.raises(RunError, match=r"done\.json is damaged"):
        load_vae(run)


@pytest.mark.parametrize(
    ("changes", "says"), [({"extra": 1}, "no setting extra"), ({"format": 2}, "format 2")]
)
def test_a_spec_that_cannot_be_read_is_an_error_of_the_run_not_of_the_user(
    run: Run, changes: dict[str, object], says: str
) -> None:
    change_spec(run, **changes)
    with pytest.raises(RunError, match=rf"spec\.json cannot be read: .*{says}"):
        run.open()


def test_a_spec_that_is_no_group_is_named(run: Run) -> None:
    (run.path / "spec.json").write_text("[]")
    with pytest.raises(RunError, match=r"spec\.json is not JSON"):
        run.open()


@pytest.mark.slow
@pytest.mark.parametrize("content", [b'{"step": 1, "lo\n{}\n', b"\xff\xfe\n", b"{}\n", b"[]\n"])
def test_a_damaged_line_of_the_history_is_named(run: Run, content: bytes) -> None:
    undone(run)
    run.history.write_bytes(content)
    with pytest.raises(RunError, match=r"Line 1 of .*history\.jsonl is damaged"):
        train(run)


def test_a_table_names_a_damaged_history(run: Run) -> None:
    history = run.history.read_bytes()
    run.history.write_text("no JSON\n")
    with pytest.raises(RunError, match=r"history\.jsonl is damaged"):
        read_table(run.path.parent)
    run.history.write_bytes(history)
    run.timing.write_text("no JSON\n")
    with pytest.raises(RunError, match=r"timing\.jsonl is damaged"):
        read_table(run.path.parent, timing=True)


@pytest.mark.parametrize("rows", [0, 2])
def test_a_history_that_lost_rows_of_before_the_checkpoint_is_not_gone_on_with(
    run: Run, rows: int
) -> None:
    undone(run)
    lines = run.history.read_text().splitlines(keepends=True)
    run.history.write_text("".join(lines[:rows]))
    with pytest.raises(RunError, match=f"ends at step {10 * rows}; it had rows up to 40"):
        train(run)
    assert len(run.history.read_text().splitlines()) == rows  # as it was found


@pytest.mark.parametrize("fact", ["digest", "step", "format"])
def test_a_state_that_lacks_a_fact_is_named(run: Run, fact: str) -> None:
    undone(run)
    for name in ("seal", "history", fact):  # as older states are
        without(run, name)
    with pytest.raises(
        RunError,
        match=r"state\.safetensors (holds no state|is damaged: its header names no format)",
    ):
        train(run)


def test_a_state_of_which_one_bit_changed_is_refused(run: Run) -> None:
    undone(run)
    content = bytearray(run.state.read_bytes())
    content[-1] ^= 1
    run.state.write_bytes(bytes(content))
    with pytest.raises(RunError, match=r"state\.safetensors is damaged"):
        train(run)


def test_a_state_of_another_architecture_is_refused(run: Run) -> None:
    undone(run)
    without(run, "history")
    without(run, "seal")  # as older states are
    without(run, "weights/vae/decoder.body.0.bias")
    with pytest.raises(RunError, match=r"state\.safetensors holds \d tensors that do not fit"):
        train(run)


def test_what_a_kill_left_of_a_save_is_removed_and_nothing_else(run: Run) -> None:
    undone(run)
    left = [run.path / ".state.safetensors.123", run.path / ".history.jsonl.4567"]
    others = [run.path / ".spec.json.123", run.path / ".state.safetensors.keep"]
    for file in (*left, *others):
        file.write_text("half")
    train(run)
    assert not any(file.exists() for file in left) and all(file.exists() for file in others)


def test_going_on_under_other_versions_is_said(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "vaescope")
    undone(run)
    train(run)
    assert not caplog.messages
    undone(run)
    facts = json.loads(run.environment.read_text())
    now = facts["versions"]["torch"]  # as installed: without the local part of some wheels
    facts["versions"]["torch"] = "1.0"
    run.environment.write_text(json.dumps(facts))
    train(run)
    (said,) = caplog.messages
    assert f"torch 1.0, now {now}" in said and "numpy" not in said


def test_a_damaged_environment_is_named_by_a_dissection(run: Run) -> None:
    run.environment.write_text("{")
    with pytest.raises(RunError, match=r"environment\.json is not JSON.*") as caught:
        inspect(run, effort="fast")
    assert "Delete it" in caught.value.remedy
