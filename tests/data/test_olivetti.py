"""Olivetti faces: forty persons, upright."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from vaescope.data.olivetti import olivetti, read
from vaescope.errors import DataError

Real = Callable[[str], Path]


def test_faces_are_upright_and_persons_alike(shared_data: Real, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "olivetti").symlink_to(shared_data("olivetti"))
    data = olivetti()
    assert data.shape == (1, 64, 64) and data.factors is not None
    person = data.factors.classes(np.arange(400))[:, 0]
    assert np.bincount(person).tolist() == [10] * 40
    faces = data.rows(np.arange(400))[:, 0]
    mean = faces.mean(axis=0)
    left_right, up_down = (np.abs(mean - np.flip(mean, axis)).mean() for axis in (1, 0))
    assert left_right < 0.5 * up_down
    centres = np.stack([faces[person == p].mean(axis=0) for p in range(40)])
    within = ((faces - centres[person]) ** 2).mean()
    assert within < 0.6 * ((faces - mean) ** 2).mean()
    np.testing.assert_allclose(faces.max(), 242 / 255, rtol=1e-6)


def test_another_file_of_that_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "olivettifaces.mat"
    savemat(path, {"faces": np.zeros((4096, 15), np.uint8)})
    with pytest.raises(DataError, match=r"olivettifaces\.mat holds 15 faces"):
        read(path)
    savemat(path, {"faces": np.zeros((1024, 10), np.uint8)})
    with pytest.raises(DataError, match=r"olivettifaces\.mat is uint8 of shape \(10, 1024\)"):
        read(path)
    with pytest.raises(DataError, match="data get olivetti"):
        olivetti()
