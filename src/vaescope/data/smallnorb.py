"""smallNORB. LeCun, Huang & Bottou 2004, https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/."""

import gzip
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vaescope.data.arrays import Header, reading, require_shape
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import Progress, converted, locate, require_all
from vaescope.data.stores import Bytes
from vaescope.errors import DataError, UsageError
from vaescope.types import Array, Long

__all__ = ["CARD", "SmallNorbPart", "read", "smallnorb"]

FACTORS = Factors(
    ("category", "instance", "elevation", "azimuth", "lighting"),
    (
        np.array(["animal", "human", "plane", "truck", "car"]),
        np.arange(10),
        np.arange(30, 71, 5),  # degrees
        np.arange(0, 360, 20),  # degrees
        np.arange(6),
    ),
)

_TYPES: dict[int, np.dtype[Any]] = {
    0x1E3D4C51: np.dtype("<f4"),
    0x1E3D4C53: np.dtype("<f8"),
    0x1E3D4C54: np.dtype("<i4"),
    0x1E3D4C55: np.dtype("u1"),
    0x1E3D4C56: np.dtype("<i2"),
}

_TRAINING = "smallnorb-5x46789x9x18x6x2x96x96-training"
_TESTING = "smallnorb-5x01235x9x18x6x2x96x96-testing"
_ADDRESS = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small"


def _file(name: str, size: int, sha256: str) -> File:
    raw = (File(f"{name}.mat"),)
    digest = f"sha256:{sha256}"
    return File(f"{name}.mat.gz", f"{_ADDRESS}/{name}.mat.gz", digest, size, instead=raw)


CARD = Card(
    "smallnorb",
    (1, 64, 64),
    FACTORS.n,
    "research use",
    "smallnorb",
    dict(zip(FACTORS.names, FACTORS.sizes, strict=True)),
    files=(
        _file(
            f"{_TRAINING}-dat",
            131_896_188,
            "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
        ),
        _file(
            f"{_TRAINING}-cat",
            348,
            "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
        ),
        _file(
            f"{_TRAINING}-info",
            71_052,
            "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
        ),
        _file(
            f"{_TESTING}-dat",
            130_799_817,
            "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
        ),
        _file(
            f"{_TESTING}-cat",
            347,
            "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
        ),
        _file(
            f"{_TESTING}-info",
            10_428,
            "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
        ),
    ),
    notes="training and testing joined, left camera; disentanglement_lib has no instance factor",
)


@dataclass(frozen=True)
class SmallNorbPart:
    """The three files of one split."""

    dat: Path
    cat: Path
    info: Path


def smallnorb(*, size: int = 64, progress: Progress | None = None) -> Dataset:
    """The grid of 48,600 grey images of toys, at 64 or the original 96 pixels."""
    if size not in (64, 96):
        raise UsageError(f"smallnorb has size 64 or 96; got {size}.", "Give one of these.")
    paths = [locate(CARD, file) for file in CARD.files]
    parts = [SmallNorbPart(*paths[:3]), SmallNorbPart(*paths[3:])]
    return require_all(read(parts, size=size, progress=progress), parts[0].dat)


def read(
    parts: Sequence[SmallNorbPart],
    *,
    grid: Factors = FACTORS,
    size: int = 64,
    progress: Progress | None = None,
) -> Dataset:
    """Splits of any length, joined: sorted to the grid if they fill it, else with a table."""
    table = np.concatenate([_classes(part, grid.sizes) for part in parts])
    places = grid.index(table)
    full = np.array_equal(np.sort(places), np.arange(grid.n))
    order = np.argsort(places) if full else np.arange(len(table))
    factors = grid if full else replace(grid, table=table)
    pixels = converted(
        [part.dat for part in parts],
        f"smallnorb.{size}.npy",
        (len(table), 1, size, size),
        _images(parts, order, size, progress),
        None,
    )
    return Dataset(CARD, Bytes(pixels), factors)


def _opened(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


@contextmanager
def _matrix(path: Path) -> Iterator[tuple[IO[bytes], Header]]:
    """The file, opened where its numbers begin: NORB's own format, not MATLAB's."""
    with reading(path), _opened(path) as file:
        magic, ndim = _numbers(file, 2, np.dtype("<u4")).tolist()
        if magic not in _TYPES or not 0 < ndim < 8:
            raise ValueError(f"it begins with {magic:#x}, {ndim}, which is not a NORB matrix")
        shape = _numbers(file, max(3, ndim), np.dtype("<i4"))[:ndim]
        yield file, Header(tuple(shape.tolist()), _TYPES[magic])
        if file.read(1):  # at the end gzip also compares its checksum
            raise ValueError(
                f"it has more data after the {tuple(shape.tolist())} numbers it promises"
            )


def _numbers(file: IO[bytes], count: int, dtype: np.dtype[np.generic]) -> Array:
    content = file.read(count * dtype.itemsize)
    if len(content) < count * dtype.itemsize:
        raise EOFError(f"it ends after {len(content)} of the {count * dtype.itemsize} next bytes")
    return np.frombuffer(content, dtype)


def _classes(part: SmallNorbPart, sizes: tuple[int, ...]) -> Long:
    columns = []
    for path, event in ((part.cat, ()), (part.info, (4,))):
        with _matrix(path) as (file, found):
            require_shape(path, "The matrix", found, *event, dtype=np.int32)
            columns.append(_numbers(file, math.prod(found.shape), found.dtype))
    category, info = columns
    if info.size != 4 * category.size:
        raise DataError(
            f"{part.info} has {info.size // 4} rows, {part.cat} has {category.size}.",
            "They must belong together: get both again.",
        )
    table = np.column_stack([category, info.reshape(-1, 4)]).astype(np.int64)
    table[:, 3] //= 2  # azimuths are counted 0, 2, ..., 34
    if np.any((table < 0) | (table >= sizes)):
        raise DataError(
            f"{part.info} and {part.cat} have classes up to {table.max(axis=0).tolist()} of "
            f"{', '.join(FACTORS.names)}; wanted below {sizes}.",
            "Delete them and get the official files.",
        )
    return table


def _images(
    parts: Sequence[SmallNorbPart], order: Long, size: int, progress: Progress | None
) -> Iterator[NDArray[np.uint8]]:
    images = np.empty((len(order), 1, size, size), np.uint8)
    done = 0
    for part in parts:
        with _matrix(part.dat) as (file, found):
            require_shape(part.dat, "The matrix", found, 2, 96, 96)
            if done + found.shape[0] > len(order):
                raise ValueError(f"it holds {found.shape[0]} images, more than there are labels")
            for _ in range(found.shape[0]):
                left = _numbers(file, 2 * 96 * 96, found.dtype)[: 96 * 96].reshape(96, 96)
                images[done, 0] = _resized(left, size)
                done += 1
                if progress and (done % 500 == 0 or done == len(order)):
                    progress(part.dat.name, done * size * size, len(order) * size * size)
    if done != len(order):
        raise DataError(
            f"{parts[-1].dat} and those before hold {done} images, with {len(order)} labels.",
            "They must belong together: get them again.",
        )
    yield images[order]


def _resized(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    if size == len(image):
        return image
    return np.asarray(Image.fromarray(image).resize((size, size), Image.Resampling.LANCZOS))
