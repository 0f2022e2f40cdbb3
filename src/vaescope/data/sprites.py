"""Sprites of the Liberated Pixel Cup, as drawn by Li & Mandt 2018,
https://arxiv.org/abs/1803.02991."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaescope.data.arrays import Header, array, require_shape
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import locate, require_all
from vaescope.data.stores import Bytes
from vaescope.errors import UsageError

__all__ = ["CARD", "FACTORS", "read", "sprites"]

PIXELS = 64
FACTORS = Factors(
    ("body", "bottomwear", "topwear", "hair", "action", "direction"),
    (
        np.arange(6),
        np.arange(6),
        np.arange(6),
        np.arange(6),
        np.array(["walk", "spellcard", "slash"]),
        np.array(["front", "left", "right"]),
    ),
)

CARD = Card(
    "sprites",
    (3, 64, 64),
    FACTORS.n,
    "CC-BY-SA 3.0",
    "sprites",
    dict(zip(FACTORS.names, FACTORS.sizes, strict=True)),
    files=(
        File(
            "sprites_11664.npz",
            digest="sha256:aaf5390b5eaed000924b9ac7772ec0baab1ed732d3c67bfa4823a19dbb9cbd2a",
            size=7_763_753,
        ),
    ),
    how="sprites_11664.npz holds `images`, uint8 (11664, 64, 64, 3), one frame for each of "
    "body 6, bottomwear 6, topwear 6, hair 6, action 3, direction 3, drawn from the layers of "
    "https://github.com/YingzhenLi/Sprites; it has no public address.",
    folders=("sprites_lpc",),
)


def sprites(*, size: int = PIXELS) -> Dataset:
    """The grid of 11,664 colour images of game characters; at `size` 32 or 16 the mean of each 2x2
    or 4x4 pixels."""
    if size not in (16, 32, PIXELS):
        raise UsageError(f"sprites has size 64, 32 or 16; got {size}.", "Choose one of these.")
    path = locate(CARD, CARD.files[0])
    return require_all(read(path, size=size), path)


def read(path: Path, *, size: int = PIXELS) -> Dataset:
    """The images of the npz, in memory (143 MB at 64 pixels)."""
    images = array(path, "images")
    require_shape(path, "images", Header(images.shape, images.dtype), PIXELS, PIXELS, 3)
    return Dataset(CARD, Bytes(_shrunk(images, size), channels_last=True), FACTORS)


def _shrunk(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The mean of each block of pixels, rounded to a grey level."""
    block = PIXELS // size
    if block == 1:
        return images
    small = np.zeros((len(images), size, size, images.shape[-1]), dtype=np.uint16)
    for row in range(block):
        for column in range(block):
            small += images[:, row::block, column::block]
    return ((small + block**2 // 2) // block**2).astype(np.uint8)
