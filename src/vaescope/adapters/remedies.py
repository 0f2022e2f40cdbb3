"""What to say where a model cannot be read: one argument, tried on the model before it is named."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from vaescope.adapters.arguments import beside_names, parameters_of
from vaescope.adapters.asked import Asked
from vaescope.data import Dataset
from vaescope.errors import UnreadableError, VaescopeError

__all__ = ["with_remedy"]

#: Widths of a condition that are tried.
WIDEST = 64
#: Arguments that are one number.
_NUMBER = re.compile(r"^(num|n|max|min)_|^(steps|size|temperature|beta)$", re.IGNORECASE)

Functions = tuple[Callable[..., Any] | None, Callable[..., Any] | None]
#: The argument, what its values are, and some such values to try.
Trial = tuple[str, str, Any]


def with_remedy(
    error: UnreadableError, model: Any, functions: Functions, data: Dataset, asked: Asked,
    retry: Callable[[Asked], Any],
) -> UnreadableError:  # fmt: skip
    """The error with an argument that makes the model readable, tried by `retry`; where none does,
    with the signature of the functions that would."""
    function, called, missing = _missing(model, functions)
    if function is not None and asked.condition is None:
        for argument, values, tried in _trials(missing, data, asked):
            try:
                retry(replace(asked, **{argument: tried}))
            except VaescopeError:
                continue
            return UnreadableError(
                error.message,
                f"{called} needs {missing[0]}: pass {argument}={missing[0]}, {values}, one row for "
                "each example (tried with such values: it is read then).",
                error.tried,
            )
    if missing:
        shape = ", ".join(map(str, data.shape))
        return UnreadableError(
            error.message,
            f"No argument that was tried helps. If {missing[0]} is labels or the like, pass "
            f"condition= with a row for each example; else encode=, a function of (n, {shape}) "
            "that returns (mean, logvar), and decode= of (n, d).",
            error.tried,
        )
    return error


def _missing(model: Any, functions: Functions) -> tuple[Any, str, list[str]]:
    """The first function that needs more than data or latents, and what it needs beside."""
    named = [("encode", functions[0]), ("decode", functions[1])]
    if functions == (None, None):
        named = [(name, getattr(model, name, None))
                 for name in ("encode", "encoder", "decode", "decoder", "forward")]  # fmt: skip
    for name, function in named:
        known = parameters_of(function) if callable(function) else None
        needed = [one.name for one in known or [] if one.default is one.empty]
        if len(needed) > 1:
            return function, f"{name}({', '.join(needed)})", beside_names(needed)
    return None, "", []


def _trials(missing: list[str], data: Dataset, asked: Asked) -> Iterator[Trial]:
    n = len(data)
    if any("len" in name for name in missing):
        if asked.lengths is not None:
            return
        steps = data.shape[0] if len(data.shape) else 1
        yield "lengths", "whole numbers of shape (n,)", np.full(n, steps)
        return
    if any(_NUMBER.search(name) for name in missing):
        return  # one number for a whole batch, not a row for each example
    yield "condition", "labels of shape (n,)", np.arange(n) % 2
    for width in range(1, WIDEST + 1):
        yield "condition", f"numbers of shape (n, {width})", np.zeros((n, width), np.float32)
