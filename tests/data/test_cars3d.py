"""Cars3D from its archive or its folder of .mat files."""

import tarfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import savemat

from vaescope.data.cars3d import CARD, cars3d, read
from vaescope.errors import DataError, UsageError

NAMES = ("car_9_mesh.mat", "car_1_mesh.mat")  # not in the order in which they are counted


def shade(car: int, elevation: int, azimuth: int) -> int:
    return 100 * car + 24 * elevation + azimuth


def mesh(car: int) -> NDArray[np.uint8]:
    """Red says which view it is, green how far down, blue how far to the right."""
    image = np.empty((128, 128, 3, 24, 4), np.uint8)
    image[:, :, 1] = np.arange(128)[:, None, None, None]
    image[:, :, 2] = 2 * np.arange(128)[None, :, None, None]
    for azimuth, elevation in np.ndindex(24, 4):
        image[:, :, 0, azimuth, elevation] = shade(car, elevation, azimuth)
    return image


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "cars"
    folder.mkdir()
    for name, car in zip(NAMES, (1, 0), strict=True):
        savemat(folder / name, {"im": mesh(car)}, do_compression=True)
    (folder / "list.txt").write_text("car_9_mesh\ncar_1_mesh\n")
    return folder


@pytest.fixture(scope="module")
def archive(folder: Path) -> Path:
    path = folder.parent / "nips2015-analogy-data.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder / NAMES[0], "data/sprites/sprite_1.mat")
        for name in ("list.txt", *NAMES):
            tar.add(folder / name, f"data/cars/{name}")
    return path


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_each_view_is_found_by_its_factors(kind: str, request: pytest.FixtureRequest) -> None:
    data = read(request.getfixturevalue(kind), cars=2)
    assert data.shape == (3, 64, 64) and len(data) == 4 * 24 * 2 and data.factors is not None
    for elevation, azimuth, car in [(0, 0, 0), (3, 23, 1), (2, 5, 0), (1, 17, 1)]:
        (view,) = data.observe(np.array([[elevation, azimuth, car]]))
        red, green, blue = view * 255
        np.testing.assert_allclose(red, np.full((64, 64), shade(car, elevation, azimuth)))
        halves = 2 * np.arange(64) + 0.5
        np.testing.assert_allclose(green[1:-1, 9], halves[1:-1], atol=1)
        np.testing.assert_allclose(blue[9, 1:-1], 2 * halves[1:-1], atol=1)


def test_the_original_size_is_the_original(folder: Path) -> None:
    data = read(folder, cars=2, size=128)
    seen = data.observe(np.array([[2, 5, 1]]))[0]
    wanted = mesh(1)[:, :, :, 5, 2].transpose(2, 0, 1) / 255
    np.testing.assert_allclose(seen, wanted, rtol=1e-6)


def test_progress_ends_at_the_last_car(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cars").symlink_to(folder)
    seen: list[tuple[int, int | None]] = []
    read(tmp_path / "cars", cars=2, progress=lambda name, done, total: seen.append((done, total)))
    total = 4 * 24 * 2 * 64 * 64 * 3
    assert seen == [(total // 2, total), (total, total)]


def test_missing_cars_and_wrong_shapes_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cars holds 2 cars; wanted 183"):
        read(folder)
    (tmp_path / "cars").mkdir()
    savemat(tmp_path / "cars" / "car_1_mesh.mat", {"im": np.zeros((2, 2, 3, 24, 4), np.uint8)})
    with pytest.raises(DataError, match=r"car_1_mesh\.mat in .*cars is uint8 of shape"):
        read(tmp_path / "cars", cars=1)


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_truncated_archive_is_named(archive: Path, tmp_path: Path, kept: float) -> None:
    content = archive.read_bytes()
    path = tmp_path / archive.name
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(DataError, match=r"nips2015-analogy-data\.tar\.gz"):
        read(path, cars=2)


def test_by_name_only_the_official_archive_is_taken(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="64 or 128; got 32"):
        cars3d(size=32)
    with pytest.raises(DataError, match="data get cars3d"):
        cars3d()
    folder = tmp_path / "data" / "cars3d"
    folder.mkdir(parents=True)
    (folder / archive.name).symlink_to(archive)
    with pytest.raises(DataError, match="md5:4e866a7919c1beedf53964e6f7a23686"):
        cars3d()
    assert CARD.n == 17_568
