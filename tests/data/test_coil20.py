"""COIL-20: objects that turn, upright."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import savemat

from vaescope.data.coil20 import coil20, read
from vaescope.errors import DataError

Real = Callable[[str], Path]


@pytest.fixture
def turning(shared_data: Real, tmp_path: Path) -> NDArray[np.float32]:
    """All images by their factors: (object, azimuth, height, width)."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "coil20").symlink_to(shared_data("coil20"))
    data = coil20()
    assert data.shape == (1, 32, 32) and len(data) == 1440
    grid = np.stack(np.meshgrid(np.arange(20), np.arange(72), indexing="ij"), axis=-1)
    return data.observe(grid.reshape(-1, 2)).reshape(20, 72, 32, 32)


def test_five_degrees_change_less_than_another_object(turning: NDArray[np.float32]) -> None:
    step = np.abs(np.diff(turning, axis=1)).mean(axis=(1, 2, 3))
    other = np.abs(turning - np.roll(turning, 1, axis=0)).mean(axis=(1, 2, 3))
    assert np.all(step < 0.5 * other)


def test_a_full_turn_comes_back(turning: NDArray[np.float32]) -> None:
    closing = np.abs(turning[:, 71] - turning[:, 0]).mean()
    quarter = np.abs(turning[:, 18] - turning[:, 0]).mean()
    assert closing < 0.5 * quarter


def test_objects_stand_upright(turning: NDArray[np.float32]) -> None:
    """From the side the third object, a car, is wide, and the eighth, a bottle, is tall."""
    seen = turning[:, 0] > 0.2
    widths, heights = seen.any(axis=1).sum(axis=1), seen.any(axis=2).sum(axis=1)
    assert widths[2] > 1.5 * heights[2]
    assert heights[7] > 1.5 * widths[7]


def test_another_file_of_that_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "COIL20.mat"
    savemat(path, {"X": np.zeros((144, 1024), np.uint8), "Y": np.zeros((144, 1), np.uint8)})
    with pytest.raises(DataError, match=r"Y in .*COIL20\.mat"):
        read(path)
    savemat(path, {"X": np.zeros((144, 784), np.uint8), "Y": np.zeros((144, 1), np.uint8)})
    with pytest.raises(DataError, match=r"COIL20\.mat is uint8 of shape \(144, 784\)"):
        read(path)
    savemat(path, {"X": np.zeros((144, 1024), np.uint8)})
    with pytest.raises(DataError, match=r"COIL20\.mat cannot be read"):
        read(path)
    with pytest.raises(DataError, match="data get coil20"):
        coil20()
