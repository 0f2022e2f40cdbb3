"""Arrays as PNG images to be inlined."""

import io

import numpy as np
from PIL import Image

from vaescope.types import Array, Floats

__all__ = ["BUDGET", "columns_of", "heat_of", "rows_of", "sheet_of"]

#: Of maps: about 4:1 on both papers.
INK = (0x3F, 0x7F, 0xB5)

#: Bytes of all pictures of one kind, at most: a report must stay one that can be mailed.
BUDGET = 1_500_000


def rows_of(strips: Floats, budget: int = BUDGET, *, height: int = 64) -> list[bytes]:
    """Strips of images (strip, n, channels, height, width) in [0, 1]: one PNG per strip, its images
    side by side, the gaps see-through; the images about so many pixels high."""
    return _within_budget(strips, budget, axis=1, height=height)


def columns_of(strips: Floats, budget: int = BUDGET) -> list[bytes]:
    """The same with each strip's images below each other."""
    return _within_budget(strips, budget, axis=0, height=96)


def heat_of(maps: Floats) -> list[bytes]:
    """Maps (n, height, width) of sizes, each as ink that is the denser the larger: what shows
    through is the page's own paper, light or dark."""
    pictures = []
    for values in maps:
        dense = _sized(values[None, None] / (values.max() or 1.0), 96)[0, 0]
        pixels = np.empty((*dense.shape, 4), dtype=np.uint8)
        pixels[..., :3] = INK
        pixels[..., 3] = np.round(255.0 * np.clip(dense, 0.0, 1.0))
        pictures.append(_png(pixels))
    return pictures


def sheet_of(images: Floats, side: int) -> tuple[bytes, int, tuple[int, int]]:
    """Thumbnails of images (n, channels, height, width) in one PNG: it, how many are in a row, and
    the width and height of each."""
    small = _sized(images, min(side, images.shape[2]))
    across = int(np.ceil(np.sqrt(len(small))))
    pad = np.zeros((-len(small) % across, *small.shape[1:]))
    tiles = np.concatenate([small, pad]).reshape(-1, across, *small.shape[1:])
    rows, columns, channels, height, width = tiles.shape
    whole = tiles.transpose(2, 0, 3, 1, 4).reshape(1, channels, rows * height, columns * width)
    return _png(_joined(whole, 0)), across, (width, height)


def _within_budget(strips: Floats, budget: int, *, axis: int, height: int) -> list[bytes]:
    while True:
        pictures = [_png(_joined(_sized(images, height), axis)) for images in strips]
        if height <= 16 or sum(map(len, pictures)) <= budget:
            return pictures
        height //= 2


def _sized(images: Floats, height: int) -> Floats:
    """Whole multiples only: small images stay sharp, large ones are averaged over blocks."""
    factor = height / images.shape[2]
    if factor >= 1.0:
        return images.repeat(round(factor), axis=2).repeat(round(factor), axis=3)
    block = int(np.ceil(1.0 / factor))
    n, channels, old, width = images.shape
    cut = images[:, :, : old - old % block, : width - width % block]
    blocks = cut.reshape(n, channels, old // block, block, width // block, block)
    smaller: Floats = blocks.mean(axis=(3, 5))
    return smaller


def _joined(images: Floats, axis: int) -> Array:
    n, channels, height, _ = images.shape
    shown = images[:, :3] if channels >= 3 else images[:, :1]
    pixels = np.moveaxis(np.round(np.clip(shown, 0.0, 1.0) * 255.0), 1, -1).astype(np.uint8)
    opaque = np.full((*pixels.shape[:3], 1), 255, dtype=np.uint8)
    tiles = np.concatenate([pixels, opaque], axis=-1)  # (n, height, width, grey or rgb, alpha)
    gap = max(1, height // 20)
    shape = (gap, *tiles.shape[2:]) if axis == 0 else (tiles.shape[1], gap, tiles.shape[3])
    parts = [np.zeros(shape, dtype=np.uint8)] * (2 * n - 1)
    parts[::2] = list(tiles)
    return np.concatenate(parts, axis=axis)


def _png(pixels: Array) -> bytes:
    buffer = io.BytesIO()
    # Grey or rgb, with alpha. At the usual level: the highest saves a twentieth of the bytes in ten
    # to twenty times the time.
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()
