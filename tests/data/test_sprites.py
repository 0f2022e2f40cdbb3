"""LPC sprites: the full grid, and every image where its layers put it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from torch.nn.functional import avg_pool2d

from vaescope.data.dataset import Dataset
from vaescope.data.specs import DataSpec
from vaescope.data.sprites import FACTORS, read, sprites
from vaescope.errors import DataError, UsageError

SPEC: TypeAdapter[DataSpec] = TypeAdapter(DataSpec)
Real = Callable[[str], Path]
FRAME = 3  # of the eight that each action has


@pytest.fixture(scope="module")
def data(shared_data: Real) -> Dataset:
    return read(shared_data("sprites_lpc/sprites_11664.npz"))


@pytest.mark.slow
def test_all_11664_images_are_distinct(data: Dataset) -> None:
    assert len(data) == 11_664 and data.shape == (3, 64, 64)
    distinct = {
        row.tobytes()
        for start in range(0, len(data), 972)
        for row in data.rows(np.arange(start, start + 972))
    }
    assert len(distinct) == 11_664


@pytest.mark.slow
def test_each_image_is_composed_of_the_layers_its_factors_name(
    data: Dataset, shared_data: Real
) -> None:
    with np.load(shared_data("sprites_lpc/sprites_layers.npz")) as archive:
        layers = {name: archive[name] for name in (*FACTORS.names[:4], "shoes")}
    for row in range(0, 11_664, 1111):
        classes = FACTORS.classes(np.array([row]))[0]
        action, direction = classes[4:]
        image: NDArray[np.float64] = np.zeros((64, 64, 3))
        for layer, value in zip(layers.values(), (*classes[:4], 0), strict=True):
            drawn = layer[value, action, direction, FRAME].astype(np.float64)
            alpha = drawn[..., 3:] / 255
            image = (1 - alpha) * image + alpha * drawn[..., :3]
        seen = data.observe(classes[None])[0].transpose(1, 2, 0) * 255
        np.testing.assert_allclose(seen, image, atol=1e-3)


@pytest.mark.parametrize("size", [16, 32])
def test_a_smaller_image_is_the_mean_of_blocks(tmp_path: Path, size: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 64, 64, 3)).astype(np.uint8)
    np.savez(tmp_path / "few.npz", images=images)
    store = read(tmp_path / "few.npz", size=size).store
    wanted = avg_pool2d(torch.from_numpy(images).permute(0, 3, 1, 2).double(), 64 // size)
    assert store.shape == (3, size, size)
    rows = store.rows(np.arange(3)) * 255
    np.testing.assert_allclose(rows, wanted.numpy(), rtol=0, atol=0.5 + 1e-4)


def test_at_64_pixels_a_run_keeps_the_digest_it_had_without_a_size() -> None:
    spec = SPEC.validate_python({"name": "sprites"})
    assert "size" not in spec.model_dump() and spec.shape == (3, 64, 64)
    small = SPEC.validate_python({"name": "sprites", "size": 16})
    assert small.model_dump()["size"] == 16 and small.shape == (3, 16, 16)


def test_another_size_is_refused() -> None:
    with pytest.raises(UsageError, match="size 64, 32 or 16; got 48"):
        sprites(size=48)


@pytest.mark.slow
def test_by_name_only_that_file_is_taken(shared_data: Real, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"sprites_11664\.npz.*no public address"):
        sprites()
    folder = tmp_path / "data" / "sprites"
    folder.mkdir(parents=True)
    path = folder / "sprites_11664.npz"
    np.savez(path, images=np.zeros((2, 64, 64, 3), np.uint8))
    with pytest.raises(DataError, match=r"sprites_11664\.npz has .* bytes; wanted 7,763,753"):
        sprites()
    path.unlink()
    path.symlink_to(shared_data("sprites_lpc/sprites_11664.npz"))
    assert len(sprites()) == 11_664
