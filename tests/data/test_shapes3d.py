"""The official Shapes3D file, converted once, its labels found by what occurs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from vaescope.data.factors import Factors
from vaescope.data.shapes3d import CARD, NAMES, read, shapes3d
from vaescope.errors import DataError

SIZES = (2, 1, 3, 2, 1, 2)  # 24 rows
GRID = Factors(NAMES, tuple(np.linspace(0.0, 1.0, size) - 0.25 for size in SIZES))


def labels() -> NDArray[np.float64]:
    index = GRID.classes(np.arange(GRID.n))
    return np.stack([value[index[:, k]] for k, value in enumerate(GRID.values)], axis=1)


def pictures(n: int = 24) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(256, size=(n, 64, 64, 3), dtype=np.uint8)


def write(folder: Path, images: NDArray[np.uint8], values: NDArray[np.float64]) -> Path:
    path = folder / "3dshapes.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=images, compression="gzip", chunks=True)
        file["labels"] = values
    return path


def test_the_full_grid_can_be_observed_by_its_factors(tmp_path: Path) -> None:
    data = read(write(tmp_path, pictures(), labels()), sizes=SIZES)
    assert data.factors is not None and data.factors.complete and data.shape == (3, 64, 64)
    for got, wanted in zip(data.factors.values, GRID.values, strict=True):
        np.testing.assert_array_equal(got, wanted)
    seen = data.observe(np.array([[1, 0, 2, 0, 0, 1]]))[0]
    np.testing.assert_allclose(seen, pictures()[21].transpose(2, 0, 1) / 255, rtol=1e-6)


def test_the_conversion_reports_its_progress_and_is_done_once(tmp_path: Path) -> None:
    path = write(tmp_path, pictures(), labels())
    seen: list[int] = []
    read(path, sizes=SIZES, progress=lambda name, done, total: seen.append(done))
    assert seen == [24 * 64 * 64 * 3]
    read(path, sizes=SIZES, progress=lambda name, done, total: seen.append(done))
    assert len(seen) == 1


def test_labels_that_are_not_the_grid_are_refused(tmp_path: Path) -> None:
    values = labels()
    values[5, 2] += 0.1
    with pytest.raises(DataError, match=r"object_hue in .*3dshapes\.h5"):
        read(write(tmp_path, pictures(), values), sizes=SIZES)


def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"3dshapes\.h5 is uint8 of shape \(24, 64, 64, 1\)"):
        read(write(tmp_path, pictures()[..., :1], labels()))
    with pytest.raises(DataError, match=r"labels in .*3dshapes\.h5"):
        read(write(tmp_path, pictures(), labels()[:, :5]))


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, pictures(), labels())
    path.write_bytes(path.read_bytes()[:200_000])
    with pytest.raises(DataError, match=r"3dshapes\.h5 cannot be read"):
        read(path, sizes=SIZES)


def test_the_official_fixture_of_five_rows_has_a_table(
    shared_data: Callable[[str], Path], tmp_path: Path
) -> None:
    path = Path(shutil.copy(shared_data("fixtures_tfds/3dshapes.h5"), tmp_path))
    data = read(path)
    assert len(data) == 5 and data.factors is not None and not data.factors.complete
    index = data.factors.classes(np.arange(5))
    got = np.stack([value[index[:, k]] for k, value in enumerate(data.factors.values)], axis=1)
    np.testing.assert_allclose(got[1], [0.0, 0.1, 0.5, 1.0357142857, 3.0, 12.8571428571])
    assert data.factors.sizes == (3, 5, 5, 5, 3, 5)
    with h5py.File(path) as file:
        wanted = file["images"][3].transpose(2, 0, 1) / 255
    np.testing.assert_allclose(data.rows(np.array([3]))[0], wanted, rtol=1e-6)


def test_by_name_only_the_official_file_is_taken(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="data get shapes3d"):
        shapes3d()
    folder = tmp_path / "data" / "shapes3d"
    folder.mkdir(parents=True)
    write(folder, pictures(), labels())
    with pytest.raises(DataError, match=r"3dshapes\.h5 has .* bytes; wanted 267,573,662"):
        shapes3d()
    assert CARD.n == 480_000
