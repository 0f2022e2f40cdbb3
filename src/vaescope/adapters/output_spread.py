"""A second output of a decoder: whether it is the spread of the first, and in which form."""

from collections.abc import Sequence

import torch
from torch import Tensor

from vaescope.adapters.output_format import Decoded, Range, logits_of
from vaescope.adapters.posterior_format import SPREADS
from vaescope.errors import UnscoredError

__all__ = ["output_spread", "refuse_outputs"]

#: Nats of an example by which a learned spread may be worse than the best one for all.
_FAR = 3.0


def refuse_outputs(model: str, names: Sequence[str]) -> None:
    """A decoder that gives more than means, and of which nothing shows what they are."""
    raise UnscoredError(
        f"The decoder of {model} gives {' and '.join(names)} for each value beside the first "
        "output, and no loss shows what they are.",
        "State the likelihood with likelihood=: a function that takes all outputs of the "
        "decoder and returns a torch distribution, or a name, e.g. squared-error, for the "
        "first output alone.",
        tuple(names),
    )


def output_spread(output: Decoded, span: Range, x: Tensor, *, told: bool) -> str | None:
    """What a second output is, by its name and by the likelihood of the images: None where these
    are far likelier with one variance for all, as of no trained spread, unless it is `told` that
    it is one; or where it is the logits of the first."""
    assert output.spread is not None
    low, high = span
    values, wanted = output.values.to(x), low + (high - low) * x
    if logits_of(output, x):
        return None
    nats = {}
    squares = (wanted - values).square()
    one = float(-0.5 * x[0].numel() * (1 + squares.mean().clamp_min(1e-12).log()))
    for kind in ("logvar", "std", "variance", "logstd") if output.kind is None else (output.kind,):
        if kind in ("std", "variance") and float(output.spread.min()) <= 0:
            continue
        variance = SPREADS[kind](output.spread.to(x))
        log_p = -0.5 * (squares / variance + variance.log()).flatten(1).sum(1)
        if bool((variance > 0).all()) and bool(torch.isfinite(log_p).all()):
            nats[kind] = float(log_p.mean())
    best = max(nats, key=nats.__getitem__, default=None)
    known = told or output.kind is not None
    return best if best is not None and (known or nats[best] > one - _FAR) else None
