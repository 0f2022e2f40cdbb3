"""All that a pass through a model returns, with other reconstructions, means and spreads in it:
what losses such as criterion(outputs, x) are called with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from torch import Tensor, nn

from vaescope.adapters.noise import Noise, sampling
from vaescope.adapters.posterior_format import Parts
from vaescope.adapters.tensors import leaves, same

__all__ = ["Whole", "whole_of"]

Function = Callable[[Tensor, Tensor | None], Any]
#: Of a reconstruction, means and spreads.
Whole = Callable[[Tensor, Tensor, Tensor], Any]


def whole_of(
    call: Function, module: nn.Module, x: Tensor, u: Tensor | None, y: Tensor, parts: Parts
) -> Whole | None:
    """What a pass returns, with other reconstructions, means and spreads in place of these; None
    where it returns none of them. Its noise is 0, so that samples are means."""
    if parts.spread is None:
        return None
    try:
        with Noise(), sampling(module):
            returned = call(x, u)
    except Exception:  # anybody's code
        return None
    held = [part for _, part in leaves(returned)]
    if not any(_like(part, one) for part in held for one in (y, parts.mean, parts.spread)):
        return None

    def whole(y_now: Tensor, mean: Tensor, spread: Tensor) -> Any:
        assert parts.spread is not None
        pairs = ((parts.mean, mean), (parts.spread, spread), (y, y_now))
        return _exchanged(returned, pairs)

    return whole


def _like(part: Tensor, other: Tensor) -> bool:
    return part.numel() == other.numel() and same(part.flatten(), other.flatten().to(part))


def _exchanged(value: Any, pairs: Sequence[tuple[Tensor, Tensor]]) -> Any:
    """The same with the second of each pair where the first was."""
    if isinstance(value, Tensor):
        new = next((new for old, new in pairs if _like(value, old)), None)
        return value if new is None else new.reshape(value.shape)
    if isinstance(value, Mapping):
        return {key: _exchanged(part, pairs) for key, part in value.items()}
    if isinstance(value, tuple | list):
        parts = [_exchanged(part, pairs) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {one.name: _exchanged(getattr(value, one.name), pairs) for one in fields(value)}
        return replace(value, **changed)
    return value
