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
    SCALES,
    SHAPES,
    Scenes,
    hue_colour,
    render,
)
from vaescope.errors import UsageError
from vaescope.types import Array, Double, Integers, Single

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
    notes="rendered locally after frames of the official animation; drawn at any size",
)


@dataclass(frozen=True, eq=False)
class Rooms:
    """The product of hues and geometries; an image is coloured when it is asked for."""

    scenes: Scenes
    colours: tuple[NDArray[np.uint8], ...]  # of floor, wall and object: (hue, channel) each
    range: tuple[float, float] = (0.0, 1.0)

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.scenes.size, self.scenes.size)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return (*(len(colours) for colours in self.colours), len(self.scenes.shares))

    def __len__(self) -> int:
        return math.prod(self._sizes)

    def images(self, index: Integers) -> NDArray[np.uint8]:
        """Images as the memory map has them: (n, 3, height, width)."""
        *hues, scene = np.unravel_index(index, self._sizes)
        colours = np.stack(
            [kept[hue] for kept, hue in zip(self.colours, hues, strict=True)], axis=1
        )
        return self.scenes.images(scene, colours)

    def rows(self, index: Integers) -> Single:
        return np.multiply(self.images(index), np.float32(1.0 / 255.0), dtype=np.float32)


def shapes3d_rendered(
    *,
    size: int = 64,
    grid: Mapping[str, Sequence[int]] | None = None,
    arcs: Mapping[str, tuple[float, float, int]] | None = None,
) -> Dataset:
    """RGB images drawn at `size` pixels: the whole grid of 480,000 or the classes in `grid`.

    `arcs` draws factors between their official values: (first, last, count) in numbers of classes,
    e.g. {"wall_hue": (0, 4, 10)} for ten hues from red to green; class 10 of a hue is class 0.

    Takes a second and 24 MB: what is kept are 480 geometries, to be coloured batch by batch.
    """
    keep = grid_choice(FACTORS.names, FACTORS.sizes, grid or {})
    places = {
        name: chosen.astype(np.float64) for name, chosen in zip(FACTORS.names, keep, strict=True)
    }
    places |= {name: _arc(name, arc, grid or {}) for name, arc in (arcs or {}).items()}
    floor, wall, thing, scale, shape, orientation = places.values()
    scenes = render(scale.tolist(), [int(kind) for kind in shape], orientation.tolist(), size=size)
    colours = tuple(np.stack([hue_colour(hue) for hue in hues]) for hues in (floor, wall, thing))
    return Dataset(CARD, Rooms(scenes, colours), _factors(places))


def _arc(name: str, arc: tuple[float, float, int], grid: Mapping[str, Sequence[int]]) -> Double:
    """Places of a factor in units of its classes."""
    last = {**dict.fromkeys(FACTORS.names[:3], 10.0), "scale": 7.0, "orientation": 14.0}
    if name not in last or name in grid:
        why = "is in data.grid too" if name in grid else "cannot be drawn between its values"
        raise UsageError(
            f"data.arcs.{name}: {name} {why}.",
            f"Arcs are of {', '.join(last)}, but not of a factor in grid.",
        )
    start, stop, count = arc
    if not (0.0 <= start < stop <= last[name] and count >= 2) or (
        last[name] == 10.0 and stop - start >= 10.0
    ):
        raise UsageError(
            f"data.arcs.{name} must be [first, last, count] with 0 <= first < last <= "
            f"{last[name]:g}, no full circle, and 2 values or more; got {list(arc)}.",
            f"Give for example data.arcs.{name}=[0, 4, 10].",
        )
    return np.linspace(start, stop, count)


def _factors(places: Mapping[str, Double]) -> Factors:
    """Factors with what their values are at these places; constant ones are dropped."""
    kept = [
        (name, _values(values, places[name]))
        for name, values in zip(FACTORS.names, FACTORS.values, strict=True)
        if len(places[name]) > 1
    ]
    return Factors(tuple(name for name, _ in kept), tuple(values for _, values in kept))


def _values(official: Array, places: Double) -> Array:
    whole = places.astype(np.int64)
    if np.array_equal(whole, places) and whole.max() < len(official):
        return official[whole]
    # A line through the first two: hues, scales and orientations are equally far apart.
    step = float(official[1]) - float(official[0])
    return float(official[0]) + step * places
