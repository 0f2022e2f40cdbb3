"""Shapes3D, the official file. Burgess & Kim 2018, https://github.com/deepmind/3d-shapes."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaescope.data.arrays import array, hdf5, header, require_shape, rows
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors, tabulated
from vaescope.data.files import Progress, converted, locate, require_all
from vaescope.data.stores import Bytes
from vaescope.errors import DataError
from vaescope.types import Array

__all__ = ["CARD", "NAMES", "SIZES", "read", "shapes3d"]

NAMES = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
SIZES = (10, 10, 10, 8, 4, 15)

CARD = Card(
    "shapes3d",
    (3, 64, 64),
    math.prod(SIZES),
    "Apache-2.0",
    "shapes3d",
    dict(zip(NAMES, SIZES, strict=True)),
    files=(
        File(
            "3dshapes.h5",
            "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
            "sha256:0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
            267_573_662,
        ),
    ),
    notes="converted once to a memory map of 5.9 GB beside the file; needs vaescope[h5]",
)


def shapes3d(*, progress: Progress | None = None) -> Dataset:
    """The whole grid of 480,000 colour images of an object in a room."""
    path = locate(CARD, CARD.files[0])
    return require_all(read(path, progress=progress), path)


def read(path: Path, *, sizes: Sequence[int] = SIZES, progress: Progress | None = None) -> Dataset:
    """A file of the official format, converted once to a memory map beside it.

    As many rows as `sizes` have combinations must be the full grid; any other number gets a table.
    """
    images = header(path, "images")
    require_shape(path, "images", images, 64, 64, 3)
    require_shape(path, "labels", header(path, "labels"), len(NAMES), dtype=np.float64)
    if images.shape[0] == math.prod(sizes):
        factors = Factors(NAMES, tuple(_values(path, sizes)))
        chunks = _checked(path, factors)
    else:
        factors = tabulated(NAMES, list(array(path, "labels").T))
        chunks = rows(path, "images")
    pixels = converted([path], f"{path.name}.images.npy", images.shape, chunks, progress)
    return Dataset(CARD, Bytes(pixels, channels_last=True), factors)


def _values(path: Path, sizes: Sequence[int]) -> Iterator[Array]:
    """Each factor's values, from the few rows where the others have their first one."""
    with hdf5(path) as file:
        labels = file["labels"]
        for k, size in enumerate(sizes):
            stride = math.prod(sizes[k + 1 :])
            yield np.array([labels[step * stride, k] for step in range(size)])


def _checked(path: Path, factors: Factors) -> Iterator[NDArray[np.uint8]]:
    classes = factors.classes(np.arange(factors.n))
    labels = array(path, "labels")
    for k, values in enumerate(factors.values):
        if np.any(np.diff(values) <= 0) or not np.array_equal(values[classes[:, k]], labels[:, k]):
            raise DataError(
                f"{NAMES[k]} in {path} does not vary as on the full grid, last factor fastest.",
                "Delete it and get the official file.",
            )
    yield from rows(path, "images")
