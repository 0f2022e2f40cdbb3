"""Weights are read, code is not run, and what does not fit is said."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from vaescope.adapters.checkpoints import load_checkpoint
from vaescope.errors import DataError, UsageError

CODE = """
import torch
from torch import nn

def make():
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))

def narrow():
    return nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1))

def needy(width):
    return nn.Linear(width, 2)

def text():
    return "no model"

def broken():
    raise ValueError("no such layer")
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with somebody's code in it, in which we are."""
    (tmp_path / "theirs_7461.py").write_text(CODE)
    (tmp_path / "script_7461.py").write_text("import sys\n\nsys.exit(2)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("theirs_7461", None)


def state() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    return {
        name: value if value.dtype == torch.int64 else torch.randn(value.shape, generator=generator)
        for name, value in module.state_dict().items()
    }


def assert_loaded(path: Path) -> None:
    module = load_checkpoint(path, "theirs_7461:make")
    for name, value in module.state_dict().items():
        np.testing.assert_array_equal(value, state()[name])
    assert not module.training


@pytest.mark.parametrize("wrap", [
    lambda s: s,
    lambda s: {"state_dict": s, "epoch": 3},
    lambda s: {"model_state_dict": s, "optimizer_state_dict": {"lr": 0.1}},
    lambda s: {"model": s},
    lambda s: {"model": {"state_dict": s}},
    lambda s: {f"module.{name}": value for name, value in s.items()},
    lambda s: {"state_dict": {f"module.{name}": value for name, value in s.items()}},
    lambda s: {f"_orig_mod.{name}": value for name, value in s.items()},
    lambda s: {"critic.w": torch.zeros(2)} | {f"net.vae.{name}": v for name, v in s.items()},
])  # fmt: skip
@pytest.mark.parametrize("zipped", [True, False])
def test_weights_are_found_wherever_scripts_keep_them(wrap: Any, zipped: bool, there: Path) -> None:
    torch.save(wrap(state()), there / "model.pt", _use_new_zipfile_serialization=zipped)
    assert_loaded(there / "model.pt")


def test_safetensors_are_read(there: Path) -> None:
    save_file(state(), there / "model.safetensors")
    assert_loaded(there / "model.safetensors")


class Malicious:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return (open, (str(self.target), "w"))


@pytest.mark.parametrize("form", ["zip", "old", "plain pickle"])
def test_a_pickle_that_would_run_code_is_refused_and_nothing_runs(form: str, there: Path) -> None:
    path, target = there / "model.pt", there / "was_here"
    content = {"state_dict": state(), "extra": Malicious(target)}
    if form == "plain pickle":
        path.write_bytes(pickle.dumps(Malicious(target)))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "zip")
    with pytest.raises(DataError, match=r"run code.*torch\.save\(model\.state_dict\(\)") as raised:
        load_checkpoint(path, "theirs_7461:make")
    assert "weights_only" not in str(raised.value)  # nobody is told how to run it
    assert not target.exists()
    assert "theirs_7461" not in sys.modules
    # The trap is real: whoever unpickles it without care runs it.
    torch.load(path, weights_only=False) if form != "plain pickle" else pickle.loads(
        path.read_bytes()
    )
    assert target.exists()


def test_a_whole_pickled_model_is_refused(there: Path) -> None:
    torch.save(nn.Linear(3, 2), there / "model.pt")
    with pytest.raises(DataError, match=r"run code.*torch\.nn"):
        load_checkpoint(there / "model.pt", "theirs_7461:make")


def test_weights_that_do_not_fit_are_named(there: Path) -> None:
    weights = {f"net.{name}" if "bias" in name else name: v for name, v in state().items()}
    torch.save(weights, there / "model.pt")
    with pytest.raises(DataError) as error:
        load_checkpoint(there / "model.pt", "theirs_7461:narrow")
    for says in ("lacks 0.bias", "also has net.0.bias", "0.weight (2, 3) instead of (1, 3)"):
        assert says in str(error.value)


@pytest.mark.parametrize("content, says", [
    ({"epoch": 3}, "it has epoch"),
    ([1, 2], "list"),
    ({}, "no weights"),
])  # fmt: skip
def test_a_file_without_weights_says_what_it_has(content: Any, says: str, there: Path) -> None:
    torch.save(content, there / "model.pt")
    with pytest.raises(DataError, match=says):
        load_checkpoint(there / "model.pt", "theirs_7461:make")


@pytest.mark.parametrize("name", ["model.pt", "model.safetensors"])
@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 cut"])
def test_a_broken_file_is_a_data_error(name: str, content: bytes, there: Path) -> None:
    (there / name).write_bytes(content)
    with pytest.raises(DataError):
        load_checkpoint(there / name, "theirs_7461:make")


def test_a_missing_file_is_a_data_error(there: Path) -> None:
    with pytest.raises(DataError, match="not a file"):
        load_checkpoint(there / "none.pt", "theirs_7461:make")


@pytest.mark.parametrize("factory, says", [
    ("theirs_7461", "wanted module:factory"),
    ("theirs_7461:", "wanted module:factory"),
    ("nowhere_7461:make", "did not find 'nowhere_7461'"),
    ("theirs_7461:other", "no function other; it has make, narrow, needy, text, broken"),
    ("theirs_7461:needy", "without arguments"),
    ("theirs_7461:text", "returned str; wanted a torch.nn.Module"),
    ("theirs_7461:broken", r"broken\(\) failed with ValueError: no such layer"),
    ("theirs_7461.py:make", "as in `import module`"),
    ("./theirs_7461:make", "as in `import module`"),
    ("script_7461:make", "Importing script_7461 failed with SystemExit: 2.*__main__"),
])  # fmt: skip
def test_a_wrong_factory_is_answered_with_what_to_do(factory: str, says: str, there: Path) -> None:
    torch.save(state(), there / "model.pt")
    with pytest.raises(UsageError, match=says):
        load_checkpoint(there / "model.pt", factory)
