"""What to say if a model cannot be interpreted: one argument, tried on the model first."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from vaescope.adapters.arguments import beside_names, parameters_of, required_of
from vaescope.adapters.asked import Asked
from vaescope.adapters.batches import adapt_batches
from vaescope.data import Dataset
from vaescope.errors import ReadingError, UnreadableError, UnscoredError, VaescopeError
from vaescope.types import Integers

__all__ = ["with_remedy"]

#: Widths of a condition that are tried.
WIDEST = 64
#: Examples on which a method is tried as encode=.
PROBES = 64
#: Methods that may encode.
_ENCODING = re.compile(r"enc|infer|posterior|q_z|recogni", re.IGNORECASE)
#: Arguments that are one number.
_NUMBER = re.compile(r"^(num|n|max|min)_|^(steps|size|temperature|beta)$", re.IGNORECASE)

Functions = tuple[Callable[..., Any] | None, Callable[..., Any] | None]
#: The argument, what its values are, and some such values to try.
Trial = tuple[str, str, Any]


def with_remedy(
    error: ReadingError, model: Any, functions: Functions, data: Dataset, asked: Asked,
    retry: Callable[[Asked], Any],
) -> ReadingError:  # fmt: skip
    """The error with an argument that makes the model readable, tried by `retry`; where none does,
    with a call that gives its codes, or the signature of the functions that would."""
    if isinstance(error, UnscoredError):
        return _with_codes(error, model, functions, data, asked)
    function, called, missing = _missing(model, functions)
    if function is not None and asked.condition is None:
        for argument, values, tried in _trials(missing, data, asked):
            try:
                retry(replace(asked, **{argument: tried}))
            except VaescopeError as again:
                if isinstance(again, ReadingError) and not isinstance(again, UnreadableError):
                    break  # it is taken, and the model asks for something else
                continue
            return UnreadableError(
                error.message,
                f"{called} needs {missing[0]}: pass {argument}={missing[0]}, {values}, one row "
                "for each example (tried with such values: it works).",
                error.tried,
            )
    if (told := _with_codes(error, model, functions, data, asked)) is not error:
        return told
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


def _with_codes(
    error: ReadingError, model: Any, functions: Functions, data: Dataset, asked: Asked
) -> ReadingError:
    """The error with a call that gives codes alone, where one of the model's methods does."""
    if functions != (None, None) or model is None:
        return error
    batches = batches_of(data, np.arange(min(len(data), PROBES)))
    for name in dict.fromkeys(("encode", "encoder", *filter(_ENCODING.search, dir(type(model))))):
        method = getattr(model, name, None)
        if name.startswith("_") or not callable(method) or required_of(method) != 1:
            continue
        posterior = _told_posterior(model, method, batches, asked)
        if posterior is None:
            continue
        said = f', posterior="{posterior}"' if posterior else ""
        call = f"vs.inspect(encode=model.{name}, data=data{said})"
        first = error.remedy.removesuffix(".")
        return type(error)(
            error.message,
            f"{first}. For codes alone: {call}, which was tried."
            if isinstance(error, UnscoredError)
            else f"{call} was tried and gives its codes; geometry, fit and pictures need decode= "
            "too, a function of latents that returns what the data are.",
            error.tried,
        )
    return error


def _told_posterior(
    model: Any, method: Callable[..., Any], batches: list[Any], asked: Asked
) -> str | None:
    """What posterior= has to say where a method is given as encode=; "" where nothing, None where
    it does not show its posterior."""
    asked = Asked(posterior=asked.posterior, prior=asked.prior)
    try:
        seen = adapt_batches(model, batches, encode=method, asked=asked, contract=False)
        if not seen.codes.stochastic:
            return None  # a hidden layer would look like this too
        for said in ("", seen.inferred[0].read):
            alone = adapt_batches(
                None, batches, encode=method,
                asked=replace(asked, posterior=said or asked.posterior),
            )  # fmt: skip
            codes, own = seen.codes, alone.codes
            pairs = ((codes.mean, own.mean), (codes.variance, own.variance))
            if all(np.allclose(a, b, rtol=1e-3, atol=1e-6) for a, b in pairs):
                return said
    except VaescopeError:
        return None
    return None


def batches_of(data: Dataset, rows: Integers, size: int = 256) -> list[Any]:
    """Rows of the data as tensors in the values that they came with."""
    low, high = data.value_range
    found = []
    for start in range(0, len(rows), size):
        x = torch.from_numpy(data.rows(rows[start : start + size]))
        x = x.round().long() if data.kind == "tokens" else x
        found.append(x if (low, high) == (0.0, 1.0) else low + (high - low) * x)
    return found


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
