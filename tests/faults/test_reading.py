"""Files that somebody else made are read within limits, refused in words, and never run."""

import contextlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vaescope.adapters.checkpoints import weights_of
from vaescope.codes import Codes
from vaescope.data.user_files import load_files
from vaescope.errors import DataError, DiskError, UsageError, VaescopeError
from vaescope.paths import replace_file
from vaescope.reading import limit, limits_held, parse_json, read_arrays, read_regular
from vaescope.settings import from_command_line, load_yaml, read_scalar


def test_a_checkpoint_that_contains_itself_is_refused(tmp_path: Path) -> None:
    itself: dict[str, Any] = {}
    itself["state_dict"] = itself
    torch.save(itself, tmp_path / "a.pt")
    with pytest.raises(DataError, match="has no weights"):
        weights_of(tmp_path / "a.pt")


@pytest.mark.parametrize(
    ("tensor", "kind"),
    [
        (torch.eye(3).to_sparse(), "sparse"),
        (torch.empty(3, device="meta"), "meta"),
        (torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "quantised"),
    ],
    ids=["sparse", "meta", "quantised"],
)
def test_tensors_that_are_not_plain_are_named(
    tmp_path: Path, tensor: torch.Tensor, kind: str
) -> None:
    torch.save({"w": tensor}, tmp_path / "a.pt")
    with pytest.raises(DataError, match=f"w in .* is a {kind} tensor"):
        weights_of(tmp_path / "a.pt")


def test_deep_json_is_refused_and_what_is_not_so_deep_is_read() -> None:
    for deep in (65, 900, 100_000):
        with pytest.raises(ValueError, match=r"depth|nested"):
            parse_json("[" * deep + "]" * deep)
    assert parse_json("[" * 64 + "]" * 64)
    assert parse_json(json.dumps([[k] for k in range(1000)]))[999] == [999]


def test_integers_beyond_64_bits_are_refused_in_words() -> None:
    assert parse_json(str(2**63 - 1)) == 2**63 - 1
    with pytest.raises(ValueError, match="beyond 64 bits"):
        parse_json(str(2**63))
    with pytest.raises(UsageError, match="seed must be a whole number"):
        from_command_line("vae", [f"seed={10**30}"])


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join(f'*{a}' for _ in range(10))}]\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        BOMB, "a: &a [*a]", "a: \x00", "a: \x1b[31m", "a: !!int abc", "a: !!timestamp abc",
        "a: !!bool abc", "a: !!float abc", "[" * 5_000, "? [a]\n: b", "a: !!python/name:os.system",
    ],
    ids=["aliases", "itself", "nul", "escape", "int", "timestamp", "bool", "float", "deep", "key",
         "python"],
)  # fmt: skip
def test_hostile_yaml_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError):
        load_yaml(text, "grid.yaml")


def test_aliases_within_reason_are_read() -> None:
    assert load_yaml("a: &a [1, 2]\nb: *a", "grid.yaml") == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_as_yaml_or_as_a_value_ends_in_our_words(text: str) -> None:
    read_scalar(text)
    with contextlib.suppress(VaescopeError):
        load_yaml(text, "x")


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_any_bytes_as_a_file_end_in_our_words(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.npz", "a.npy", "a.pt", "a.safetensors"):
            file = Path(folder) / name
            file.write_bytes(content)
            readers = (weights_of,) if name[2] in "ps" else (load_files, Codes.load)
            for read in readers:
                with pytest.raises(VaescopeError):
                    read(file)


@pytest.mark.slow
def test_an_unused_array_is_not_unpacked(tmp_path: Path) -> None:
    """400 MB of zeros beside small codes."""
    file = tmp_path / "codes.npz"
    mean = np.zeros((50, 2), dtype=np.float32)
    np.savez(file, mean=mean, variance=mean)
    import zipfile

    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("other.npy", "w", force_zip64=True) as member,
    ):
        np.lib.format.write_array_header_1_0(
            member, {"descr": "<f8", "fortran_order": False, "shape": (50_000_000,)}
        )
        for _ in range(50):
            member.write(bytes(8_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert Codes.load(file).n == 50
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    with pytest.raises(ValueError, match="VAESCOPE_LIMIT_ARRAY_RATIO"):
        read_arrays(file)


def test_an_npy_named_npz_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, np.zeros((4, 8, 8)))
    with pytest.raises(DataError, match="not an npz file"):
        load_files(tmp_path / "a.npz")


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file"):
        read_regular(tmp_path / "pipe")


def special_files(folder: Path) -> list[Path]:
    made = [folder / "pipe"]
    os.mkfifo(made[0])
    (folder / "link").symlink_to(made[0])
    made.append(folder / "link")
    with contextlib.suppress(PermissionError):  # only root makes devices, or could destroy them
        os.mknod(folder / "nul", 0o600 | 0o020000, os.makedev(1, 3))
        made.append(folder / "nul")
    return made


def test_special_files_are_neither_replaced_nor_written(tmp_path: Path) -> None:
    for path in special_files(tmp_path):
        before = path.lstat()
        with pytest.raises(DiskError, match="a device, a pipe or a socket"):
            replace_file(path, b"content")
        after = path.lstat()
        assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert not list(tmp_path.glob(".*"))


def test_what_a_scratch_file_links_to_is_not_written(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / f".a.{os.getpid()}").symlink_to(other)
    replace_file(tmp_path / "a", b"new")
    assert other.read_text() == "kept" and (tmp_path / "a").read_bytes() == b"new"


def test_every_file_is_written_and_read_by_one_module() -> None:
    """json.loads, yaml and renames stand where the limits and seals are, and nowhere else."""
    import vaescope

    root = Path(vaescope.__file__).parent
    allowed = {
        "json.loads(": {"reading.py", "runs.py", "exporting/card.py", "exporting/hub.py",
                        "studies/running.py", "sweeps/local.py", "sweeps/worker.py"},
        "np.load(": {"reading.py"},
    }  # fmt: skip
    for word, places in allowed.items():
        found = {
            str(file.relative_to(root))
            for file in root.rglob("*.py")
            if word in file.read_text() and not str(file.relative_to(root)).startswith("data/")
        }
        assert found <= places, (word, found - places)


@pytest.mark.slow
def test_training_into_a_closed_pipe_is_saved(tmp_path: Path) -> None:
    """`vaescope train ... 2>&1 | head -1`: the run resumes from its step, not from the first."""
    words = ["train", "vae", "data.name=synth-linear", "data.n=200", "latent=2", "steps=200000",
             "logging.every=50", "--out", str(tmp_path)]  # fmt: skip
    started = subprocess.Popen(
        [sys.executable, "-m", "vaescope", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert started.stdout is not None
    assert started.stdout.readline()
    started.stdout.close()
    assert started.wait(60) != 0
    (state,) = tmp_path.glob("*/state.safetensors")
    from vaescope.sealing import checkpoint_facts

    rows = (state.parent / "history.jsonl").read_text().splitlines()
    step = checkpoint_facts(state.read_bytes())["step"]
    assert step >= json.loads(rows[-1])["step"]


def test_limits_are_looked_up_once_where_they_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAESCOPE_LIMIT_JSON_BYTES", "8")
    with limits_held():
        assert parse_json('{"a": 1}') == {"a": 1}
        monkeypatch.setenv("VAESCOPE_LIMIT_JSON_BYTES", "7")
        assert limit("JSON_BYTES") == 8
        with pytest.raises(ValueError, match="the limit is 8"):
            parse_json('{"a": 10}')
    with pytest.raises(ValueError, match="the limit is 7"):
        parse_json('{"a": 1}')


@pytest.mark.parametrize("text", [" [1]", "[1] \n\n", "[1]\n", "[1]"])
def test_space_around_a_document_is_none_of_it(text: str) -> None:
    assert parse_json(text) == [1]


@pytest.mark.parametrize("text", ["", " ", "[1] 2", "[1", "[1]x"])
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)
