"""The user's own arrays as a dataset, images or signals; what was inferred is logged."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset, Kind, Scale
from vaescope.data.factors import Factors, tabulated
from vaescope.data.labels import NamedLabels, labels_of
from vaescope.data.stores import Bytes, Numbers, Store
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.types import Array
from vaescope.wording import unit_scaling

__all__ = [
    "IMAGE_CHANNELS",
    "check_kind",
    "content_hash",
    "dataset_of",
    "described",
    "factors_of",
    "from_arrays",
    "from_signals",
    "kind_of",
]

CHANNELS = (1, 2, 3, 4)
#: Floats with another number of channels are not taken for images.
IMAGE_CHANNELS = (1, 3)
#: Images with negative values are taken as [-1, 1] only where some are far from 0: resizing leaves
#: small ones below 0, and other standardisations reach less far.
DARK = -0.5
ROWS = 4096  # looked at in one go for their range
_VECTORS = " Vectors are floats: use .astype(np.float32)."

_log = logging.getLogger("vaescope")


def from_arrays(
    images: Any,
    factors: Any = None,
    *,
    factor_names: Sequence[str] | None = None,
    factor_values: Any = None,
    name: str = "array",
    where: str = "your array",
) -> Dataset:
    """Images or vectors, with factors where they are known; tensors are taken too.

    Images may be uint8, bool, or floats in [0, 1], shape (n, height, width) with channels first,
    last or absent; floats of shape (n, d) are vectors. `factors` are integers or names, shape
    (n, factors) or (n,), or columns by name; `factor_values`, floats (n, sources), are continuous
    sources. `where` is what errors call the place that they come from.
    """
    store = _store(where, _array(where, images))
    known = None
    if factors is not None:
        known = factors_of(where, factors, factor_names, len(store))
    sources = None
    if factor_values is not None:
        sources = np.asarray(factor_values, dtype=np.float64)
        if sources.ndim != 2 or len(sources) != len(store) or not np.all(np.isfinite(sources)):
            raise ShapeError(
                f"factor_values in {where} has shape {sources.shape}; wanted finite numbers of "
                f"shape ({len(store)}, sources).",
                "Give one row for each image.",
            )
    return dataset_of(name, store, known, sources)


def dataset_of(
    name: str, store: Store, factors: Factors | None, sources: Array | None = None
) -> Dataset:
    """A dataset that no name can bring back: it is known by its content."""
    sizes = {} if factors is None else dict(zip(factors.names, factors.sizes, strict=True))
    card = Card(name, store.shape, len(store), "your own data", "", sizes)
    return Dataset(card, store, factors, sources)


def content_hash(data: Dataset, *, chunk: int = ROWS) -> str:
    """sha256 of all rows as they are trained on."""
    digest = hashlib.sha256(f"{len(data)}{data.shape}".encode())
    for start in range(0, len(data), chunk):
        rows = data.rows(np.arange(start, min(start + chunk, len(data))))
        digest.update(np.ascontiguousarray(rows).tobytes())
    return digest.hexdigest()


def _array(where: str, images: Any) -> Array:
    """What was given as an array of numbers."""
    try:
        array = np.asarray(images)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors of a GPU
        raise ShapeError(
            f"The images in {where} cannot be converted to an array: {error}.",
            "Give an array of numbers with one image for each row.",
        ) from error
    if array.dtype.kind not in "biuf":
        raise ShapeError(
            f"The images in {where} are {array.dtype} of shape {array.shape}; wanted numbers.",
            "Give an array of numbers with one image for each row; vs.load_dataset reads files.",
        )
    return array


def _store(where: str, images: Array) -> Store:
    if len(images.shape) < 2 or 0 in images.shape:
        raise ShapeError(
            f"The images in {where} have shape {images.shape}; wanted (n, channels, height, "
            "width).",
            "Save one image for each row.",
        )
    white = _white(where, images)
    if images.ndim == 2 and white is None:
        return Numbers(images)
    last = _channels_last(where, images)
    if images.ndim == 3:
        images = images[:, None]
    if white is None:
        return Numbers(np.moveaxis(images, -1, 1) if last else images)
    return Bytes(images.view(np.uint8), channels_last=last, white=white)


def _channels_last(where: str, images: Array) -> bool:
    shape = images.shape
    if len(shape) == 3:
        _log.info("%s: shape %s taken as grey images, one channel.", where, shape)
        return False
    if len(shape) == 4 and shape[1] in CHANNELS:
        return False
    if len(shape) == 4 and shape[3] in CHANNELS:
        _log.info("%s: shape %s has the channels last; they are moved first.", where, shape)
        return True
    raise ShapeError(
        f"The images in {where} are {images.dtype} of shape {shape}; wanted (n, height, width), "
        "(n, channels, height, width) or (n, height, width, channels) with 1 to 4 channels.",
        "Reshape them to one of these shapes." + (_VECTORS if len(shape) == 2 else ""),
    )


def _white(where: str, images: Array) -> int | None:
    """The largest pixel value of integer images; None for floats, which have 1."""
    if images.dtype == np.bool_:
        return 1
    low, high = _range(where, images)
    if images.dtype == np.uint8:
        if high > 1:
            return 255
        _log.info("%s: the largest byte is %d, so 1 is taken as white.", where, int(high))
        return 1
    if np.issubdtype(images.dtype, np.floating):
        if images.ndim > 2 and not 0 <= low <= high <= 1:
            raise RangeError(
                f"The images in {where} have values from {low:g} to {high:g}; wanted 0 to 1.",
                _rescaling(low, high),
            )
        return None
    remedy = "Save them with .astype(np.uint8)."
    if images.ndim == 2:
        remedy = _VECTORS.strip()
    elif not 0 <= low <= high <= 255:
        remedy = f"Save them as floats, {unit_scaling(low, high)}."
    raise RangeError(
        f"The images in {where} are {images.dtype} from {low:g} to {high:g}; wanted uint8, or "
        "floats from 0 to 1.",
        remedy,
    )


def _range(where: str, images: Array) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    for start in range(0, len(images), ROWS):
        rows = images[start : start + ROWS]
        with np.errstate(over="ignore"):  # what float32 cannot hold is infinite for a network
            bad = ~np.isfinite(rows.astype(np.float32)).reshape(len(rows), -1).all(1)
        if bad.any():
            raise RangeError(
                f"The data in {where} have values that are NaN, infinite or too large for "
                f"float32, first in row {start + int(bad.argmax())}.",
                "Leave these rows out or repair them.",
            )
        low, high = min(low, float(rows.min())), max(high, float(rows.max()))
    return low, high


def _rescaling(low: float, high: float) -> str:
    if low > -0.01 and high < 1.01:
        return "They are nearly right: use np.clip(x, 0, 1)."
    if low >= 0 and high <= 255:
        return "Divide them by 255, or save them as uint8."
    if low >= -1 and high <= 1:
        return "Use (x + 1) / 2."
    return (
        f"Use {unit_scaling(low, high)}, or undo the standardisation. If these are not "
        "images, flatten them to (n, d): vectors may have any values."
    )


def factors_of(where: str, given: Any, names: Sequence[str] | None, n: int) -> Factors | None:
    """Factors of labels, (n, factors), (n,) or by name; None where none of them varies."""
    labels = labels_of(given)
    if isinstance(labels, NamedLabels):
        columns, names = list(labels.columns), names or labels.names
        _check_lengths(where, labels, n)
    else:
        columns = list(_table(where, labels, n).T)
    k = len(columns)
    if names is None:
        names = ["class"] if k == 1 else [f"factor_{i}" for i in range(k)]
    if len(names) != k or len(set(names)) != k:
        raise ShapeError(
            f"factor_names in {where} are {list(names)}; wanted {k} different ones.",
            "Give each column a different name.",
        )
    varied = [i for i, column in enumerate(columns) if np.any(column != column[0])]
    if len(varied) < k:
        constant = ", ".join(name for i, name in enumerate(names) if i not in varied)
        _log.info("%s: these factors do not vary and are left out: %s.", where, constant)
    return tabulated([names[i] for i in varied], [columns[i] for i in varied]) if varied else None


def _table(where: str, labels: Array, n: int) -> Array:
    labels = labels[:, None] if labels.ndim == 1 else labels
    if labels.ndim != 2 or len(labels) != n or labels.dtype.kind not in "biuUS":
        raise ShapeError(
            f"The factors in {where} are {labels.dtype} of shape {labels.shape}; wanted integers "
            f"or names of shape ({n}, factors).",
            "Number the classes of each factor; save continuous ones as factor_values.",
        )
    return labels


def _check_lengths(where: str, labels: NamedLabels, n: int) -> None:
    for name, column in zip(labels.names, labels.columns, strict=True):
        if len(column) != n:
            raise ShapeError(
                f"The factor {name!r} has {len(column)} values; {where} has {n} rows.",
                "Give one value for each row.",
            )


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
    if 0 in shape:
        return "signals"  # which refuses it
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
