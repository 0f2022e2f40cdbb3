"""Arrays in files are read a few rows at a time, never unpickled, and damage is named."""

import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from vaescope.data.arrays import Header, array, header, matlab, require_shape, rows
from vaescope.errors import DataError

IMAGES = np.random.default_rng(0).integers(256, size=(50, 8, 8), dtype=np.uint8)


@pytest.fixture(params=["stored.npz", "deflated.npz", "file.h5"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    if path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("images", data=IMAGES, chunks=(7, 8, 8), compression="gzip")
    else:
        (np.savez if path.stem == "stored" else np.savez_compressed)(path, images=IMAGES)
    return path


@pytest.mark.parametrize("at_once", [1, 7, 50, 1000])
def test_rows_in_turn_are_the_whole_array(path: Path, at_once: int) -> None:
    parts = list(rows(path, "images", at_once=at_once))
    assert max(map(len, parts)) <= at_once
    np.testing.assert_array_equal(np.concatenate(parts), IMAGES)
    np.testing.assert_array_equal(array(path, "images"), IMAGES)
    assert header(path, "images") == Header(IMAGES.shape, np.dtype(np.uint8))


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_an_error_that_names_it(path: Path, kept: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(DataError, match=path.name):
        list(rows(path, "images"))
    with pytest.raises(DataError, match=path.name):
        array(path, "images")


def test_a_missing_array_is_an_error_that_names_the_file(path: Path) -> None:
    with pytest.raises(DataError, match=path.name):
        header(path, "labels")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("at_once", [7, 10, 50])
def test_a_wrong_checksum_is_found_by_the_time_the_last_row_was_read(
    tmp_path: Path, save: Callable[..., None], at_once: int
) -> None:
    path = tmp_path / "flipped.npz"
    save(path, images=IMAGES)
    with zipfile.ZipFile(path) as archive:
        checksum = archive.getinfo("images.npy").CRC
    wrong = path.read_bytes().replace(struct.pack("<I", checksum), struct.pack("<I", checksum ^ 1))
    path.write_bytes(wrong)
    with pytest.raises(DataError, match=r"flipped\.npz.*CRC"):
        list(rows(path, "images", at_once=at_once))


def test_a_member_of_another_length_than_its_header_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.npz"
    np.save(tmp_path / "images.npy", IMAGES)
    content = (tmp_path / "images.npy").read_bytes()
    for stored, problem in (
        (content[:-100], "ends after 48 rows"),
        (content + b"more", "has more data"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("images.npy", stored)
        with pytest.raises(DataError, match=rf"odd\.npz.*{problem}"):
            list(rows(path, "images"))


def test_python_objects_and_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.npz"
    np.savez(path, objects=np.array([{}], dtype=object), columns=np.asfortranarray(IMAGES))
    for key in ("objects", "columns"):
        with pytest.raises(DataError, match=rf"{key} in .*odd\.npz"):
            header(path, key)
    with pytest.raises(DataError, match=r"odd\.npz"):
        array(path, "objects")


def test_without_h5py_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(DataError, match=r"vaescope\[h5\]"):
        header(tmp_path / "3dshapes.h5", "images")


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9])
def test_a_truncated_matlab_file_is_an_error_that_names_it(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "faces.mat"
    savemat(path, {"faces": IMAGES}, do_compression=True)
    np.testing.assert_array_equal(matlab(path, "faces"), IMAGES)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(DataError, match=r"faces\.mat"):
        matlab(path, "faces")


def test_a_wrong_shape_or_type_says_what_was_got_and_wanted() -> None:
    path = Path("a.npz")
    require_shape(path, "images", Header((5, 64, 64, 3), np.dtype(np.uint8)), 64, 64, 3)
    with pytest.raises(DataError, match=r"a\.npz is uint8 of shape \(5, 64, 64\); wanted .*64, 3"):
        require_shape(path, "images", Header((5, 64, 64), np.dtype(np.uint8)), 64, 64, 3)
    with pytest.raises(DataError, match="float32"):
        require_shape(path, "images", Header((5, 64), np.dtype(np.float32)), 64)
    with pytest.raises(DataError):
        require_shape(path, "images", Header((), np.dtype(np.uint8)))
