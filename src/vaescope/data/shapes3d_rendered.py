"""Shapes3D, rendered here. After Burgess and Kim 2018, https://github.com/deepmind/3d-shapes.

Always called "rendered" where numbers are shown: the scene, its factors and their order are those
of the official file, the pixels are not.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset, grid_choice
from vaescope.data.factors import Factors
from vaescope.data.shapes3d_render import (
    ORIENTATIONS,
    PALETTE,
    SCALES,
    SHAPES,
    Scenes,
    render,
)
from vaescope.types import Integers

__all__ = ["CARD", "FACTORS", "Rooms", "shapes3d_rendered"]

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
