"""Cars3D. Reed et al. 2015, Deep Visual Analogy-Making,
https://papers.nips.cc/paper/5845-deep-visual-analogy-making."""

import math
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vaescope.data.arrays import Header, matlab, reading, require_shape
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import Progress, converted, locate
from vaescope.data.stores import Bytes
from vaescope.errors import DataError, UsageError
from vaescope.types import Array

__all__ = ["CARD", "cars3d", "read"]

ELEVATIONS, AZIMUTHS, CARS, PIXELS = 4, 24, 183, 128

CARD = Card(
    "cars3d",
    (3, 64, 64),
    ELEVATIONS * AZIMUTHS * CARS,
    "not stated",
    "cars3d",
    {"elevation": ELEVATIONS, "azimuth": AZIMUTHS, "object_type": CARS},
    files=(
        File(
            "nips2015-analogy-data.tar.gz",
            "http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
            "md5:4e866a7919c1beedf53964e6f7a23686",
            instead=(File("data/cars"), File("cars")),
        ),
    ),
    notes="cars in the order of their file names; shrunk to 64 pixels as disentanglement_lib does",
)


def cars3d(*, size: int = 64, progress: Progress | None = None) -> Dataset:
    """The grid of 17,568 colour images of 183 cars, at 64 or the original 128 pixels."""
    if size not in (64, PIXELS):
        raise UsageError(f"cars3d has size 64 or 128; got {size}.", "Give one of these.")
    return read(locate(CARD, CARD.files[0]), size=size, progress=progress)


def read(
    path: Path, *, cars: int = CARS, size: int = 64, progress: Progress | None = None
) -> Dataset:
    """The archive, or a folder with its .mat files, converted once to a memory map beside it."""
    sizes = (ELEVATIONS, AZIMUTHS, cars)
    shape = (math.prod(sizes), size, size, 3)
    chunks = _grid(path, cars, size, progress)
    pixels = converted([path], f"cars3d.{size}.npy", shape, chunks, None)
    factors = Factors(tuple(CARD.factors), tuple(np.arange(size) for size in sizes))
    return Dataset(CARD, Bytes(pixels, channels_last=True), factors)


def _grid(
    path: Path, cars: int, size: int, progress: Progress | None
) -> Iterator[NDArray[np.uint8]]:
    shrunk: dict[str, NDArray[np.uint8]] = {}
    for name, mesh in _meshes(path):
        require_shape(
            path, f"im of {name}", Header((1, *mesh.shape), mesh.dtype), 128, 128, 3, 24, 4
        )
        shrunk[name] = _shrunk(mesh, size)
        if progress:
            each = shrunk[name].nbytes
            progress(path.name, len(shrunk) * each, cars * each)
    if len(shrunk) != cars:
        raise DataError(
            f"{path} holds {len(shrunk)} cars; wanted {cars}.",
            "Is it the official archive, or all of its folder data/cars?",
        )
    ordered = np.stack([shrunk[name] for name in sorted(shrunk)], axis=2)
    yield ordered.reshape(-1, size, size, 3)


def _meshes(path: Path) -> Iterator[tuple[str, Array]]:
    if path.is_dir():
        for file in path.glob("*.mat"):
            yield file.name, matlab(file, "im")
        return
    with reading(path), tarfile.open(path, "r:gz") as archive:
        for member in archive:
            inside = PurePosixPath(member.name)
            if inside.parent.name == "cars" and inside.suffix == ".mat":
                content = archive.extractfile(member)
                assert content is not None, "a .mat that is not a file"
                yield inside.name, matlab(path, "im", BytesIO(content.read()))


def _shrunk(mesh: Array, size: int) -> NDArray[np.uint8]:
    """Of one car: (height, width, colour, azimuth, elevation) -> (elevation, azimuth, ...)."""
    images = mesh.transpose(4, 3, 0, 1, 2)
    if size == PIXELS:
        return np.ascontiguousarray(images)
    small = np.empty((*images.shape[:2], size, size, 3), np.uint8)
    for view in np.ndindex(*images.shape[:2]):
        image = Image.fromarray(np.ascontiguousarray(images[view]))
        small[view] = np.asarray(image.resize((size, size), Image.Resampling.LANCZOS))
    return small
