"""Models whose batches lie along the second axis: sequences go in and come out time first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, distributions

__all__ = ["TimeFirst"]


@dataclass(eq=False)
class TimeFirst:
    """A function of (time, batch, ...), called with (batch, time, ...). What it gives is turned
    back where its second axis is the batch; which parts are is seen once and kept, since a batch
    may have as many examples as there are steps."""

    function: Callable[..., Any]
    turned: dict[tuple[Any, ...], bool] = field(default_factory=dict, init=False)

    def __call__(self, *arguments: Tensor) -> Any:
        n = len(arguments[0])
        return self._back(self.function(*(_there(one) for one in arguments)), n, ())

    def _back(self, output: Any, n: int, path: tuple[Any, ...]) -> Any:
        if isinstance(output, Tensor):
            key = (*path, output.ndim)
            if key not in self.turned:
                self.turned[key] = output.ndim > 1 and output.shape[1] == n != output.shape[0]
            if not self.turned[key]:
                return output
            # The last state of a recurrent network has an axis of layers before the batch.
            return output[0] if len(output) == 1 else output.transpose(0, 1)
        if isinstance(output, distributions.Normal):
            loc, scale = (self._back(part, n, path) for part in (output.loc, output.scale))
            return distributions.Normal(loc, scale)
        if isinstance(output, Mapping):
            return {key: self._back(value, n, (*path, key)) for key, value in output.items()}
        if isinstance(output, tuple | list):
            return tuple(self._back(value, n, (*path, i)) for i, value in enumerate(output))
        return output


def _there(values: Tensor) -> Tensor:
    """Sequences (batch, time, ...); latents of one vector and labels stay as they are. Whole
    numbers (batch, time) are tokens."""
    sequence = values.ndim > 2 or (values.ndim == 2 and not values.is_floating_point())
    return values.transpose(0, 1).contiguous() if sequence else values
