"""The tensors in what somebody's function returned."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor

__all__ = ["leaves"]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """Every tensor in what somebody's function returned, and the way to it."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, tuple | list):
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    elif is_dataclass(value):
        for entry in fields(value):
            yield from leaves(getattr(value, entry.name), (*path, entry.name))
