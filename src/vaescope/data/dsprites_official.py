"""dSprites, the official file. Matthey et al. 2017, https://github.com/deepmind/dsprites-dataset."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaescope.data.arrays import array, header, require_shape, rows
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.dsprites import FACTORS
from vaescope.data.factors import Factors
from vaescope.data.files import Progress, converted, locate, require_all
from vaescope.data.stores import Bits, Store
from vaescope.errors import DataError, UsageError
from vaescope.types import Integers, Long, Single

__all__ = ["CARD", "dsprites_official", "read"]

_NAME = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
_ADDRESS = f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{_NAME}"

CARD = Card(
    "dsprites-official",
    (1, 64, 64),
    FACTORS.n,
    "Apache-2.0",
    "dsprites",
    dict(zip(FACTORS.names, FACTORS.sizes, strict=True)),
    files=(
        File(
            f"{_NAME}.npz",
            f"{_ADDRESS}.npz",
            "md5:7da33b31b13a06f4b04a70402ce90c2e",
            instead=(
                File(
                    f"{_NAME}.hdf5",
                    f"{_ADDRESS}.hdf5",
                    "sha256:729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb",
                    28_024_106,
                ),
            ),
        ),
    ),
    notes="binary; the colour factor, which has one class, is left out; 32 pixels by 2x2 mean",
)


@dataclass(frozen=True, eq=False)
class Halved:
    """Images of half the size: the mean of each two by two pixels, taken when asked for."""

    whole: Store

    @property
    def range(self) -> tuple[float, float]:
        return self.whole.range

    @property
    def shape(self) -> tuple[int, ...]:
        channels, height, width = self.whole.shape
        return channels, height // 2, width // 2

    def __len__(self) -> int:
        return len(self.whole)

    def rows(self, index: Integers) -> Single:
        x = self.whole.rows(index)
        x = x[..., ::2, :] + x[..., 1::2, :]
        return (x[..., ::2] + x[..., 1::2]) * np.float32(0.25)


def dsprites_official(*, size: int = 64, progress: Progress | None = None) -> Dataset:
    """The whole grid of 737,280 binary images; at `size` 32 the mean of each 2x2 pixels."""
    if size not in (32, 64):
        raise UsageError(
            f"dsprites-official has size 64 or 32; got {size}.",
            "The dataset dsprites is drawn at any size.",
        )
    path = locate(CARD, CARD.files[0])
    data = require_all(read(path, progress=progress), path)
    return data if size == 64 else replace(data, store=Halved(data.store))


def read(path: Path, *, grid: Factors = FACTORS, progress: Progress | None = None) -> Dataset:
    """A file of the official format, packed to bits beside it once.

    As many rows as `grid` has must be that grid; any other number gets a table of classes. The
    pickled `metadata` of the npz is not opened.
    """
    key = "latents_classes" if path.suffix == ".npz" else "latents/classes"
    images = header(path, "imgs")
    require_shape(path, "imgs", images, 64, 64)
    require_shape(path, key, header(path, key), 6, dtype=np.int64)
    n = images.shape[0]
    factors = grid if n == grid.n else replace(grid, table=_table(path, key, grid, n))
    name = f"{path.name}.bits.npy"
    packed = converted([path], name, (n, 512), _packed(path, key, factors), progress)
    return Dataset(CARD, Bits(packed, (1, 64, 64)), factors)


def _table(path: Path, key: str, grid: Factors, n: int) -> Long:
    classes = array(path, key)[:, 1:]  # the first is the colour, always white
    if len(classes) != n or np.any((classes < 0) | (classes >= grid.sizes)):
        raise DataError(
            f"{key} in {path} must be {n} rows of classes below {grid.sizes}; got {len(classes)}"
            f" rows up to {classes.max(axis=0, initial=0).tolist()}.",
            "Delete it and get the official file.",
        )
    return classes.astype(np.int64)


def _packed(path: Path, key: str, factors: Factors) -> Iterator[NDArray[np.uint8]]:
    table = _table(path, key, factors, factors.n)
    if not np.array_equal(factors.classes(np.arange(factors.n)), table):
        raise DataError(f"The rows of {path} are not in the official order.", "Get it again.")
    for images in rows(path, "imgs"):
        if images.max(initial=0) > 1:
            raise DataError(
                f"imgs in {path} has pixels up to {images.max()}; dSprites has only 0 and 1.",
                "Delete it and get the official file.",
            )
        yield np.packbits(images.reshape(len(images), -1), axis=1)
