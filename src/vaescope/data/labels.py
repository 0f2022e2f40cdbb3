"""The user's labels: an array, or one column for each named factor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from vaescope.errors import ShapeError
from vaescope.types import Array

__all__ = ["NamedLabels", "labels_of"]


@dataclass(frozen=True, eq=False)
class NamedLabels:
    """Columns of labels with their names; rows are taken of all of them at once."""

    names: tuple[str, ...]
    columns: tuple[Array, ...]  # (n,) each, integers or text

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.names, tuple(column[rows] for column in self.columns))


def labels_of(factors: Any) -> Array | NamedLabels:
    """Labels as they were given: an array, or the columns of a dictionary or a pandas table."""
    if hasattr(factors, "columns") and hasattr(factors, "to_numpy"):
        factors = {str(name): factors[name].to_numpy() for name in factors.columns}
    if isinstance(factors, NamedLabels):
        return factors
    if not isinstance(factors, Mapping):
        return np.asarray(factors)
    if not factors:
        raise ShapeError("factors= is empty.", "Leave it out, or give a column for each factor.")
    names = tuple(map(str, factors))
    return NamedLabels(
        names,
        tuple(_column(name, column) for name, column in zip(names, factors.values(), strict=True)),
    )


def _column(name: str, values: Any) -> Array:
    column = np.asarray(values)
    if column.dtype.kind == "O" and all(isinstance(value, str) for value in column.ravel()):
        column = column.astype(str)
    if column.ndim != 1 or column.dtype.kind not in "biuUS":
        numbered = f"np.unique({name}, return_inverse=True)[1]"
        raise ShapeError(
            f"The factor {name!r} is {column.dtype} of shape {column.shape}; wanted one integer or "
            "one name for each row.",
            f"Number its classes, e.g. {numbered}, or cut a continuous one into classes, e.g. "
            f"np.digitize({name}, np.quantile({name}, [0.25, 0.5, 0.75])).",
        )
    return column
