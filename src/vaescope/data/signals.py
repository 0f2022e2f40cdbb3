"""Arrays of any shape as data: what are images, and what are signals or tokens as they came."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from vaescope.data.dataset import Dataset, Kind, Scale
from vaescope.data.in_memory import dataset_of, factors_of
from vaescope.data.stores import Numbers
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.types import Array

__all__ = ["IMAGE_CHANNELS", "check_kind", "described", "from_signals", "kind_of"]

#: Floats with another number of channels are not taken for images.
IMAGE_CHANNELS = (1, 3)
#: Images with negative values are taken as [-1, 1] only where some are far from 0: resizing leaves
#: small ones below 0, and other standardisations reach less far.
DARK = -0.5


def check_kind(kind: str | None) -> None:
    """Raises UsageError where there is no such kind of data."""
    if kind is not None and kind not in get_args(Kind):
        raise UsageError(f"kind={kind!r}.", f"Use one of {', '.join(get_args(Kind))}.")


def kind_of(array: Array) -> Kind:
    """What an array is taken for: images are bytes with 1 to 4 channels or none, and floats of
    shape (n, c, h, w) with 1 or 3 channels in [0, 1], [0, 255] or [-1, 1]; integers (n, t) are
    tokens; all else are signals."""
    shape, kind = array.shape, array.dtype.kind
    if array.dtype in (np.uint8, np.bool_) and array.ndim in (3, 4):
        return "images" if array.ndim == 3 or {shape[1], shape[3]} & {1, 2, 3, 4} else "signals"
    if kind in "iu" and array.ndim == 2:
        return "tokens"
    if kind != "f" or array.ndim != 4 or not {shape[1], shape[3]} & set(IMAGE_CHANNELS):
        return "signals"
    low, high = float(array.min()), float(array.max())
    symmetric = -1 <= low <= DARK and high <= 1
    return "images" if 0 <= low <= high <= 255 or symmetric else "signals"


def from_signals(
    array: Array, factors: Any = None, *, kind: Kind, names: Sequence[str] | None = None
) -> Dataset:
    """Rows of any shape with their own values. Raises where they are not finite numbers."""
    if array.dtype.kind not in "biuf" or array.ndim < 2 or 0 in array.shape:
        raise ShapeError(
            f"The data are {array.dtype} of shape {array.shape}; wanted numbers of shape (n, ...), "
            "one row for each example.",
            "Give a single column as data[:, None].",
        )
    if kind == "tokens" and (array.dtype.kind not in "biu" or int(array.min()) < 0):
        raise RangeError(
            f"The tokens are {array.dtype}, the least is {array.min():g}; wanted integers from 0.",
            "Give the numbers of the tokens, or kind='signals' for values.",
        )
    with np.errstate(over="ignore"):
        bad = ~np.isfinite(array.astype(np.float32)).reshape(len(array), -1).all(1)
    if bad.any():
        raise RangeError(
            f"The data have values that are NaN or infinite, first in row {int(bad.argmax())}.",
            "Leave these rows out or fill them as you did for the training.",
        )
    known = None
    if factors is not None:
        known = factors_of("your array", factors, names, len(array))
    return replace(dataset_of("array", Numbers(array), known), kind=kind)


def described(data: Dataset, columns: Any, mean: Any, std: Any) -> Dataset:
    """The data with the names of their columns, and with the standardisation to undo where they
    are shown."""
    names = data.columns if columns is None else tuple(map(str, columns))
    if (mean is None) != (std is None):
        raise UsageError("Only one of mean= and std= was given.", "Give both.")
    if mean is None:
        return replace(data, columns=names)
    parts = [np.atleast_1d(np.asarray(part, np.float32)) for part in (mean, std)]
    width = data.shape[0]
    for name, part in zip(("mean", "std"), parts, strict=True):
        if part.ndim != 1 or len(part) not in (1, width):
            raise ShapeError(
                f"{name}= has shape {part.shape}; the data have shape (n, "
                f"{', '.join(map(str, data.shape))}).",
                f"Give one number, or {width}: one for each channel or column.",
            )
    return replace(data, columns=names, scale=Scale(*parts))
