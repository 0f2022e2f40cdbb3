"""What a model gets beside its data: labels, states, lengths, with a row for each example."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from vaescope.errors import ShapeError
from vaescope.types import Integers, Single

__all__ = ["ConditionInput", "Form", "Part"]

#: Whole numbers that float32 holds.
_EXACT = 2**24
#: Labels are also tried as one-hot up to so many classes.
_CLASSES = 1000

Shaping = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Part:
    """One of the arrays: its role, the shape of one row, and how many classes labels have."""

    role: str  # "condition", "lengths", "scored", or "x" for the data themselves
    shape: tuple[int, ...]
    whole: bool  # whole numbers
    classes: int = 0  # of labels; 0: not labels
    hot: bool = False  # labels that came one-hot

    @property
    def width(self) -> int:
        return math.prod(self.shape)

    def forms(self) -> Iterator[tuple[str, Shaping]]:
        """The forms that a model may take it in, the commonest first."""
        shape = self.shape
        if self.role == "scored":  # for no function of the model
            yield "", lambda u: u
            return
        if self.classes:
            k = self.classes
            if k <= _CLASSES:
                yield "one-hot", lambda u: functional.one_hot(u[:, 0].round().long(), k).to(u.dtype)
            yield "numbers", lambda u: u[:, 0].round().long()
            yield "a column", lambda u: u
        elif self.whole:
            yield "numbers", lambda u: u.reshape(-1, *shape).round().long()
            yield "floats", lambda u: u.reshape(-1, *shape)
        else:
            yield "as they are", lambda u: u.reshape(-1, *shape)
        if not shape and not self.classes:
            yield "a column", lambda u: u
        if self.hot:
            yield "numbers", lambda u: u.argmax(1)
        if len(shape) > 1:
            yield "flat", lambda u: u


@dataclass(frozen=True, eq=False)
class Form:
    """All parts in one form each, taken from rows in which they lie side by side."""

    parts: tuple[Part, ...]
    shapings: tuple[Shaping, ...]
    says: str

    def __call__(self, u: Tensor) -> tuple[tuple[str, Tensor], ...]:
        """The parts of some rows with their roles."""
        pieces = torch.split(u, [part.width for part in self.parts], dim=1)
        return tuple(
            (part.role, shaping(piece))
            for part, shaping, piece in zip(self.parts, self.shapings, pieces, strict=True)
        )


@dataclass(frozen=True, eq=False)
class ConditionInput:
    """Arrays with a row for each example, side by side as floats."""

    values: Single  # (n, width)
    parts: tuple[Part, ...] = ()

    @classmethod
    def of(cls, given: Any, n: int, *, lengths: Any = None, data: Any = None,
           scored: Any = None) -> "ConditionInput":  # fmt: skip
        """Of an array with a row for each of the n examples, or a tuple of such arrays; `lengths`
        of the examples, the data themselves where a decoder sees them, and which are `scored`."""
        several = given if isinstance(given, tuple | list) and not _numbers(given) else (given,)
        arrays = [("condition", _array(one)) for one in several if one is not None]
        arrays += [(role, _array(one)) for role, one in (
            ("lengths", lengths), ("x", data), ("scored", scored))
                   if one is not None]  # fmt: skip
        parts, columns = [], []
        for role, array in arrays:
            if array.ndim < 1 or len(array) != n or array.dtype.kind not in "biuf":
                name = role if role in ("lengths", "scored") else "condition"
                raise ShapeError(
                    f"{name} is {array.dtype} of shape {array.shape}; the data have {n} rows.",
                    "Give labels of shape (n,), numbers of shape (n, width), or a tuple of these.",
                )
            whole = array.dtype.kind in "biu"
            if whole and np.abs(array.astype(np.int64)).max(initial=0) >= _EXACT:
                raise ShapeError(
                    f"{role} has whole numbers of {_EXACT:,} and more.", "Number them from 0."
                )
            labels = whole and array.ndim == 1 and role == "condition" and int(array.min()) >= 0
            hot = array.ndim == 2 and bool(((array == 0) | (array == 1)).all())
            parts.append(
                Part(role, array.shape[1:], whole, int(array.max()) + 1 if labels else 0,
                     hot and bool((array.sum(1) == 1).all()))
            )  # fmt: skip
            columns.append(array.reshape(n, -1).astype(np.float32))
        return cls(np.concatenate(columns, axis=1), tuple(parts))

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def __call__(self, index: Integers) -> Single:
        return self.values[index]

    def forms(self) -> Iterator[Form]:
        """Every form that a model may take the parts in."""
        for chosen in product(*(list(part.forms()) for part in self.parts)):
            words = ", ".join(word for word, _ in chosen if word)
            yield Form(self.parts, tuple(shaping for _, shaping in chosen), words)

    def place(self, role: str) -> int | None:
        """The column in which a part begins; None where there is none."""
        before = 0
        for part in self.parts:
            if part.role == role:
                return before
            before += part.width
        return None

    @property
    def supervises(self) -> bool:
        """Whether it may tell something of the factors."""
        return "condition" in self.roles

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(part.role for part in self.parts)


def _numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float | np.generic) for value in values)


def _array(given: Any) -> NDArray[Any]:
    if isinstance(given, Tensor):
        given = given.detach().cpu()
        given = (given.float() if given.dtype == torch.bfloat16 else given).numpy()
    return np.asarray(given)
