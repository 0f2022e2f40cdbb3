"""Somebody else's model with fewer latents: those that are gone are constants in its decoder."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from vaescope.adapters import Asked, Posterior, adapt
from vaescope.data import Dataset
from vaescope.errors import UsageError
from vaescope.models import Inference

__all__ = ["Pruned", "asked_again"]


def asked_again(inferred: Sequence[Inference]) -> Asked:
    """What was read, as one would ask for it: a copy is then read in the same way."""
    found = {inference.what: inference.read for inference in inferred}
    if "posterior" not in found:  # one of ours, of which nothing is inferred
        return Asked()
    ends = [float(end) for end in found.get("value_range", "").split(",") if end]
    return Asked(
        found["posterior"].removesuffix(",none"), found["output"],
        (ends[0], ends[1]) if ends else None,
    )  # fmt: skip


class Pruned(nn.Module):
    """Takes and gives what the model it was made of takes and gives, with `kept` latents only.

    `encode` gives their mean and variance, `decode` puts the constants back. The weights are the
    model's own, not a copy. `data` are some rows to read the model on.
    """

    places: Tensor
    constants: Tensor

    def __init__(
        self,
        model: Any,
        functions: tuple[Callable[[Tensor], Any] | None, Callable[[Tensor], Any] | None],
        asked: Asked,
        data: Dataset,
        kept: Tensor,
        constants: Tensor,
    ) -> None:
        super().__init__()
        self.made_of = (model, functions, asked, data)
        self.read = adapt(model, data, encode=functions[0], decode=functions[1], asked=asked)
        self.module = self.read.module
        self.value_range = asked.value_range or (0.0, 1.0)
        #: Whether the decoder is a plain function, whose weights cannot be drawn anew.
        self.of_functions = functions[1] is not None
        # Row i has a one at the place of the i-th kept latent. A product with it can be pushed
        # forward and stacked, which assigning by index cannot.
        self.conditional = self.read.auxiliary is not None
        self.register_buffer("places", torch.eye(len(constants)).to(constants)[kept])
        self.register_buffer("constants", constants.index_fill(0, kept, 0.0))

    def encode(self, x: Tensor, condition: Any = None) -> Posterior:
        """Mean and variance of the latents that are kept; x in the range that the model takes, and
        the condition as it was given, with a row for each example."""
        low, high = self.value_range
        q = self.read.encode((x - low) / (high - low), self._rows_of(condition))
        kept = self.places.argmax(1)
        return Posterior(q.mean[:, kept], q.variance[:, kept])

    def decode(self, z: Tensor, condition: Any = None) -> Tensor:
        """The decoder's output at z, with the dropped latents at their constants."""
        decode: Callable[..., Tensor] = self.read.decoder
        return decode(self.whole(z), *(u for u in [self._rows_of(condition)] if u is not None))

    def _rows_of(self, condition: Any) -> Tensor | None:
        """The arrays of a condition side by side, as the reading of the model takes them."""
        if not self.conditional:
            return None
        if condition is None:
            raise UsageError(
                f"{self.read.name} needs its condition beside x and z.",
                "Give it: encode(x, condition), decode(z, condition), a row for each example.",
            )
        several = condition if isinstance(condition, tuple | list) else (condition,)
        columns = [torch.as_tensor(one).to(self.constants) for one in several]
        return torch.cat([one.reshape(len(one), -1) for one in columns], 1)

    def whole(self, z: Tensor) -> Tensor:
        """All latents of the model: those kept at z, the dropped ones at their constants."""
        return z @ self.places.to(z) + self.constants.to(z)

    def forward(self, x: Tensor, condition: Any = None) -> Tensor:
        """The reconstruction at the posterior's mean."""
        return self.decode(self.encode(x, condition).mean, condition)

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions of `read` hold on to their module: a copy must be read again, or it would keep
        # decoding with the weights of this one.
        kept = self.places.argmax(1)
        return _again, (*self.made_of, kept, self.constants, self.training)


def _again(*made: Any) -> Pruned:
    *parts, training = made
    copy = Pruned(*parts)
    copy.training = training
    return copy
