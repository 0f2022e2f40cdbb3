"""Which values of the data are scored: not padding, nor what a mask leaves out.

The user says it (`lengths=`, `scored=`), or the model's own loss shows it: what it does not change
with is not scored.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from vaescope.adapters.condition import ConditionInput
from vaescope.adapters.losses import Given, calls_of, losses_of, named_losses
from vaescope.adapters.output_format import event_of, shaped, vocabulary_last
from vaescope.adapters.posterior_format import Parts
from vaescope.adapters.reading import Reading
from vaescope.adapters.sources import Function, Source
from vaescope.adapters.tensors import leaves
from vaescope.errors import UnscoredError

__all__ = ["Counting", "counting_of"]

#: Examples on which a loss is called, and how many outputs it is called with.
FEW = 16
TRIES = 2


@dataclass(frozen=True, eq=False)
class Counting:
    """Of x, and of what it is given beside: true where a value is scored, of the shape of x or of
    its first axes."""

    counted: Callable[[Tensor, Tensor | None], Tensor]
    says: str
    why: str

    def __call__(self, x: Tensor, u: Tensor | None) -> Tensor:
        return self.counted(x, u)


def counting_of(
    source: Source, reading: Reading, parts: Parts, x: Tensor, u: Tensor | None,
    condition: ConditionInput | None, kind: str | None,
) -> Counting | None:  # fmt: skip
    """Which values are scored; None where all are. Raises UnscoredError where some may not be, and
    no loss shows which."""
    told = None if condition is None else _told(condition)
    if told is not None or kind == "images":
        return told
    few = min(len(x), FEW)
    x, u = x[:few], None if u is None else u[:few]
    masks = [] if condition is None else list(_masks(condition, tuple(x.shape[1:])))
    seen = _unscored(source, reading, parts, x, u, kind)
    if seen is None:
        _refuse_unseen(source, x, kind, masks)
        return None
    name, unscored = seen
    if not bool(unscored.any()):
        return None
    why = f"{name} does not change with the others"
    if kind == "tokens":
        padding = torch.unique(x[unscored])
        if len(padding) == 1 and torch.equal(x == padding, unscored):
            token = int(padding)
            return Counting(lambda x, _: x != token, f"all tokens but {token}", why)
    for mask in masks:
        for one in (True, False):
            counting = Counting(partial(mask, one=one), f"where the mask is {int(one)}", why)
            if torch.equal(counting(x, u).expand_as(unscored), ~unscored):
                return counting
    share = float(unscored.float().mean())
    raise UnscoredError(
        f"{name} of {source.name} does not change with {share:.0%} of its reconstructions' values, "
        "and neither padding nor a mask explains which.",
        "Pass scored= with an array of the shape of the data, 1 where a value is scored.",
    )


def _told(condition: ConditionInput) -> Counting | None:
    place = condition.place("lengths")
    if place is not None:

        def within(x: Tensor, u: Tensor | None) -> Tensor:
            assert u is not None
            return torch.arange(x.shape[1], device=x.device) < u[:, place : place + 1]

        return Counting(within, "up to the length of each", "as given")
    part = next((part for part in condition.parts if part.role == "scored"), None)
    return None if part is None else Counting(
        partial(_block, condition.place("scored") or 0, part.shape), "as given", "as given"
    )  # fmt: skip


Mask = Callable[..., Tensor]


def _block(
    place: int, shape: tuple[int, ...], x: Tensor, u: Tensor | None, *, one: bool = True
) -> Tensor:
    """The columns of u that say which values count: where they are not 0, or where they are."""
    assert u is not None
    width = int(torch.tensor(shape).prod())
    on = u[:, place : place + width].reshape(-1, *shape) != 0
    on = on if one else ~on
    # A mask of steps with an axis of its own for all channels.
    return on.expand(-1, *x.shape[1:]) if on.ndim == x.ndim else on


def _masks(condition: ConditionInput, event: tuple[int, ...]) -> Iterator[Mask]:
    """Arrays of 0 and 1 with the shape of the data, or a number for each step."""
    place = 0
    for part in condition.parts:
        values = condition.values[:, place : place + part.width]
        steps = len(event) > 1 and part.shape in (event[:1], (*event[:1], 1))
        if (part.shape == event or steps) and bool(((values == 0) | (values == 1)).all()):
            yield partial(_block, place, part.shape)
        place += part.width


def _refuse_unseen(source: Source, x: Tensor, kind: str | None, masks: list[Mask]) -> None:
    """Raises where no loss is shown and some values may not be scored."""
    if masks:
        raise UnscoredError(
            f"{source.name} takes a mask and shows no loss, so masked values may be scored or not.",
            "Pass scored= with an array of the shape of the data, 1 where a value is scored: the "
            "mask itself, or np.ones_like(data) where all are.",
        )
    if kind != "tokens" or not isinstance(source.module, nn.Module):
        return
    held = [part.padding_idx for part in source.module.modules() if isinstance(part, nn.Embedding)]
    padding = [token for token in held if token is not None and bool((x[:, -1] == token).any())]
    if padding:
        raise UnscoredError(
            f"{source.name} has an Embedding with padding_idx={padding[0]}, and rows end in "
            f"{padding[0]}; it shows no loss, so padding may be scored or not.",
            f"Pass scored=(tokens != {padding[0]}) where it is not, or np.ones_like(tokens) where "
            "it is.",
        )


def _unscored(
    source: Source, reading: Reading, parts: Parts, x: Tensor, u: Tensor | None, kind: str | None
) -> tuple[str, Tensor] | None:
    """The loss, and the values of x that it does not change with; None where no loss is shown."""
    d = parts.mean[: len(x)]
    raw = reading.decoder[1](d.reshape(len(x), *reading.shape), u)
    first = next((leaf for _, leaf in leaves(raw) if leaf.ndim > 1), None)
    if first is None or not first.is_floating_point():
        return None
    generator = torch.Generator().manual_seed(0)
    unit = float(first.min()) >= 0 and float(first.max()) <= 1
    draw = torch.rand if unit else torch.randn
    # Not the model's own outputs: these may be so sure that nothing changes with them.
    outputs = [draw(first.shape, generator=generator).to(first) for _ in range(TRIES)]
    event = event_of(x, kind)
    for name, loss in _losses(source, reading.decoder[1], reading.way.formed(x), u, d, parts):
        zero: Tensor | None = None
        for y in outputs:
            gradient = _gradient(loss, y)
            if gradient is None:
                zero = None
                break
            zero = gradient == 0 if zero is None else zero & (gradient == 0)
        if zero is None or bool(zero.all()):
            continue
        if kind == "tokens":
            return f"its {name}", vocabulary_last(zero.float(), event[:-1]).bool().all(-1)
        return f"its {name}", shaped(zero.float(), event).bool()
    return None


def _losses(
    source: Source, decode: Function, x: Tensor, u: Tensor | None, mean: Tensor, parts: Parts
) -> Iterator[tuple[str, Callable[[Tensor], Any]]]:
    for name, call in source.losses:
        losses = losses_of(call, source.model, x, u, decode)
        if losses is not None:
            yield name, losses
    spread = torch.zeros_like(mean) if parts.spread is None else parts.spread[: len(mean)]
    given = Given(x=x, mean=mean, spread=spread)
    for name, loss in named_losses(source.model):
        for own in calls_of(loss):
            yield name, lambda y, own=own: own(y, given)  # type: ignore[misc]


def _gradient(loss: Callable[[Tensor], Any], y: Tensor) -> Tensor | None:
    """How a loss changes with an output; None where it does not, or fails."""
    try:
        with torch.enable_grad():
            own = y.clone().requires_grad_()
            terms = [part for _, part in leaves(loss(own))
                     if part.requires_grad and part.numel() == 1]  # fmt: skip
            if not terms:
                return None
            (found,) = torch.autograd.grad(
                torch.stack([term.reshape(()) for term in terms]).sum(), own, allow_unused=True
            )
    except Exception:  # anybody's code
        return None
    gradient: Tensor | None = found
    return gradient if gradient is not None and bool(torch.isfinite(gradient).all()) else None
