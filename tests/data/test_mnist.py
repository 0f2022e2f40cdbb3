"""The idx files of MNIST and Fashion-MNIST."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from vaescope.data.dataset import Dataset
from vaescope.data.mnist import CARDS, DIGITS, fashion_mnist, idx, mnist, read
from vaescope.errors import DataError, UsageError

Real = Callable[[str], Path]
TRAINING = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


def write(path: Path, values: NDArray[np.uint8]) -> Path:
    content = struct.pack(f">4B{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    content += values.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def counts(data: Dataset, start: int, stop: int) -> list[int]:
    assert data.factors is not None
    return list(np.bincount(data.factors.classes(np.arange(start, stop))[:, 0]))


@pytest.mark.slow
def test_mnist_has_its_known_counts_and_mean(shared_data: Real, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mnist").symlink_to(shared_data("mnist"))
    data = mnist()
    assert len(data) == 70_000 and data.shape == (1, 28, 28)
    assert counts(data, 0, 60_000) == TRAINING
    assert counts(data, 60_000, 70_000) == TEST
    # The mean and deviation with which everybody standardises MNIST.
    training = data.rows(np.arange(60_000))
    np.testing.assert_allclose([training.mean(), training.std()], [0.1307, 0.3081], atol=5e-5)


@pytest.mark.slow
def test_fashion_mnist_has_as_many_of_each_class(shared_data: Real, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "fashion-mnist").symlink_to(shared_data("fashion_mnist"))
    data = fashion_mnist()
    assert counts(data, 0, 60_000) == [6000] * 10
    assert counts(data, 60_000, 70_000) == [1000] * 10
    assert data.factors is not None and data.factors.values[0][9] == "Ankle boot"
    training = data.rows(np.arange(60_000))
    np.testing.assert_allclose([training.mean(), training.std()], [0.2860, 0.3530], atol=5e-5)


def test_at_32_pixels_images_are_bilinearly_enlarged(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(3, 28, 28), dtype=np.uint8)
    paths = [
        write(tmp_path / "images.gz", pixels),
        write(tmp_path / "labels", pixels[:, 0, 0] % 10),
    ]
    data = read(paths, CARDS["mnist"], DIGITS, size=32)
    assert data.shape == (1, 32, 32)
    large = Image.fromarray(pixels[1]).resize((32, 32), Image.Resampling.BILINEAR)
    np.testing.assert_allclose(data.rows(np.array([1]))[0, 0], np.asarray(large) / 255, rtol=1e-6)


@pytest.mark.parametrize("name", ["images", "images.gz"])
@pytest.mark.parametrize("kept", [0, 3, 10, 100, -1])
def test_a_truncated_file_is_named(tmp_path: Path, name: str, kept: int) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(3, 28, 28), dtype=np.uint8)
    path = write(tmp_path / name, pixels)
    np.testing.assert_array_equal(idx(path), pixels)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=rf"{name} cannot be read"):
        idx(path)


def test_labels_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    images = write(tmp_path / "images", np.zeros((3, 28, 28), np.uint8))
    labels = write(tmp_path / "labels", np.zeros(4, np.uint8))
    with pytest.raises(DataError, match=r"labels has 4 labels .* for 3 images"):
        read([images, labels], CARDS["mnist"], DIGITS)
    write(labels, np.array([1, 2, 10], np.uint8))
    with pytest.raises(DataError, match="labels up to 10"):
        read([images, labels], CARDS["mnist"], DIGITS)
    with pytest.raises(DataError, match=r"labels is uint8 of shape \(3,\)"):
        read([labels, labels], CARDS["mnist"], DIGITS)


def test_a_missing_file_and_an_unknown_size_are_explained() -> None:
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte\.gz.*data get mnist"):
        mnist()
    with pytest.raises(UsageError, match="28 or 32; got 64"):
        fashion_mnist(size=64)
