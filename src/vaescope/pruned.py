"""Somebody else's model with fewer latents: those that are gone are constants in its decoder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from vaescope.adapters import Asked, Model, Posterior, adapt

__all__ = ["Origin", "Pruned"]


@dataclass(frozen=True, eq=False)
class Origin:
    """What was read, and how: enough to read a copy of it again."""

    model: Any
    encode: Callable[[Tensor], Any] | None
    decode: Callable[[Tensor], Any] | None
    asked: Asked
    probes: Tensor  # (n, *event) some data to read it on, images in [0, 1]


class Pruned(nn.Module):
    """Takes and gives what the model it was made of takes and gives, with `kept` latents only.

    `encode` gives their mean and variance, `decode` puts the constants back. The weights are the
    model's own, not a copy.
    """

    places: Tensor
    constants: Tensor

    def __init__(self, origin: Origin, read: Model, kept: Tensor, constants: Tensor) -> None:
        super().__init__()
        self.origin, self.read = origin, read
        self.module = read.module
        # Row i has a one at the place of the i-th kept latent. A product with it can be pushed
        # forward and stacked, which assigning by index cannot.
        self.register_buffer("places", torch.eye(len(constants)).to(constants)[kept])
        self.register_buffer("constants", constants.index_fill(0, kept, 0.0))

    @property
    def of_functions(self) -> bool:
        """Whether the decoder is a plain function, whose weights cannot be drawn anew."""
        return self.origin.decode is not None

    def encode(self, x: Tensor) -> Posterior:
        """Mean and variance of the latents that are kept; x in the range that the model takes."""
        low, high = self.origin.asked.value_range or (0.0, 1.0)
        q = self.read.encode((x - low) / (high - low))
        kept = self.places.argmax(1)
        return Posterior(q.mean[:, kept], q.variance[:, kept])

    def decode(self, z: Tensor) -> Tensor:
        """The decoder's output at z, with the dropped latents at their constants."""
        return self.read.raw(z @ self.places.to(z) + self.constants.to(z))

    def forward(self, x: Tensor) -> Tensor:
        """The reconstruction at the posterior's mean."""
        return self.decode(self.encode(x).mean)

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions of `read` hold on to their module: a copy must be read again, or it would go on
        # decoding with the weights of this one.
        made = (self.origin.model, self.origin.encode, self.origin.decode, self.origin.asked,
                self.origin.probes, self.places.argmax(1), self.constants)  # fmt: skip
        return _again, (*made, self.training)


def _again(
    model: Any, encode: Any, decode: Any, asked: Asked, probes: Tensor, kept: Tensor,
    constants: Tensor, training: bool,
) -> Pruned:  # fmt: skip
    read = adapt(model, probes, encode=encode, decode=decode, asked=asked)
    copy = Pruned(Origin(model, encode, decode, asked, probes), read, kept, constants)
    copy.training = training
    return copy
