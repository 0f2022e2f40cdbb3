"""Batches of one size for models that take no other."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributions

from vaescope.errors import UsageError

__all__ = ["in_batches"]


def in_batches(
    function: Callable[[Tensor, Tensor | None], Any], size: int, x: Tensor, u: Tensor | None
) -> Any:
    """What a function gives of each row, called with `size` rows at a time; the last ones again to
    fill up."""
    found = []
    for start in range(0, len(x), size):
        rows = torch.arange(start, start + size, device=x.device).clamp_max(len(x) - 1)
        output = function(x[rows], None if u is None else u[rows])
        found.append(_mapped([output], partial(_cut, rows=len(x) - start, size=size)))
    return _mapped(found, _joined)


def _cut(parts: list[Tensor], *, rows: int, size: int) -> Tensor:
    part = parts[0]
    return part[:rows] if part.ndim and len(part) == size else part


def _joined(parts: list[Tensor]) -> Tensor:
    return torch.cat(parts) if parts[0].ndim and len(parts) > 1 else parts[0]


def _mapped(outputs: list[Any], change: Callable[[list[Tensor]], Tensor]) -> Any:
    """One output of several of the same form, tensor by tensor."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return change(outputs)
    if isinstance(first, distributions.Independent):
        base = _mapped([output.base_dist for output in outputs], change)
        return distributions.Independent(base, first.reinterpreted_batch_ndims)
    if isinstance(first, distributions.Distribution):
        names = [name for name in first.arg_constraints if name in vars(first)]
        return type(first)(
            **{name: _mapped([getattr(o, name) for o in outputs], change) for name in names}
        )
    if isinstance(first, Mapping):
        return {key: _mapped([output[key] for output in outputs], change) for key in first}
    if isinstance(first, tuple | list):
        parts = [_mapped(list(each), change) for each in zip(*outputs, strict=True)]
        named = hasattr(first, "_fields")
        return type(first)(*parts) if named else type(first)(parts)
    if is_dataclass(first) and not isinstance(first, type):
        names = [entry.name for entry in fields(first)]
        return type(first)(
            **{name: _mapped([getattr(o, name) for o in outputs], change) for name in names}
        )
    if first is None or isinstance(first, str | int | float | bool):
        return first
    raise UsageError(
        f"The model takes batches of one size only and returned {type(first).__name__}, which "
        "cannot be concatenated.",
        "Pass encode= and decode= as functions that return tensors for batches of any size.",
    )
