"""Official files are found where they belong, checked once, and converted once."""

import hashlib
import mmap
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.files import (
    check,
    converted,
    instructions,
    locate,
    on_disk,
    place,
    require_all,
    require_space,
)
from vaescope.data.stores import Bytes
from vaescope.errors import DataError, DiskError

CONTENT = b"official content"
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"
FILE = File("toys.npz", "https://example.org/toys.npz", SHA256, len(CONTENT))
CARD = Card("toys", (1, 2, 2), 3, "CC0", "toys", files=(FILE,))

SHAPE = (10, 2, 2)
PIXELS = np.arange(40, dtype=np.uint8).reshape(SHAPE)


def put(file: File, content: bytes = CONTENT) -> Path:
    path = place(CARD, file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def unread() -> Iterator[NDArray[np.uint8]]:
    raise AssertionError("the source was read again")
    yield


def test_a_missing_file_is_named_with_the_command_that_gets_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"vaescope data get toys") as caught:
        locate(CARD, FILE)
    assert str(tmp_path / "data" / "toys" / "toys.npz") in caught.value.message
    assert not on_disk(CARD)


def test_a_file_without_an_address_comes_with_instructions() -> None:
    private = File("private.zip", size=5)
    card = replace(CARD, files=(private,), how="Ask the authors for private.zip.")
    with pytest.raises(DataError, match=r"Ask the authors"):
        locate(card, private)
    assert "Ask the authors" in instructions(card)
    assert f"{place(card, private)} (5 bytes)" in instructions(card)


@pytest.mark.parametrize("digest", [SHA256, MD5, None])
def test_a_file_that_is_right_is_located(digest: str | None) -> None:
    path = put(FILE)
    assert locate(CARD, replace(FILE, digest=digest)) == path
    assert on_disk(CARD)


def test_a_wrong_size_and_a_wrong_digest_are_told_apart() -> None:
    path = put(FILE, CONTENT[:-1])
    with pytest.raises(DataError, match=r"toys\.npz has 15 bytes; wanted 16"):
        locate(CARD, FILE)
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(DataError, match=rf"toys\.npz has sha256:.* wanted {SHA256}"):
        locate(CARD, FILE)


def test_another_known_copy_is_as_good() -> None:
    put(FILE, b"another copy")
    other = f"sha256:{hashlib.sha256(b'another copy').hexdigest()}"
    locate(CARD, replace(FILE, size=None, also=(other,)))
    with pytest.raises(DataError):
        locate(CARD, replace(FILE, size=None))


def test_a_file_is_hashed_again_only_when_size_or_time_change() -> None:
    path = put(FILE)
    check(path, FILE)
    before = path.stat()
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    check(path, FILE)  # same size and time: taken on trust
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(DataError):
        check(path, FILE)


def test_what_was_checked_against_one_digest_is_checked_against_another() -> None:
    path = put(FILE)
    check(path, FILE)
    with pytest.raises(DataError):
        check(path, replace(FILE, digest="sha256:00"))


def test_a_stand_in_is_taken_and_checked_where_the_file_is_absent() -> None:
    other = File("toys.h5", digest="sha256:00")
    both = replace(FILE, instead=(File("unpacked"), other))
    put(other)
    with pytest.raises(DataError, match=r"toys\.h5 has sha256"):
        locate(CARD, both)
    (place(CARD, FILE).parent / "unpacked").mkdir()
    assert locate(CARD, both).name == "unpacked"
    put(FILE)
    assert locate(CARD, both).name == "toys.npz"


def test_too_few_rows_are_refused() -> None:
    data = Dataset(CARD, Bytes(np.zeros((2, 1, 2, 2), np.uint8)))
    with pytest.raises(DataError, match=r"toys\.npz holds 2 images; toys has 3"):
        require_all(data, Path("toys.npz"))


def test_space_that_is_not_there_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    require_space(tmp_path, 1, "Converting")
    with pytest.raises(DiskError, match=r"needs 1,000,000,000\.00 GB .* are free"):
        require_space(tmp_path, 10**18, "Converting")


def test_conversion_reads_its_source_once_and_maps_the_result(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"1")
    seen: list[tuple[str, int, int | None]] = []

    def progress(name: str, done: int, total: int | None) -> None:
        seen.append((name, done, total))

    first = converted([source], "x.npy", SHAPE, np.split(PIXELS, 5), progress)
    again = converted([source], "x.npy", SHAPE, unread(), None)
    np.testing.assert_array_equal(first, PIXELS)
    np.testing.assert_array_equal(again, PIXELS)
    assert seen == [("x.npy", done, 40) for done in (8, 16, 24, 32, 40)]
    base: object = again
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)


def test_conversion_is_done_again_when_the_source_changes(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"1")
    converted([source], "x.npy", SHAPE, [PIXELS], None)
    source.write_bytes(b"22")
    anew = converted([source], "x.npy", SHAPE, [PIXELS[::-1]], None)
    np.testing.assert_array_equal(anew, PIXELS[::-1])


def test_a_conversion_that_fails_leaves_no_data_behind(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"1")

    def broken() -> Iterator[NDArray[np.uint8]]:
        yield PIXELS[:5]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converted([source], "x.npy", SHAPE, broken(), None)
    assert not [path for path in tmp_path.iterdir() if path.is_file() and path.stat().st_size > 1]
    np.testing.assert_array_equal(converted([source], "x.npy", SHAPE, [PIXELS], None), PIXELS)


def test_a_damaged_memory_map_is_an_error_that_names_it(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"1")
    converted([source], "x.npy", SHAPE, [PIXELS], None)
    target = tmp_path / "x.npy"
    target.write_bytes(target.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"x\.npy cannot be read.*Delete"):
        converted([source], "x.npy", SHAPE, unread(), None)
