"""The official dSprites files, npz and hdf5, read without unpickling."""

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from vaescope.data.arrays import array, header
from vaescope.data.dsprites import FACTORS
from vaescope.data.dsprites_official import CARD, Halved, dsprites_official, read
from vaescope.data.factors import Factors
from vaescope.errors import DataError, UsageError

GRID = Factors(FACTORS.names, tuple(value[:2] for value in FACTORS.values))  # 32 rows
NAME = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"


def pictures(n: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(2, size=(n, 64, 64), dtype=np.uint8)


def classes(n: int) -> NDArray[np.int64]:
    return np.insert(GRID.classes(np.arange(n)), 0, 0, axis=1)


def npz(folder: Path, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Path:
    path = folder / f"{NAME}.npz"
    np.savez_compressed(path, imgs=images, latents_classes=labels)
    return path


def hdf5(folder: Path, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Path:
    path = folder / f"{NAME}.hdf5"
    with h5py.File(path, "w") as file:
        file["imgs"] = images
        file["latents/classes"] = labels
    return path


FORMATS = pytest.mark.parametrize("write", [npz, hdf5])
Write = Callable[[Path, NDArray[np.uint8], NDArray[np.int64]], Path]


@FORMATS
def test_the_full_grid_can_be_observed_by_its_factors(tmp_path: Path, write: Write) -> None:
    images = pictures(32)
    data = read(write(tmp_path, images, classes(32)), grid=GRID)
    assert data.shape == (1, 64, 64) and data.factors is not None and data.factors.complete
    np.testing.assert_array_equal(data.observe(np.array([[1, 0, 1, 1, 0]]))[0, 0], images[22])


@FORMATS
def test_rows_that_are_not_the_grid_get_a_table(tmp_path: Path, write: Write) -> None:
    images = pictures(5)
    data = read(write(tmp_path, images, classes(32)[7:12]))
    assert data.factors is not None and not data.factors.complete
    np.testing.assert_array_equal(data.factors.classes(np.arange(5)), classes(32)[7:12, 1:])
    np.testing.assert_array_equal(data.rows(np.arange(5))[:, 0], images)


@FORMATS
def test_a_grid_in_another_order_is_refused(tmp_path: Path, write: Write) -> None:
    path = write(tmp_path, pictures(32), classes(32)[::-1])
    with pytest.raises(DataError, match=rf"{NAME}.* order"):
        read(path, grid=GRID)


@FORMATS
def test_wrong_shapes_classes_and_pixels_are_refused(tmp_path: Path, write: Write) -> None:
    with pytest.raises(DataError, match=r"imgs in .*\(5, 32, 64\)"):
        read(write(tmp_path, pictures(5)[:, :32], classes(5)))
    with pytest.raises(DataError, match=r"wanted int64 of shape \(rows, 6\)"):
        read(write(tmp_path, pictures(5), classes(5)[:, 1:]))
    with pytest.raises(DataError, match="5 rows of classes below"):
        read(write(tmp_path, pictures(5), classes(4)))
    with pytest.raises(DataError, match="classes below"):
        read(write(tmp_path, pictures(5), 9 + classes(5)))
    with pytest.raises(DataError, match="pixels up to 255; dSprites has only 0 and 1"):
        read(write(tmp_path, 255 * pictures(5), classes(5)))


def test_half_the_size_is_the_mean_of_two_by_two_pixels(tmp_path: Path) -> None:
    images = pictures(5)
    whole = read(npz(tmp_path, images, classes(5))).store
    half = Halved(whole)
    assert half.shape == (1, 32, 32) and len(half) == 5 and half.range == (0.0, 1.0)
    wanted = images.reshape(5, 1, 32, 2, 32, 2).mean(axis=(3, 5))
    np.testing.assert_array_equal(half.rows(np.arange(5)), wanted)


class Bomb:
    """Unpickling it leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.trace,)


def test_the_metadata_are_not_unpickled(tmp_path: Path) -> None:
    path, trace = tmp_path / f"{NAME}.npz", tmp_path / "trace"
    metadata = np.array(Bomb(trace), dtype=object)
    np.savez(path, imgs=pictures(5), latents_classes=classes(5), metadata=metadata)
    read(path)
    assert not trace.exists()


def test_258_real_frames_are_read_as_they_are(
    shared_data: Callable[[str], Path], tmp_path: Path
) -> None:
    path = Path(shutil.copy(shared_data("dsprites/dsprites_real_frames_258.npz"), tmp_path))
    data = read(path)
    assert len(data) == 258 and data.factors is not None
    with np.load(path) as real:
        np.testing.assert_array_equal(data.rows(np.arange(258))[:, 0], real["imgs"])
        chosen = data.factors.classes(np.arange(258))
        for k, values in enumerate(FACTORS.values[1:], start=1):
            np.testing.assert_allclose(values[chosen[:, k]], real["latents_values"][:, k + 1])


def test_the_fixture_of_the_official_hdf5_has_its_arrays(
    shared_data: Callable[[str], Path], tmp_path: Path
) -> None:
    """Its pixels are noise of 0 to 255, which the loader must not take for dSprites."""
    path = Path(shutil.copy(shared_data(f"fixtures_tfds/{NAME}.hdf5"), tmp_path))
    assert header(path, "imgs").shape == (5, 64, 64)
    assert array(path, "latents/classes")[0].tolist() == [0, 2, 3, 31, 16, 14]
    with pytest.raises(DataError, match=rf"{NAME}\.hdf5 has pixels up to 255"):
        read(path)


def test_by_name_only_the_official_file_is_taken(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="data get dsprites-official"):
        dsprites_official()
    folder = tmp_path / "data" / "dsprites-official"
    folder.mkdir(parents=True)
    npz(folder, pictures(5), classes(5))
    with pytest.raises(DataError, match=rf"{NAME}\.npz has md5:"):
        dsprites_official()
    with pytest.raises(UsageError, match="64 or 32; got 28"):
        dsprites_official(size=28)
    assert CARD.n == 737_280
