"""Which size of batch works, where a model takes one size only."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.arguments import of_function
from vaescope.adapters.fixed_batches import in_batches
from vaescope.adapters.input_format import FORMS, forms_of
from vaescope.adapters.sources import Function, Source
from vaescope.adapters.tensors import leaves

__all__ = ["with_batches_that_work"]

#: Sizes of batches that are tried, after those that the model names.
SIZES = (64, 32, 128, 100, 16, 256, 50, 10, 20, 8, 4, 512, 200, 2, 1)
MOST = 512
#: Sizes at which models that take any are tried.
FREE = (33, 31)
_NAMES = re.compile(r"batch|^bs$|^n$", re.IGNORECASE)


def with_batches_that_work(
    source: Source, x: Tensor, u: Tensor | None, kind: str | None
) -> tuple[Source, Tensor, Tensor | None]:
    """The same where the source takes batches of any size. Else it knows its size, encoders and
    decoders are filled up to it, and there are as many examples, some of them again."""
    functions = [*(function for _, function in source.encoders), *source.forwards[:1]]
    sizes = {_size(function, source.model, x, u) for function in functions} - {None}
    if len(sizes) != 1 or kind == "tokens" or x.ndim not in (2, 4):
        return source, x, u
    size = int(sizes.pop() or 0)
    again = torch.arange(max(len(x), size), device=x.device) % len(x)

    def filled(function: Function) -> Function:
        def call(values: Tensor, u: Tensor | None = None) -> Any:
            return in_batches(function, size, values, u)

        return of_function(call, function)

    encoders, decoders = (
        tuple((name, filled(function)) for name, function in named)
        for named in (source.encoders, source.decoders)
    )
    found = replace(source, encoders=encoders, decoders=decoders, batch=size)
    return found, x[again], None if u is None else u[again]


def _size(function: Function, model: Any, x: Tensor, u: Tensor | None) -> int | None:
    """The one size of batch that works; None where any does, or none."""
    errors: list[str] = []
    if any(_rows(function, size, x, u, errors) is not None for size in FREE):
        return None
    # Errors of torch name the sizes that would fit.
    told = sorted({int(n) for error in errors for n in re.findall(r"\d+", error)} - {0})
    sizes = dict.fromkeys((*_named_sizes(model), *(n for n in told if n <= MOST), *SIZES))
    # Noise of a fixed size broadcasts over a single row.
    return next((size for size in sizes if _rows(function, size, x, u, errors) == {size}), None)


def _named_sizes(model: Any) -> Iterator[int]:
    owners = [model, *(getattr(model, name, None) for name in ("config", "hparams", "args"))]
    owners += list(model.modules()) if isinstance(model, torch.nn.Module) else []
    for owner in owners:
        held = owner if isinstance(owner, Mapping) else getattr(owner, "__dict__", {})
        for name, value in held.items():
            if isinstance(name, str) and _NAMES.search(name) and type(value) is int and value > 0:
                yield value


def _rows(
    function: Function, size: int, x: Tensor, u: Tensor | None, errors: list[str]
) -> set[int] | None:
    """How many rows the outputs of a batch have; None where the function fails on it."""
    rows = torch.arange(size, device=x.device) % len(x)
    for form in forms_of(x):
        try:
            output = function(FORMS[form](x[rows]), None if u is None else u[rows])
        except Exception as error:  # anybody's code
            errors.append(str(error))
        else:
            return {len(part) for _, part in leaves(output) if part.ndim > 1} or {size}
    return None
