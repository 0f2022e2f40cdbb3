"""The tensors in what somebody's function returned, and whether two are the same."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, distributions

__all__ = ["described", "leaves", "same", "sizes"]


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


def sizes(value: Any) -> Iterator[int]:
    """How many values every tensor has in what somebody's function returned, and every draw of a
    distribution in it."""
    yield from (part.numel() for _, part in leaves(value))
    parts = value if isinstance(value, tuple | list) else [value]
    for part in value.values() if isinstance(value, Mapping) else parts:
        if isinstance(part, distributions.Distribution):
            yield math.prod((*part.batch_shape, *part.event_shape))


def described(output: Any, again: Any) -> str:
    """What an encoder returned, in a few words."""
    if isinstance(output, Tensor):
        changes = not torch.equal(output, again)
        return f"shape {tuple(output.shape)}" + (
            ", and different values when called again, so these are samples" if changes else ""
        )
    if isinstance(output, Mapping):
        return f"{type(output).__name__} with {', '.join(map(str, output))}"
    if isinstance(output, tuple | list):
        inner = (described(*both) for both in zip(output, again, strict=False))
        return f"{type(output).__name__} of [{'; '.join(inner)}]"
    return type(output).__name__
