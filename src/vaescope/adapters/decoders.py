"""Decoders of a model: its own, or the second half of a whole pass, and what they give."""

from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.draws import Forward
from vaescope.adapters.output_format import Decoded, decoded, event_of
from vaescope.adapters.posterior_format import moved_back
from vaescope.adapters.posterior_inference import Opening, line_of
from vaescope.adapters.sources import Function, Source
from vaescope.adapters.tensors import leaves, same
from vaescope.errors import ReadingError

__all__ = ["FROM_LATENTS", "decoders_of", "output_of", "refuse_detour", "vocabulary_told"]

#: Nats of an example by which one order of axes must be likelier than the other.
FAR = 3.0

#: What a decoder is called that a model does not have by itself.
FROM_LATENTS = "forward from its latents on"


def decoders_of(
    source: Source, forward: Forward | None, opening: Opening
) -> list[tuple[str, Function]]:
    """Those that the model has, and what comes after the latents in a whole pass."""
    own = list(source.decoders)
    if forward is not None and forward.entry is not None and opening.shape is not None:
        own.append((FROM_LATENTS, forward.decode))
    return [(name, moved_back(f)) for name, f in own] if opening.moved else own


def output_of(
    decoder: tuple[str, Function], z: Tensor, u: Tensor | None, opening: Opening,
    forward: Forward | None, x: Tensor, kind: str | None, problems: list[str],
) -> tuple[Decoded | None, tuple[int, ...]]:  # fmt: skip
    """What a decoder gives of latents in a shape that it takes."""
    event = event_of(x, kind)
    d = z[0].numel()
    shapes = [tuple(z.shape[1:]), opening.shape, (d,), (d, 1, 1)]
    for shape in dict.fromkeys(s for s in shapes if s is not None):
        try:
            given = z.reshape(len(z), *shape)
            y, again = (decoded(decoder[1](given, u), event) for _ in range(2))
        except Exception as error:  # anybody's code
            problems.append(f"{decoder[0]} on shape {(len(z), *shape)}: {line_of(error)}")
            continue
        fault = _fault(y, again, x)
        if forward is not None and decoder[0] == FROM_LATENTS:
            shifted = forward.shifted().decode
            other = decoded((moved_back(shifted) if opening.moved else shifted)(given, u), event)
            if not same(y.values, other.values):
                fault = "values that depend on the data beside its latents"
        if fault is None:
            return y, shape
        problems.append(f"{decoder[0]} gives {fault}")
    return None, ()


def vocabulary_told(
    decoder: tuple[str, Function], z: Tensor, u: Tensor | None, shape: tuple[int, ...], x: Tensor,
    opening: Opening,
) -> tuple[str, Function]:  # fmt: skip
    """The decoder of tokens with its vocabulary last. Where there are as many steps as words, the
    likelihood of the data tells which axis is which; of a decode= it is the last.

    Raises ReadingError where both are about equally likely."""
    name, decode = decoder
    raw = decode(z.reshape(len(z), *shape), u)
    square = isinstance(raw, Tensor) and raw.ndim == 3 and raw.shape[1] == raw.shape[2]
    if name == "decode=" or not square or x.ndim != 2:
        return decoder

    def turned(values: Tensor, u: Tensor | None = None) -> Any:
        return decode(values, u).transpose(1, 2)

    nats = []
    for logits in (raw, raw.transpose(1, 2)):
        log_p = decoded(logits, event_of(x, "tokens")).values
        nats.append(-float(log_p.gather(-1, x.long().unsqueeze(-1)).sum((1, 2)).mean()))
    if abs(nats[0] - nats[1]) < FAR:
        # With a decode= of the user's, forward does not show what is drawn.
        spread = f"{opening.candidate.layout},{opening.spread}"
        said = "" if opening.spread is None else f', with posterior="{spread}"'
        raise ReadingError(
            f"{name} returns shape {tuple(raw.shape)}: its vocabulary may be either axis.",
            f"Pass decode=model.{name} where it is the last, else "
            f"decode=lambda z: model.{name}(z).transpose(1, 2){said}.",
        )
    return (name, turned) if nats[1] < nats[0] else decoder


def refuse_detour(
    source: Source, decode: Function, encode: Function, shape: tuple[int, ...], forward: Forward
) -> None:
    """Of codes without noise: what forward decodes must be what the encoder gives. A codebook in
    between, or another function, would go unseen."""
    x, u = forward.x, forward.u
    images = [part for _, part in leaves(forward.call(x, u)) if part.numel() == x.numel()]
    images = [part for part in images if not torch.equal(part.flatten(), x.flatten().to(part))]
    codes = encode(x, u)
    outputs = [part for _, part in leaves(decode(codes.reshape(len(x), *shape), u))
               if part.numel() == x.numel()]  # fmt: skip
    if not images or not outputs:
        return
    ends = [end(y).flatten() for y in outputs for end in (torch.clone, torch.sigmoid, torch.tanh)]
    if not any(same(end.to(part), part.flatten()) for end in ends for part in images):
        raise ReadingError(
            f"The forward of {source.name} does not decode what its encoder returns: a codebook "
            "or another step may lie between them, and discrete codes have no posterior.",
            "To dissect what the encoder returns as codes without noise, pass posterior=mean; else "
            "encode= as a function that returns (mean, logvar).",
        )


def _fault(output: Decoded, repeated: Decoded, x: Tensor) -> str | None:
    """Why these can be no means of the examples; None where they can."""
    y, again, n = output.values, repeated.values, len(x)
    if output.tokens and int(x.max()) >= y.shape[-1]:
        return f"logits of {y.shape[-1]} tokens, and the data have token {int(x.max())}"
    if len(y) != n:
        return f"{len(y)} outputs of {n} latents"
    if not torch.isfinite(y).all():
        return "values that are not finite"
    if not torch.allclose(y, again, rtol=1e-2, atol=1e-2 * float(y.std())):
        return "other values when called again, so these are samples; wanted their means"
    return None
