import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaescope import native


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What another test compiled is not remembered, and nothing of these tests is."""
    native.library.cache_clear()
    yield
    native.library.cache_clear()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "vaescope" / "native"


def test_a_source_is_compiled_once_and_kept_for_its_owner_alone(cache: Path) -> None:
    if native.library("boosting") is None:
        pytest.skip("there is no C compiler")
    (built,) = cache.iterdir()
    made = built.stat().st_mtime_ns
    native.library.cache_clear()
    assert native.library("boosting") is not None
    assert built.stat().st_mtime_ns == made
    assert stat.S_IMODE(cache.stat().st_mode) & 0o022 == 0


def test_without_a_compiler_or_where_it_is_switched_off_there_is_none(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    assert native.library("boosting") is None
    monkeypatch.undo()
    native.library.cache_clear()
    monkeypatch.setenv("VAESCOPE_NATIVE", "0")
    assert native.library("boosting") is None


def test_a_folder_that_others_can_write_is_not_trusted(cache: Path) -> None:
    cache.mkdir(parents=True)
    os.chmod(cache, 0o777)
    assert native.library("boosting") is None
    assert not list(cache.iterdir())


def test_a_compiler_that_fails_leaves_nothing_behind(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bin" / "cc"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(broken.parent))
    assert native.library("boosting") is None
    assert not list(cache.iterdir())
