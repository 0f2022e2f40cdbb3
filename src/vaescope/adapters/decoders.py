"""Decoders of a model: its own, or the second half of a whole pass, and what they give."""

from typing import Any

import torch
from torch import Tensor, distributions
from torch.nn import functional

from vaescope.adapters.arguments import of_function
from vaescope.adapters.draws import Forward, recorded
from vaescope.adapters.noise import Noise, sampling
from vaescope.adapters.output_format import NEVER, Decoded, decoded, error_of, event_of
from vaescope.adapters.posterior_format import moved_back
from vaescope.adapters.posterior_inference import Opening, line_of
from vaescope.adapters.reading import POOR
from vaescope.adapters.sources import Function, Source
from vaescope.adapters.tensors import leaves, same
from vaescope.errors import ReadingError, ShapeError, UnscoredError

__all__ = [
    "FROM_LATENTS", "changed_before", "decoders_of", "levels_told", "output_of", "refuse_change",
    "refuse_detour", "refuse_several", "vocabulary_told",
]  # fmt: skip

#: Nats of an example by which one order of axes must be likelier than the other.
FAR = 3.0

#: Levels of a byte, and how near to whole numbers bytes are that were stored in [0, 1].
BYTES = 256
WHOLE = 1e-3

#: Of outputs that are larger than the data.
SEVERAL = "numbers for each value"
#: What a decoder is called that a model does not have by itself.
FROM_LATENTS = "forward from its latents on"


def decoders_of(
    source: Source, forward: Forward | None, opening: Opening
) -> list[tuple[str, Function]]:
    """Those that the model has, and what comes after the latents in a whole pass."""
    changed = opening.candidate.layout == "drawn" and changed_before(source, forward)
    own = [] if changed else list(source.decoders)
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
        raw = None
        try:
            given = z.reshape(len(z), *shape)
            raw = decoder[1](given, u)
            y, again = decoded(raw, event), decoded(decoder[1](given, u), event)
        except Exception as error:  # anybody's code
            problems.append(f"{decoder[0]} on shape {(len(z), *shape)}: {line_of(error)}")
            if isinstance(error, ShapeError) and kind != "tokens":
                problems += _several(decoder[0], raw, x)
            continue
        if y.levels is not None and not isinstance(raw, distributions.Distribution):
            k = y.levels.shape[-1]
            if k < BYTES and error_of(y.values, x) > POOR and not _numbered_any(x, k):
                problems += _several(decoder[0], raw, x)
                continue
        fault = _fault(y, again, x) or _memory(decoder, given, u, y, opening, x, event)
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
            f"Pass decode=model.{name} if it is the last, else decode=lambda z: "
            f"model.{name}(z).transpose(1, 2){said}.",
        )
    return (name, of_function(turned, decode)) if nats[1] < nats[0] else decoder


def levels_told(decoder: tuple[str, Function], levels: int, x: Tensor) -> tuple[str, Function]:
    """The decoder of levels with one for each byte, where images are bytes that number them: a
    decoder of 16 levels for bytes from 0 to 15."""
    name, decode = decoder
    event = event_of(x, None)
    if levels >= BYTES or _numbered(x, levels - 1, levels) or not _numbered(x, BYTES - 1, levels):
        return decoder

    def of_bytes(z: Tensor, u: Tensor | None = None) -> distributions.Distribution:
        logits = decoded(decode(z, u), event).levels
        assert logits is not None
        return distributions.Categorical(
            logits=functional.pad(logits, (0, BYTES - levels), value=NEVER)
        )

    return name, of_function(of_bytes, decode)


def _numbered_any(x: Tensor, levels: int) -> bool:
    return _numbered(x, levels - 1, levels) or _numbered(x, BYTES - 1, levels)


def _numbered(x: Tensor, top: int, levels: int) -> bool:
    """Whether images in [0, 1] times `top` are numbers of levels."""
    numbers = x * top
    whole = float((numbers - numbers.round()).abs().max()) < WHOLE
    return whole and float(numbers.max()) < levels - 0.5


def changed_before(source: Source, forward: Forward | None) -> bool:
    """Whether a whole pass changes what it draws before the model's decoder gets it. False where
    that decoder is not seen to get anything of that size."""
    if forward is None or forward.entry is None:
        return False
    with Noise(), sampling(forward.module), recorded(forward.module) as seen:
        forward.call(forward.x, forward.u)
    z = forward.latents_in(seen[forward.entry]).flatten(1)
    names = {end for name, _ in source.decoders for end in (name, f"{name}()")}
    fed = [value.flatten(1) for entry, value in seen.items() if entry.part in names]
    fed = [value for value in fed if value.shape == z.shape]
    return bool(fed) and not any(same(value.to(z), z) for value in fed)


def refuse_change(source: Source, forward: Forward | None) -> None:
    """Draws that are changed before they are decoded may go through a flow, whose density is no
    Gaussian; or the prior is over the draws, and what follows is part of the decoder."""
    if not changed_before(source, forward):
        return
    assert forward is not None and forward.entry is not None
    raise ReadingError(
        f"The forward of {source.name} changes its draws, in {forward.entry.part}, before it "
        "decodes them: by a flow, whose KL has no closed form, or by a part of the decoder.",
        "If the prior is over the draws and the change is part of the decoder, pass "
        "posterior=drawn; if the prior is over the changed draws, pass encode= as a function "
        "that returns their Normal(mean, std).",
    )


def refuse_skip(source: Source, decoder: tuple[str, Function], forward: Forward) -> None:
    """Where every output of a whole pass depends on the data beside the latents, as with a skip
    connection from the input, a decoder of latents alone is not what the model was trained with."""
    name, decode = decoder
    if forward.entry is None or forward.imageless or name in ("decode=", FROM_LATENTS):
        return
    with Noise():
        z = forward.sample(forward.x, forward.u)
    here, there = (_values_of(one.decode, z, forward) for one in (forward, forward.shifted()))
    if not here or len(here) != len(there) or any(map(same, here, there)):
        return
    # A decoder that predicts the next step gets the data too, as its condition.
    if forward.u is not None and (
        source.told_likelihood or _ends_in(_values_of(decode, z, forward), here)
    ):
        return
    raise ReadingError(
        f"The forward of {source.name} decodes the same latents differently for other data, so it "
        f"uses the data beside them, e.g. by a skip connection; its {name} alone does not.",
        f"To dissect {name} alone, pass decode=model.{name}; for codes alone encode=model.encode "
        "without a model.",
    )


def goes_on(source: Source, decoder: tuple[str, Function], forward: Forward) -> bool:
    """Whether a whole pass changes what its decoder gives, e.g. adds a mean image. Values that
    follow the decoder's, such as after a sigmoid, are no such change."""
    name, decode = decoder
    if forward.entry is None or forward.imageless or source.told_likelihood:
        return False
    if name in ("decode=", FROM_LATENTS):
        return False
    with Noise():
        z = forward.sample(forward.x, forward.u)
    try:
        own, images = (_values_of(one, z, forward) for one in (decode, forward.decode))
    except Exception:  # anybody's code
        return False
    n = len(z)
    pairs = [(y.reshape(rows, -1), image.reshape(rows, -1))
             for y in own for image in images for rows in (1, n)]  # fmt: skip
    return bool(pairs) and not any(_follows(y, image) for y, image in pairs)


def _follows(y: Tensor, image: Tensor) -> bool:
    """Whether one never falls, or never rises, where the other rises, but for rounding."""
    steps = image.gather(1, y.argsort(1)).diff(dim=1)
    least = WHOLE * float(image.max() - image.min())
    return bool(steps.min() >= -least or steps.max() <= least)


def _values_of(decode: Function, z: Tensor, forward: Forward) -> list[Tensor]:
    """What has the size of the data among what is decoded."""
    size = forward.x.numel()
    return [part.flatten() for _, part in leaves(decode(z, forward.u)) if part.numel() == size]


def _ends_in(outputs: list[Tensor], images: list[Tensor]) -> bool:
    """Whether an image is one of the outputs, or what a sigmoid or a tanh makes of it."""
    ends = [end(y) for y in outputs for end in (torch.clone, torch.sigmoid, torch.tanh)]
    return any(same(end.to(part), part) for end in ends for part in images)


def _several(name: str, output: Any, x: Tensor) -> list[str]:
    """Two numbers or more for each value of the data may be the parameters of a distribution."""
    if not isinstance(output, Tensor) or output.ndim < 2:
        return []
    k, left = divmod(output.numel(), x.numel())
    rest = tuple(output.shape[2:])[-len(x.shape[2:]) :] == tuple(x.shape[2:])
    if k < 2 or left or len(output) != len(x) or not (rest or output.ndim == 2):
        return []
    return [f"{name} gives shape {tuple(output.shape[1:])} of each example, {k} {SEVERAL} of data "
            f"of shape {tuple(x.shape[1:])}"]  # fmt: skip


def refuse_several(source: Source, problems: list[str]) -> None:
    """Where nothing else works, what a decoder gives may be parameters of a distribution."""
    several = [problem for problem in problems if SEVERAL in problem]
    if several:
        raise UnscoredError(
            f"{source.name}: {several[0]}.",
            "If these are the parameters of a distribution, pass likelihood= as a function of "
            "that output that returns a torch distribution with a mean, e.g. the Normal(mean, "
            "std) of its chunks; if not, pass decode= as a function that returns the mean.",
            tuple(dict.fromkeys(problems)),
        )


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
    if not _ends_in([y.flatten() for y in outputs], [part.flatten() for part in images]):
        raise ReadingError(
            f"The forward of {source.name} does not decode what its encoder returns: a codebook "
            "or another step may lie between them, and discrete codes have no posterior.",
            "To dissect what the encoder returns as codes without noise, pass posterior=mean; else "
            "encode= as a function that returns (mean, logvar).",
        )


def _memory(
    decoder: tuple[str, Function], given: Tensor, u: Tensor | None, y: Decoded, opening: Opening,
    x: Tensor, event: tuple[int, ...],
) -> str | None:  # fmt: skip
    """What is decoded of the same latents after other data went through the encoder: models that
    keep what the encoder saw, such as skip connections, give something else. Programs of Pyro keep
    it too, and are checked with their prior."""
    if opening.way.encoder[0] == "guide":
        return None
    try:
        opening.way(x.roll(1, 0), u)
        other = decoded(decoder[1](given, u), event).values
        opening.way(x, u)
    except Exception:  # anybody's code
        return None
    if torch.allclose(y.values, other, rtol=1e-2, atol=1e-2 * float(y.values.std())):
        return None
    return "values that depend on the data that were encoded last, beside its latents"


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
        return "different values when called again, so these are samples; wanted means"
    return None
