"""The tensors in what somebody's function returned, and whether two are the same."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["leaves", "same"]


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


def same(value: Tensor, other: Tensor, *, share: float = 1e-3) -> bool:
    """Whether two tensors are equal but for rounding."""
    if value.shape != other.shape or value.is_complex():
        return False
    size = float(value.detach().float().std()) if value.numel() > 1 else 0.0
    return torch.allclose(value, other, rtol=share, atol=max(1e-6, 1e-4 * size), equal_nan=True)
