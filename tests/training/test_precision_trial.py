"""Where kernels of bf16 end the process, `auto` trains in float32 and says so."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from vaescope.training import precision

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    survives = precision._survives
    survives.cache_clear()
    yield
    survives.cache_clear()


def test_a_trial_that_dies_means_float32_and_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(precision, "_TRIAL", "import os; os.kill(os.getpid(), 4)")
    with caplog.at_level(logging.WARNING, "vaescope"):
        assert not precision.has_bf16(CPU)
        precision._survives.cache_clear()  # as the next process would
        assert not precision.has_bf16(CPU)
    assert [line.getMessage() for line in caplog.records] == [
        "bf16 is listed by this processor but a trial of it failed (exit -4): float32 is used."
    ]


def test_a_trial_that_passes_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(precision, "_TRIAL", "pass")
    assert precision.has_bf16(CPU)
    (kept,) = (tmp_path / "vaescope").glob("bf16-*")
    kept.write_bytes(b"no")
    precision._survives.cache_clear()
    assert not precision.has_bf16(CPU)


def test_without_the_instructions_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_f": True})
    monkeypatch.setattr(precision, "_survives", lambda: pytest.fail("tried"))
    assert not precision.has_bf16(CPU)
