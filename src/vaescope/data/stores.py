"""Rows of data as they lie in memory or on disk; a batch is unpacked when it is asked for."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vaescope.errors import UsageError
from vaescope.types import Array, Integers, Single

__all__ = ["Absent", "Bits", "Bytes", "Numbers", "Picked", "Sparse", "Store"]


class Store(Protocol):
    """`rows(index)` is float32: images (n, channels, height, width) in [0, 1], else vectors."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def range(self) -> tuple[float, float]:
        """Least and greatest value; NaN where there is one."""
        ...

    def __len__(self) -> int: ...

    def rows(self, index: Integers) -> Single: ...


@dataclass(frozen=True, eq=False)
class Bits:
    """Binary images, eight pixels to a byte."""

    packed: NDArray[np.uint8]  # (n, pixels / 8)
    shape: tuple[int, ...]
    range: tuple[float, float] = (0.0, 1.0)

    def __len__(self) -> int:
        return len(self.packed)

    def rows(self, index: Integers) -> Single:
        pixels = np.unpackbits(self.packed[index], axis=1)
        return pixels.reshape(-1, *self.shape).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Bytes:
    """Images of uint8, in memory or memory-mapped; `last` says where the channels are."""

    pixels: NDArray[np.uint8]  # (n, height, width, channels) or (n, channels, height, width)
    channels_last: bool = False
    white: int = 255
    range: tuple[float, float] = (0.0, 1.0)

    @property
    def shape(self) -> tuple[int, ...]:
        event = self.pixels.shape[1:]
        return (event[-1], *event[:-1]) if self.channels_last else event

    def __len__(self) -> int:
        return len(self.pixels)

    def rows(self, index: Integers) -> Single:
        pixels = self.pixels[index]
        if self.channels_last:
            pixels = np.moveaxis(pixels, -1, 1)
        return np.multiply(pixels, np.float32(1.0 / self.white), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Floating-point vectors or images, as they are."""

    values: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape[1:]

    @property
    def range(self) -> tuple[float, float]:
        return float(self.values.min()), float(self.values.max())

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, index: Integers) -> Single:
        return self.values[index].astype(np.float32)


@dataclass(frozen=True, eq=False)
class Sparse:
    """Vectors as a compressed sparse row matrix of SciPy; only a batch is made dense."""

    values: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(self.values.shape[1]),)

    @property
    def range(self) -> tuple[float, float]:
        return float(self.values.min()), float(self.values.max())

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def rows(self, index: Integers) -> Single:
        return np.asarray(self.values[index].toarray(), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Picked:
    """Some rows of another store, without a copy."""

    whole: Store
    chosen: Integers

    @property
    def shape(self) -> tuple[int, ...]:
        return self.whole.shape

    @property
    def range(self) -> tuple[float, float]:
        return self.whole.range

    def __len__(self) -> int:
        return len(self.chosen)

    def rows(self, index: Integers) -> Single:
        return self.whole.rows(self.chosen[index])


@dataclass(frozen=True, eq=False)
class Absent:
    """Rows of which only the number is known: their batches went to a model untouched."""

    n: int
    shape: tuple[int, ...] = ()
    range: tuple[float, float] = (np.nan, np.nan)

    def __len__(self) -> int:
        return self.n

    def rows(self, index: Integers) -> Single:
        raise UsageError(
            "These data are batches that the model takes unchanged, so single rows cannot be "
            "selected.",
            "Use measures of codes, or pass an array with one row for each example.",
        )
