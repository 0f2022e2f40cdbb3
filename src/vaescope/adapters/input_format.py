"""How data go into an encoder: in which form, and in which range."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from vaescope.adapters.output_format import UNIT, Range
from vaescope.adapters.sources import Function

__all__ = ["FORMS", "Way", "forms_of", "images_of"]


def images_of(x: Tensor) -> bool:
    """Whether data are images, which models take in several ranges."""
    return x.ndim == 4


#: Forms of images that encoders take, in the order in which they are tried.
FORMS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "as they are": lambda x: x,
    "channels last": lambda x: x.movedim(1, -1),
    "without channels": lambda x: x.squeeze(1),
    "flat": lambda x: x.flatten(1),
}


def forms_of(x: Tensor) -> tuple[str, ...]:
    """Those that differ on the data."""
    if x.ndim == 2:
        return ("as they are",)
    if not images_of(x):
        return ("as they are", "flat")
    return tuple(form for form in FORMS if form != "without channels" or x.shape[1] == 1)


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
