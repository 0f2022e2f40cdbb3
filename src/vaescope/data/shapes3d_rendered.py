"""Shapes3D, rendered here. After Burgess and Kim 2018, https://github.com/deepmind/3d-shapes.

Always called "rendered" where numbers are shown: the scene, its factors and their order are those
of the official file, the pixels are not.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaescope.data.arrays import reading
from vaescope.data.card import Card
from vaescope.data.dataset import Dataset, grid_choice
from vaescope.data.factors import Factors
from vaescope.data.files import Progress, alone, require_space
from vaescope.data.shapes3d_render import (
    ORIENTATIONS,
    PALETTE,
    SCALES,
    SHAPES,
    Scenes,
    render,
)
from vaescope.data.stores import Bytes
from vaescope.errors import DataError
from vaescope.paths import disk_errors
from vaescope.types import Integers

__all__ = ["CARD", "FACTORS", "Rooms", "render_all", "shapes3d_rendered"]

_ALL = np.arange(10)
_HUES = _ALL / 10.0

FACTORS = Factors(
    ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"),
    (_HUES, _HUES, _HUES, SCALES, np.array(SHAPES), ORIENTATIONS),
)

CARD = Card(
    "shapes3d-rendered",
    (3, 64, 64),
    FACTORS.n,
    "Apache-2.0",
    "shapes3d",
    dict(zip(FACTORS.names, FACTORS.sizes, strict=True)),
    notes="rendered here after frames of the official animation; drawn at any asked size",
)


@dataclass(frozen=True, eq=False)
class Rooms:
    """The product of hues and geometries; an image is coloured when it is asked for."""

    scenes: Scenes
    hues: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]  # floor, wall, object
    range: tuple[float, float] = (0.0, 1.0)

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.scenes.size, self.scenes.size)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return (*(len(hues) for hues in self.hues), len(self.scenes.shares))

    def __len__(self) -> int:
        return math.prod(self._sizes)

    def images(self, index: Integers) -> NDArray[np.uint8]:
        """Images as the memory map has them: (n, 3, height, width)."""
        *hues, scene = np.unravel_index(index, self._sizes)
        colours = np.stack(
            [PALETTE[kept[hue]] for kept, hue in zip(self.hues, hues, strict=True)], axis=1
        )
        return self.scenes.images(scene, colours)

    def rows(self, index: Integers) -> NDArray[np.float32]:
        return np.multiply(self.images(index), np.float32(1.0 / 255.0), dtype=np.float32)


def shapes3d_rendered(
    *, size: int = 64, grid: Mapping[str, Sequence[int]] | None = None
) -> Dataset:
    """RGB images drawn at `size` pixels: the whole grid of 480,000 or the classes in `grid`.

    Takes a second and 24 MB: what is kept are 480 geometries, to be coloured batch by batch.
    """
    keep = grid_choice(FACTORS.names, FACTORS.sizes, grid or {})
    scenes = render(*(chosen.tolist() for chosen in keep[3:]), size=size)
    return Dataset(CARD, Rooms(scenes, (keep[0], keep[1], keep[2])), FACTORS.restrict(keep))


def render_all(path: Path, progress: Progress | None = None) -> Dataset:
    """All 480,000 images from a memory map at `path`, rendered unless they are there.

    For other programs and for random access without arithmetic; `shapes3d_rendered()` needs no
    file. It is a plain .npy of uint8, shape (480000, 3, 64, 64), 5.9 GB.
    """
    store = Rooms(render(range(8), range(4), range(15)), (_ALL, _ALL, _ALL))
    with disk_errors(path, by="VAESCOPE_DATA"):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        require_space(path.parent, len(store) * math.prod(store.shape), "Rendering Shapes3D")
        with disk_errors(path, by="VAESCOPE_DATA"), alone(path):
            if not path.exists():
                _write(path, store, progress)
    return Dataset(CARD, Bytes(_opened(path, store)), FACTORS)


def _write(path: Path, rooms: Rooms, progress: Progress | None) -> None:
    """To a scratch file first: what has the name is whole."""
    shape = (len(rooms), *rooms.shape)
    scratch = path.with_name(f".{path.name}.part")
    block = len(rooms.scenes.shares)
    try:
        # Not through a memory map: there a full disk is a bus error that nobody can catch.
        with scratch.open("wb") as file:
            fields = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, fields)
            for start in range(0, len(rooms), block):
                file.write(rooms.images(np.arange(start, start + block)).data)
                if progress is not None:
                    image = math.prod(rooms.shape)
                    progress(path.name, (start + block) * image, len(rooms) * image)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:  # also Ctrl-C: gigabytes must not stay behind
        scratch.unlink(missing_ok=True)
        raise


def _opened(path: Path, rooms: Rooms) -> NDArray[np.uint8]:
    """The file, after a look at a hundred of its rows: another renderer's images are refused."""
    remedy = f"Delete {path} and render it again."
    with reading(path, remedy):
        images = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    wanted = (len(rooms), *rooms.shape)
    if images.shape != wanted or images.dtype != np.uint8:
        raise DataError(
            f"{path} is {images.dtype} of shape {images.shape}; wanted uint8 of {wanted}.", remedy
        )
    some = np.linspace(0, len(rooms) - 1, 100).astype(np.int64)
    if not np.array_equal(images[some], rooms.images(some)):
        raise DataError(f"{path} holds other images than this version renders.", remedy)
    return images
