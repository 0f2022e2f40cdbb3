"""How data go into an encoder: in which form, and in which range."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from vaescope.adapters.output_format import UNIT, Range
from vaescope.adapters.sources import Function

__all__ = ["FORMS", "Way", "few_of", "forms_of", "images_of"]


def images_of(x: Tensor, kind: str | None) -> bool:
    """Whether data are images, which models take in several ranges."""
    return kind in (None, "images") and x.ndim == 4


#: Forms of data that encoders take.
FORMS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "as they are": lambda x: x,
    "numbers": lambda x: x.round().long(),
    "channels last": lambda x: x.movedim(1, -1),
    "channels first": lambda x: x.movedim(-1, 1),
    "channels before time": lambda x: x.transpose(1, 2),
    "with an axis of channels": lambda x: x.unsqueeze(1),
    "without channels": lambda x: x.squeeze(1),
    "flat": lambda x: x.flatten(1),
}


def forms_of(x: Tensor, kind: str | None = None) -> tuple[str, ...]:
    """Those that differ on the data, in the order in which they are tried."""
    if kind == "tokens":
        return ("numbers",)
    if images_of(x, kind):
        grey = ("without channels",) if x.shape[1] == 1 else ()
        return ("as they are", "channels last", *grey, "flat")
    if x.ndim == 2:
        return ("as they are", "with an axis of channels")
    video = ("channels before time",) if x.ndim == 5 else ()
    return ("as they are", *video, "channels first", "with an axis of channels", "flat")


def few_of(x: Tensor, most: int) -> int:
    """How many examples to try: a number that no other axis has, so that a batch can be told from
    the steps of a sequence."""
    n = min(most, len(x))
    while n > 2 and n in x.shape[1:]:
        n -= 1
    return n


@dataclass(frozen=True, eq=False)
class Way:
    """How data go in."""

    encoder: tuple[str, Function]
    form: str  # a key of FORMS
    value_range: Range

    def __call__(self, x: Tensor, u: Tensor | None = None) -> Any:
        return self.encoder[1](self.formed(x), u)

    def formed(self, x: Tensor) -> Tensor:
        """Images in [0, 1] as the encoder takes them."""
        low, high = self.value_range
        x = x if self.value_range == UNIT else low + (high - low) * x
        return FORMS[self.form](x)
