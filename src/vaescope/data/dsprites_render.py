"""Re-rendered dSprites. Matthey et al. 2017, https://github.com/deepmind/dsprites-dataset.

A pixel is on iff its centre lies inside the shape. Rather than ask that of every pixel, we find
where each pixel row crosses the outline: a row of bits is the exclusive or of one prefix of ones
per crossing. Rows depend on y alone and crossings shift with x, so a sprite is outlined once and
its 1,024 positions cost a table look-up per crossing.
"""

import ctypes
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from vaescope.data.dsprites_geometry import (
    ELLIPSE_SEMI_U,
    ELLIPSE_SEMI_V,
    HEART_RADII,
    SQUARE_HALF_SIDE,
)
from vaescope.errors import UsageError
from vaescope.native import library
from vaescope.types import Double

__all__ = ["FACTOR_SIZES", "render"]

FACTOR_SIZES = {"shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}

# The heart's radius is linear in the angle; so many chords between two angles of its table stay
# within 4e-7 pixels of that curve.
_CHORDS = 16

# NumPy lets go of the interpreter lock; two threads render the whole grid in half a second.
_WORKERS = 2


def render(
    shape: Sequence[int],
    scale: Sequence[int],
    orientation: Sequence[int],
    x: Sequence[int],
    y: Sequence[int],
    *,
    size: int = 64,
) -> NDArray[np.uint8]:
    """Packed bits of every image of the product grid, C-order, shape (n, size * size // 8).

    Arguments are class indices; `np.unpackbits(row).reshape(size, size)` is an image. Drawn at
    `size` pixels, not down-sampled. Fitted to real frames, not the official images: a few pixels on
    the edges differ, so call the result "re-rendered dSprites".

    >>> int(np.unpackbits(render([0], [0], [0], [0], [0])).sum())  # a square of 10 x 10
    100
    """
    if size <= 0 or size % 8:
        raise UsageError(
            f"render needs an image size that is a positive multiple of 8; got {size}.",
            "Take 64, the size of the official images, or 16, 32 or 128.",
        )
    sprites = list(
        product(
            _checked("shape", shape).tolist(),
            _checked("scale", scale).tolist(),
            _checked("orientation", orientation).tolist(),
        )
    )
    across = 16 + 32 * np.linspace(0, 1, FACTOR_SIZES["x"])[_checked("x", x)]
    down = 16 + 32 * np.linspace(0, 1, FACTOR_SIZES["y"])[_checked("y", y)]

    centres = (np.arange(size) + 0.5) * 64 / size
    rows = (centres - down[:, None]).ravel()  # (y * size,), below the centre of the sprite
    order = np.argsort(rows, kind="stable")
    prefixes = _prefixes(size)  # (size + 1, word)
    words = prefixes.shape[1]
    images = np.zeros((len(sprites), len(across), len(rows), words), prefixes.dtype)

    compiled = library("sprites") if words == 1 and size > 8 else None

    def draw(index: int) -> None:
        live, crossings = _crossings(*sprites[index], rows[order])
        if compiled is not None:
            return _draw_compiled(
                compiled, size, crossings, across, order[live], prefixes, images[index]
            )
        # Columns whose centre is at or left of the crossing. Edges need no tie rule in float64:
        # over the whole grid at 64 pixels no centre comes closer to one than 5e-9.
        counts = np.floor((crossings + across[:, None, None]) * (size / 64) + 0.5)
        np.clip(counts, 0, size, out=counts)
        columns = counts.astype(np.intp)  # (x, crossing, row)
        for word in range(words):
            bits = np.bitwise_xor.reduce(prefixes[:, word].take(columns), axis=1)
            images[index, :, order[live], word] = bits.T
        return None

    with ThreadPoolExecutor(_WORKERS) as pool:
        for _ in pool.map(draw, range(len(sprites))):
            pass
    return images.view(np.uint8).reshape(-1, size * size // 8)


def _draw_compiled(
    compiled: ctypes.CDLL,
    size: int,
    crossings: Double,
    across: Double,
    row: NDArray[np.intp],
    prefixes: NDArray[np.unsignedinteger],
    image: NDArray[np.unsignedinteger],
) -> None:
    """The loop over words in C, to the last bit: `image` (x, row, 1)."""
    arrays = [np.ascontiguousarray(own) for own in (crossings, across, row.astype(np.int64))]
    assert image.flags.c_contiguous and prefixes.flags.c_contiguous
    counts = (len(across), len(crossings), len(row), image.shape[1], size)
    getattr(compiled, f"draw_{size}")(
        *(ctypes.c_int64(count) for count in counts), ctypes.c_double(size / 64),
        *(own.ctypes.data_as(ctypes.c_void_p) for own in (*arrays, prefixes, image)),
    )  # fmt: skip


def _checked(factor: str, indices: Sequence[int]) -> NDArray[np.intp]:
    """The indices as an array; ValueError if one is not a class of the factor."""
    array = np.asarray(indices)
    known = FACTOR_SIZES[factor]
    whole = array.dtype.kind in "iu" or array.size == 0
    if array.ndim != 1 or not whole or ((array < 0) | (array >= known)).any():
        raise UsageError(
            f"{factor} needs a sequence of integer class indices in 0..{known - 1}; "
            f"got {indices!r}.",
            f"Pass indices, not factor values, e.g. range({known}).",
        )
    return array.astype(np.intp)


def _prefixes(size: int) -> NDArray[np.unsignedinteger]:
    """Row n has its first n of `size` bits on, as the widest words that fill a pixel row."""
    bits = np.arange(size) < np.arange(size + 1)[:, None]
    # Exclusive or acts bit by bit, so words of any width and byte order give the same bytes.
    packed: NDArray[np.unsignedinteger] = np.packbits(bits, axis=1).view(
        f"u{math.gcd(size // 8, 8)}"
    )
    return packed


def _crossings(
    shape: int, scale: int, orientation: int, rows: Double
) -> tuple[NDArray[np.intp], Double]:
    """Which of the sorted rows meet the sprite, and where: (row,) indices and (crossing, row) x."""
    size = np.linspace(0.5, 1, FACTOR_SIZES["scale"])[scale]
    # Orientation 39 is a full turn: the remainder makes it equal orientation 0 to the last bit.
    turns = FACTOR_SIZES["orientation"] - 1
    angle = 2 * np.pi * (orientation % turns) / turns
    if shape == 1:
        return _ellipse_crossings(size, angle, rows)
    u, v = size * (_square() if shape == 0 else _heart())
    # The inverse of u = x cos - y sin, v = x sin + y cos: counter-clockwise with y pointing down.
    x, y = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
    return _polygon_crossings(x, y, rows)


def _ellipse_crossings(size: float, angle: float, rows: Double) -> tuple[NDArray[np.intp], Double]:
    """Roots in x of a x^2 + 2 b x y + c y^2 = size^2."""
    cos, sin = math.cos(angle), math.sin(angle)
    p, q = ELLIPSE_SEMI_U**-2, ELLIPSE_SEMI_V**-2
    a, b, c = p * cos**2 + q * sin**2, (q - p) * sin * cos, p * sin**2 + q * cos**2
    discriminant = (b * rows) ** 2 - a * (c * rows**2 - size**2)
    live = np.flatnonzero(discriminant >= 0)
    half = np.sqrt(discriminant[live]) / a
    middle = -b * rows[live] / a
    return live, np.stack([middle - half, middle + half])


def _polygon_crossings(x: Double, y: Double, rows: Double) -> tuple[NDArray[np.intp], Double]:
    """Where the sorted rows cross the closed polygon, padded with -inf, which puts no column on."""
    next_x, next_y = np.roll(x, -1), np.roll(y, -1)
    # Half-open edges: a row through a vertex counts one of its two edges, never both or none.
    first = np.searchsorted(rows, np.minimum(y, next_y))
    counts = np.searchsorted(rows, np.maximum(y, next_y)) - first
    edge = np.repeat(np.arange(len(x)), counts)
    row = np.arange(len(edge)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    slope = (next_x[edge] - x[edge]) / (next_y[edge] - y[edge])
    crossing = x[edge] + (rows[row] - y[edge]) * slope

    by_row = np.argsort(row, kind="stable")
    live, start, number = np.unique(row[by_row], return_index=True, return_counts=True)
    rank = np.arange(len(row)) - np.repeat(start, number)
    table = np.full((number.max(initial=0), len(live)), -np.inf)
    table[rank, np.repeat(np.arange(len(live)), number)] = crossing[by_row]
    return live, table


def _square() -> Double:
    """Corners (u, v) in order round the square."""
    return SQUARE_HALF_SIDE * np.array([[-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]])


@cache
def _heart() -> Double:
    """Vertices (u, v) round the heart: down its right side, up its mirror image."""
    knots = np.linspace(-np.pi / 2, np.pi / 2, len(HEART_RADII))
    angles = np.linspace(-np.pi / 2, np.pi / 2, (len(HEART_RADII) - 1) * _CHORDS + 1)
    radii = np.interp(angles, knots, HEART_RADII)
    u, v = radii * np.cos(angles), radii * np.sin(angles)
    return np.stack([np.concatenate([u, -u[::-1]]), np.concatenate([v, v[::-1]])])
