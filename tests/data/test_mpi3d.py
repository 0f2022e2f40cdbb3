"""The MPI3D archives, converted once to memory maps."""

from pathlib import Path

import numpy as np
import pytest

from vaescope.data.factors import Factors
from vaescope.data.mpi3d import (
    CARDS,
    COMPLEX,
    SIMPLE,
    mpi3d_complex,
    mpi3d_real,
    mpi3d_realistic,
    mpi3d_toy,
    read,
)
from vaescope.errors import DataError

GRID = Factors(SIMPLE.names, tuple(value[:2] for value in SIMPLE.values[:4] + SIMPLE.values[4:]))
CARD = CARDS["mpi3d-toy"]
PICTURES = np.random.default_rng(0).integers(256, size=(128, 64, 64, 3), dtype=np.uint8)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_grid_can_be_observed_by_its_factors(tmp_path: Path, save: object) -> None:
    path = tmp_path / "mpi3d_toy.npz"
    assert callable(save)
    save(path, images=PICTURES)
    seen: list[tuple[int, int | None]] = []
    data = read(path, CARD, GRID, progress=lambda name, done, total: seen.append((done, total)))
    assert data.shape == (3, 64, 64) and seen[-1] == (PICTURES.size, PICTURES.size)
    image = data.observe(np.array([[1, 0, 1, 0, 0, 1, 1]]))[0]
    wanted = PICTURES[0b1010011].transpose(2, 0, 1) / 255
    np.testing.assert_allclose(image, wanted, rtol=1e-6)


def test_another_number_of_images_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mpi3d_toy.npz"
    np.savez(path, images=PICTURES[:5])
    with pytest.raises(DataError, match=r"mpi3d_toy\.npz holds 5 images; .* 1,036,800"):
        read(path, CARD, SIMPLE)
    np.savez(path, images=PICTURES[..., 0])
    with pytest.raises(DataError, match=r"images in .*mpi3d_toy\.npz"):
        read(path, CARD, SIMPLE)


def test_a_damaged_archive_leaves_no_memory_map(tmp_path: Path) -> None:
    path = tmp_path / "mpi3d_toy.npz"
    np.savez(path, images=PICTURES)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(DataError, match=r"mpi3d_toy\.npz.*CRC"):
            read(path, CARD, GRID)


def test_each_of_the_four_wants_its_own_file() -> None:
    for load, card in zip(
        (mpi3d_toy, mpi3d_realistic, mpi3d_real, mpi3d_complex), CARDS.values(), strict=True
    ):
        with pytest.raises(DataError, match=card.files[0].name):
            load()
    assert (SIMPLE.n, COMPLEX.n) == (1_036_800, 460_800)
    with pytest.raises(DataError, match=r"drive\.google\.com"):
        mpi3d_complex()
