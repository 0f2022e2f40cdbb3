"""Where maps of latents have their channels: after the batch, as convolutions give them, or last,
as linear and recurrent layers do that make a latent of each step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from vaescope.adapters.draws import same
from vaescope.adapters.posterior_format import Candidate, Parts

__all__ = ["channels_last", "moved_back", "moved_first"]

#: Layers whose outputs have their channels last.
_LAST = (nn.Linear, nn.GRU, nn.LSTM, nn.RNN, nn.LayerNorm)


def channels_last(module: nn.Module | None, encode: Callable[[], Parts]) -> bool:
    """Whether the means that an encoder gives, which are maps, come from a layer that has its
    channels last."""
    if module is None:
        return False
    with _outputs(module) as seen:
        mean = encode().mean
    if mean.ndim < 3:
        return False
    d = mean.shape[-1]
    for output in seen:
        for turned in (output, output.transpose(0, 1)):
            if turned.shape[:-1] == mean.shape[:-1] and turned.shape[-1] >= d:
                halves = (turned[..., :d], turned[..., d : 2 * d], turned[..., ::2][..., :d])
                if any(same(half, mean) for half in halves if half.shape == mean.shape):
                    return True
    return False


@contextmanager
def _outputs(module: nn.Module) -> Iterator[list[Tensor]]:
    seen: list[Tensor] = []

    def note(_: nn.Module, __: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        if isinstance(first, Tensor) and first.ndim > 2:
            seen.append(first.detach())

    hooks = [part.register_forward_hook(note) for part in module.modules()
             if isinstance(part, _LAST)]  # fmt: skip
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def moved_first(one: Candidate) -> Candidate:
    """The same candidate with its channels after the batch."""

    def take(output: Any) -> Parts:
        parts = one.take(output)
        mean = parts.mean
        spread = None if parts.spread is None else parts.spread.expand_as(mean).movedim(-1, 1)
        return Parts(mean.movedim(-1, 1), spread)

    return replace(one, take=take)


def moved_back(decode: Callable[..., Any]) -> Callable[..., Any]:
    """A decoder of latents with their channels last, given them first."""
    return lambda z, u=None: decode(z.movedim(1, -1), u)
