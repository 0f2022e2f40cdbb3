"""The user's own arrays as a dataset."""

import hashlib
import logging
from typing import Any

import numpy as np

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.stores import Bytes, Numbers, Store
from vaescope.errors import ShapeError
from vaescope.types import Array

__all__ = ["content_hash", "from_arrays"]

_LOG = logging.getLogger("vaescope")


def from_arrays(rows: Any, factors: Any = None, *, name: str = "array") -> Dataset:
    """Vectors (n, d) or images, NCHW or NHWC, uint8 or floating point; tensors are taken too.

    `factors` are integer classes, (n, k) or (n,), where they are known.
    """
    values: Array = np.asarray(rows)
    if values.ndim not in (2, 3, 4) or len(values) == 0 or not _is_real(values):
        raise ShapeError(
            f"Data must be numbers of shape (n, d), (n, height, width) or (n, channels, height, "
            f"width); got {values.dtype} of shape {values.shape}.",
            "Stack the rows into one array.",
        )
    if values.ndim == 3:
        values = values[:, None]
    last = values.ndim == 4 and values.shape[1] > 4 and values.shape[-1] in (1, 3, 4)
    if last:
        _LOG.info("images of shape %s are read as channels-last", values.shape[1:])
    store: Store
    if values.dtype == np.uint8 and values.ndim == 4:
        white = 1 if values.max() <= 1 else 255
        _LOG.info("uint8 images are divided by %d", white)
        store = Bytes(values, channels_last=last, white=white)
    else:
        store = Numbers(np.moveaxis(values, -1, 1) if last else values)
    card = Card(name, store.shape, len(store), "the user's own", "")
    return Dataset(card, store, None if factors is None else _factors(factors, len(store)))


def _is_real(values: Array) -> bool:
    return np.issubdtype(values.dtype, np.number) and not np.iscomplexobj(values)


def _factors(given: Any, n: int) -> Factors:
    classes: Array = np.asarray(given)
    if classes.ndim == 1:
        classes = classes[:, None]
    if classes.ndim != 2 or len(classes) != n or not np.issubdtype(classes.dtype, np.integer):
        raise ShapeError(
            f"factors must be integer classes of shape ({n}, k); got {classes.dtype} of shape "
            f"{classes.shape}.",
            "Give one row per example; bin continuous factors first.",
        )
    columns = [np.unique(column, return_inverse=True) for column in classes.T]
    names = tuple(f"factor {k}" for k in range(len(columns)))
    table = np.stack([inverse for _, inverse in columns], axis=1).astype(np.int64)
    return Factors(names, tuple(values for values, _ in columns), table)


def content_hash(data: Dataset, *, chunk: int = 4096) -> str:
    """sha256 of all rows as they are trained on."""
    digest = hashlib.sha256(f"{len(data)}{data.shape}".encode())
    for start in range(0, len(data), chunk):
        rows = data.rows(np.arange(start, min(start + chunk, len(data))))
        digest.update(np.ascontiguousarray(rows).tobytes())
    return digest.hexdigest()
