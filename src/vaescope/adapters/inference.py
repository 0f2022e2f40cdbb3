"""Which reading of a model is right.

A reading says in which range images go in, where mean and spread are in the encoder's output, and
what the decoder's output means. What the model says or shows itself settles what it can; for the
rest readings are compared by the ELBO of some images, and the range that the images came in is left
only for one that is far better. Where two do about equally well, none is taken: the error lays
them out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.asked import Asked
from vaescope.adapters.draws import Forward, leaves
from vaescope.adapters.input_format import Way, images_of
from vaescope.adapters.likelihood_inference import ending, shown_loss
from vaescope.adapters.likelihoods import Likelihood, family_of
from vaescope.adapters.output_format import (
    OUTPUTS,
    RANGES,
    UNIT,
    Decoded,
    Range,
    decoded,
    meanings,
    pixels,
)
from vaescope.adapters.posterior_format import SPREADS, Parts, posterior_of
from vaescope.adapters.posterior_inference import Opening, line_of, openings
from vaescope.adapters.sources import Function, Source
from vaescope.errors import ReadingError, UsageError

__all__ = ["Reading", "choose"]

#: Errors within this ratio are equal: a wrong reading is worse by far more on a trained model.
EQUAL = 1.02
#: A collapsed model gives the mean image, an error of 1. Where all readings are worse than this, it
#: is untrained, or these are not its data, and which reading comes out first is luck.
POOR = 1.1
EQUAL_IF_POOR = 1.5
#: Nats per image by which another range must be better than the one that the images came in.
FAR = 3.0
#: Images on which a model's own loss is called.
LOSSES = 16
#: By such a share codes may change with the batch; rounding of bfloat16 is a tenth of it.
COMPANY = 0.05
#: Standard deviations above this are no posterior of a N(0, 1) prior.
LARGEST_STD = 3.0


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to use the model, and how well it does."""

    opening: Opening
    value_range: Range
    decoder: tuple[str, Function]
    shape: tuple[int, ...]  # of latents as the decoder takes them
    spread: str  # a key of SPREADS, or "none"
    likelihood: Likelihood
    error: float  # mean squared error over that of the best constant image
    elbo_nats: float  # of an image, by the best Gaussian around its reconstruction
    seen: Range  # range of the decoder's output
    spreads: Range  # range of the spread
    why_output: str = ""
    margin: float | None = None  # nats by which the next best range or output is worse

    @property
    def layout(self) -> str:
        return self.opening.candidate.layout

    @property
    def way(self) -> Way:
        return replace(self.opening.way, value_range=self.value_range)

    @property
    def output(self) -> str:
        return self.likelihood.output

    @property
    def symmetric(self) -> bool:
        return self.value_range == self.likelihood.output_range

    def says(self) -> str:
        spread = "" if self.spread == "none" else f",{self.spread}"
        low, high = self.likelihood.output_range
        out = f" in [{low:g}, {high:g}]" if self.output == "pixels" else ""
        return (
            f"posterior={self.layout}{spread} output={self.output}{out} "
            f"value_range={self.value_range[0]:g},{self.value_range[1]:g} "
            f"(reconstruction error {self.error:.3g} of a constant image's)"
        )


def choose(
    source: Source, x: Tensor, u: Tensor | None, asked: Asked, came: Range
) -> tuple[Reading, int]:
    """The best reading on the images `x`, and how many were tried.

    `came` is the range in which the images came. Raises ReadingError where none works, or where
    two are about equally good.
    """
    asked.check()
    problems: list[str] = []
    told = asked.value_range or source.range
    default = told or came
    if callable(asked.likelihood):
        source, asked = _with_likelihood(source, asked.likelihood), replace(asked, likelihood=None)
    opened, forward = openings(source, x, u, asked, default, problems)
    tried: list[Reading] = []
    chosen: list[Reading] = []
    for opening in opened:
        if any(r.spread != "none" and r.way.encoder != opening.way.encoder for r in chosen):
            break  # encode before encoder: the model's own word for it
        here = _readings(source, opening, forward, x, u, asked, told, came, problems)
        tried += here
        if here:
            chosen.append(_in_range(here, default))
    if not chosen:
        missing = next((w for w, has in (("encode", source.encoders), ("decode", source.decoders))
                        if not has), None)  # fmt: skip
        if missing is not None:
            raise ReadingError(
                f"{source.name} has neither {missing} nor {missing}r, and its forward does not "
                "show latents.",
                f"Pass {missing}= as a function of a batch of tensors.",
                tuple(dict.fromkeys(problems)),
            )
        raise ReadingError(
            f"No reading of {source.name} works on data of shape {tuple(x.shape[1:])}: "
            + "; ".join(list(dict.fromkeys(problems))[:2]) + ".",
            "Pass images of the size that it was trained on, or encode= as a function that returns "
            "(mean, logvar) as tensors and decode= as one of latents: there, labels can be added.",
            tuple(dict.fromkeys(problems)),
        )  # fmt: skip
    first = _in_layout(source, chosen, tried)
    _refuse_absurd(first, asked)
    _refuse_company(source, first, x, u)
    return first, len(tried)


def _with_likelihood(source: Source, likelihood: Callable[[Any], Any]) -> Source:
    """Decoders that give the distributions that the user's function makes of their outputs."""

    def after(decode: Function) -> Function:
        return lambda z, u=None: likelihood(decode(z, u))

    return replace(source, decoders=tuple((name, after(f)) for name, f in source.decoders))


def _in_range(tried: list[Reading], default: Range) -> Reading:
    """Of the readings of one opening, the best in the default range, or one that is far better.

    In and out are in the same range nearly always: where the outputs are clearly in another range
    than the images came in, that range is the default.
    """
    at_home = [r for r in tried if r.value_range == default] or tried
    home = _best_output(at_home, default)
    out = home.likelihood.output_range
    if out != default and home.output == "pixels":
        same = [r for r in tried if r.value_range == out and r.likelihood.output_range == out]
        if same and home.elbo_nats - same[0].elbo_nats < FAR:
            home = same[0]
    rivals = [r for r in tried if r.value_range != home.value_range]
    best = max(rivals, key=lambda r: r.elbo_nats, default=None)
    if best is None:
        return home
    gain = best.elbo_nats - home.elbo_nats
    if gain > FAR and best.error < min(1.0, home.error):
        others = [r for r in tried if r.value_range != best.value_range]
        return replace(best, margin=best.elbo_nats - max(r.elbo_nats for r in others))
    return replace(home, margin=-gain)


def _best_output(tried: list[Reading], default: Range) -> Reading:
    """What the output means, with the images in one range: the first meaning, unless another one
    is clearly better and no worse than the mean image."""
    first = next((r for r in tried if r.likelihood.output_range == default), tried[0])
    first = min(
        (r for r in tried if r.likelihood.output_range == first.likelihood.output_range),
        key=lambda r: r.error,
    )
    best = min(tried, key=lambda r: r.error)
    if best.error <= POOR and best.elbo_nats - first.elbo_nats > FAR:
        return best
    return first


def _in_layout(source: Source, chosen: list[Reading], tried: list[Reading]) -> Reading:
    best = min(chosen, key=lambda reading: reading.error)
    poor = best.error > POOR
    equal = [r for r in chosen if r.error <= (EQUAL_IF_POOR if poor else EQUAL) * best.error]
    # encode() that gives means and encoder() that gives spreads too: one model, the latter whole.
    equal = [r for r in equal if r.spread != "none"] or equal
    first = equal[0]
    rivals = [r for r in equal if r.layout != first.layout]
    if rivals:
        choices = "; ".join(dict.fromkeys(r.says() for r in (first, *rivals)))
        raise ReadingError(
            f"Several readings of {source.name} are equally good: {choices}.",
            f"Say which with posterior= and output= (--posterior {first.layout}, --output "
            f"{first.output}).",
            tuple(r.says() for r in tried),
        )
    return first


def _refuse_absurd(first: Reading, asked: Asked) -> None:
    low, high = first.spreads
    named = asked.spread() or first.opening.evidence
    if first.spread != "none" and not named and low >= 0 and high > LARGEST_STD:
        raise UsageError(
            f"The encoder's second output is between {low:.3g} and {high:.3g}: too large for "
            "standard deviations, and log variances would be below 0 for latents that know "
            "anything.",
            "Say what it is with posterior=, one of logvar, std, variance, logstd.",
        )


def _refuse_company(source: Source, first: Reading, x: Tensor, u: Tensor | None) -> None:
    """Codes of an example are its own: batch norm in training mode mixes them with the others'."""
    few = len(x) // 2
    if few < 2:
        return
    take = first.opening.candidate.take
    whole = take(first.way(x, u)).mean[:few]
    alone = take(first.way(x[:few], None if u is None else u[:few])).mean
    if alone.shape == whole.shape and (alone - whole).norm() > COMPANY * whole.norm():
        raise UsageError(
            f"{source.name} gives an image other codes where there are other images in its batch.",
            "Put it into evaluation mode, model.eval(), and pass the model itself rather than "
            "functions that hide it; batch norm then uses its running statistics.",
        )


def _readings(
    source: Source, opening: Opening, forward: Forward | None, x: Tensor, u: Tensor | None,
    asked: Asked, told: Range | None, came: Range, problems: list[str],
) -> list[Reading]:  # fmt: skip
    """An opening in every range, with every meaning of the output."""
    ranges = tuple(dict.fromkeys((came, *RANGES)))
    ranges = (told,) if told else ranges if images_of(x) else (UNIT,)
    found: list[Reading] = []
    shown: Shown | None = None
    for value_range in ranges:
        try:
            parts = opening.parts(x, u, value_range)
        except Exception as error:  # anybody's code
            problems.append(f"{opening.way.encoder[0]} in range {value_range}: {line_of(error)}")
            continue
        spread = opening.spread or _spread(parts)
        fault = _spread_fault(parts, spread, asked)
        if fault:
            problems.append(f"{opening.way.encoder[0]} {fault}")
            continue
        z = posterior_of(parts, spread).mean
        for decoder in _decoders(source, forward, opening):
            output, shape = _output(decoder, z, u, opening, x, problems)
            if output is None:
                continue
            if shown is None:
                fed = replace(opening.way, value_range=value_range).formed(x)
                shown = _shown(source, decoder, shape, z, u, parts, fed, x)
            options = _likelihoods(source, output, shown, x, asked, told, value_range, ranges)
            for likelihood, why in options:
                found.append(
                    _scored(opening, value_range, decoder, shape, parts, spread, likelihood, why,
                            output, x)
                )  # fmt: skip
            if not found:
                seen = _ends(output.values)
                problems.append(
                    f"output={asked.output} does not fit what {decoder[0]} gives, values from "
                    f"{seen[0]:.3g} to {seen[1]:.3g}; outputs may be {', '.join(OUTPUTS)}"
                )
            break
    return found


@dataclass(frozen=True)
class Shown:
    """What a model shows of its likelihood."""

    end: str  # sigmoid, tanh, or ""
    loss: str  # bernoulli, logits, squared-error, laplace, or ""
    why: str


def _shown(
    source: Source, decoder: tuple[str, Function], shape: tuple[int, ...], z: Tensor,
    u: Tensor | None, parts: Parts, fed: Tensor, x: Tensor,
) -> Shown:  # fmt: skip
    event = tuple(x.shape[1:])
    few = min(len(x), LOSSES)
    given = None if u is None else u[:few]

    def values(codes: Tensor) -> Tensor:
        return decoded(decoder[1](codes.reshape(len(codes), *shape), None if given is None else
                                  given[: len(codes)]), event).values  # fmt: skip

    generator = torch.Generator().manual_seed(0)
    outputs = []
    for _ in range(6):
        noise = torch.randn(z[:few].shape, generator=generator).to(z)
        raw = decoder[1]((z[:few] + noise).reshape(few, *shape), given)
        first = next((leaf for _, leaf in leaves(raw)), None)
        if first is None or first[0].numel() != x[0].numel():
            return Shown(ending(values, z), "", "")
        outputs.append(first)
    spread = None if parts.spread is None else parts.spread[:few]
    loss = shown_loss(source, fed[:few].to(outputs[0]), outputs, parts.mean[:few], spread)
    return Shown(ending(values, z), *(loss or ("", "")))


def _decoders(
    source: Source, forward: Forward | None, opening: Opening
) -> list[tuple[str, Function]]:
    own = list(source.decoders)
    if forward is not None and forward.entry is not None and opening.shape is not None:
        own.append(("forward from its latents on", forward.decode))
    return own


def _output(
    decoder: tuple[str, Function], z: Tensor, u: Tensor | None, opening: Opening, x: Tensor,
    problems: list[str],
) -> tuple[Decoded | None, tuple[int, ...]]:  # fmt: skip
    """What a decoder gives of latents in a shape that it takes."""
    event = tuple(x.shape[1:])
    d = z[0].numel()
    shapes = [tuple(z.shape[1:]), opening.shape, (d,), (d, 1, 1)]
    for shape in dict.fromkeys(s for s in shapes if s is not None):
        try:
            given = z.reshape(len(z), *shape)
            y, again = (decoded(decoder[1](given, u), event) for _ in range(2))
        except Exception as error:  # anybody's code
            problems.append(f"{decoder[0]} on shape {(len(z), *shape)}: {line_of(error)}")
            continue
        fault = _output_fault(y.values, again.values, len(x))
        if fault is None:
            return y, shape
        problems.append(f"{decoder[0]} gives {fault}")
    return None, ()


def _likelihoods(
    source: Source, output: Decoded, shown: Shown, x: Tensor, asked: Asked, told: Range | None,
    value_range: Range, ranges: Sequence[Range],
) -> list[tuple[Likelihood, str]]:  # fmt: skip
    """What an output may mean, and why."""
    if source.likelihood is not None and asked.output in (None, "own"):
        own = Likelihood("own", UNIT, value_range, "own", own=source.likelihood)
        return [(own, OUTPUTS["own"])]
    named = asked.likelihood if isinstance(asked.likelihood, str) else ""
    if output.levels is not None:
        k = output.levels.shape[-1]
        return [(Likelihood("own", UNIT, value_range, "categorical"), f"{k} levels of each pixel")]
    if output.distribution is not None and asked.output in (None, "own") and not named:
        family, number, words = family_of(output.distribution)
        spans = (told,) if told else ranges
        return [(Likelihood("own", span, value_range, family, number), f"decode returns {words}")
                for span in spans]  # fmt: skip
    found = []
    word, _, number = named.partition(":")
    loss = "bernoulli" if shown.loss == "logits" else shown.loss
    for meaning, span in _meanings(output, shown, x, asked, told, ranges, word):
        family = word or loss or ("squared-error" if meaning == "pixels" else "bernoulli")
        why = OUTPUTS[meaning] + (f"; {shown.why}" if loss and not word else "")
        if shown.end and asked.output is None:
            why += f"; the decoder ends in a {shown.end}"
        kind = None
        if output.spread is not None and family in ("gaussian", "squared-error") and not number:
            kind = _output_spread(output, span, x)
        if kind is not None:
            family, why = "gaussian", f"{why}; the second output is taken as its {kind}"
        scale = float(number) if number else None
        if family in ("gaussian", "laplace") and scale is None and kind is None and word:
            scale = _fitted(output.values, family, meaning, span, value_range, x)
        found.append((Likelihood(meaning, span, value_range, family, scale, kind), why))
    return found


def _meanings(
    output: Decoded, shown: Shown, x: Tensor, asked: Asked, told: Range | None,
    ranges: Sequence[Range], family: str,
) -> list[tuple[str, Range]]:  # fmt: skip
    """What an output may mean, as far as the model does not show it itself."""
    seen = _ends(output.values)
    options = list(meanings(seen, x, asked.output, told, ranges))
    if asked.output is not None:
        return options
    if shown.loss == "logits":
        return [("logits", UNIT)]
    if shown.end == "sigmoid" and ("probabilities", UNIT) in options:
        return [("probabilities", UNIT)]
    if shown.end == "tanh" and ("pixels", (-1.0, 1.0)) in options:
        return [("pixels", (-1.0, 1.0))]
    if family == "bernoulli":
        return [one for one in options if one[0] != "pixels"]
    if family or shown.loss in ("squared-error", "laplace"):
        return [one for one in options if one[0] != "logits"]
    return options


def _output_spread(output: Decoded, span: Range, x: Tensor) -> str | None:
    """What a second output is, by the likelihood of the images: None where it is none, but for
    example the logits of the first."""
    assert output.spread is not None
    low, high = span
    values, wanted = output.values.to(x), low + (high - low) * x
    if torch.allclose(output.spread.to(x).sigmoid(), values, atol=1e-4):
        return None
    nats = {}
    for kind in ("logvar", "std", "variance", "logstd"):
        variance = SPREADS[kind](output.spread.to(x))
        log_p = -0.5 * ((wanted - values).square() / variance + variance.log()).flatten(1).sum(1)
        if bool((variance > 0).all()) and bool(torch.isfinite(log_p).all()):
            nats[kind] = float(log_p.mean())
    return max(nats, key=nats.__getitem__, default=None)


def _fitted(y: Tensor, family: str, meaning: str, span: Range, units: Range, x: Tensor) -> float:
    """The variance or scale under which the images are likeliest, in the model's units."""
    size = units[1] - units[0]
    gap = size * (pixels(y.to(x), meaning, span) - x)
    return float(gap.abs().mean() if family == "laplace" else gap.square().mean())


def _scored(
    opening: Opening, value_range: Range, decoder: tuple[str, Function], shape: tuple[int, ...],
    parts: Parts, spread: str, likelihood: Likelihood, why: str, output: Decoded, x: Tensor,
) -> Reading:  # fmt: skip
    mean = pixels(output.values.to(x), likelihood.output, likelihood.output_range)
    if likelihood.own is not None:
        mean = likelihood.of_values(output.values).mean.to(x)
    error = _error(mean, x)
    squares = float((mean - x).square().mean().clamp_min(1e-12))
    distortion = 0.5 * x[0].numel() * float(torch.tensor(squares).log())
    return Reading(
        opening, value_range, decoder, shape, spread, likelihood, error,
        -distortion - _rate(parts, spread), _ends(output.values), _ends(parts.spread), why,
    )  # fmt: skip


def _rate(parts: Parts, spread: str) -> float:
    """KL to N(0, I), nats of an image; codes without noise have none."""
    if parts.spread is None:
        return 0.0
    q = posterior_of(parts, spread)
    m, v = q.mean.double(), q.variance.double().clamp_min(1e-30)
    rate = float(0.5 * (m.square() + v - 1 - v.log()).flatten(1).sum(1).mean())
    return rate if math.isfinite(rate) else math.inf


def _spread_fault(parts: Parts, spread: str, asked: Asked) -> str:
    if spread != "variance" and (spread != "std" or asked.spread() is not None):
        return ""
    assert parts.spread is not None
    if not bool((parts.spread < 0).any()):
        return ""
    return (
        f"returned a {spread} below 0: say posterior=logvar or posterior=logstd where it is a "
        "logarithm, posterior=std where its sign means nothing"
    )


def _output_fault(y: Tensor, again: Tensor, n: int) -> str | None:
    """Why these can be no means of n images; None where they can."""
    if len(y) != n:
        return f"{len(y)} outputs of {n} latents"
    if not torch.isfinite(y).all():
        return "values that are not finite"
    if not torch.allclose(y, again, rtol=1e-2, atol=1e-2 * float(y.std())):
        return "other values when called again, so these are samples; wanted their means"
    return None


def _ends(values: Tensor | None) -> Range:
    return (0.0, 0.0) if values is None else (float(values.min()), float(values.max()))


def _spread(parts: Parts) -> str:
    """Logarithms where values are below 0. Positive ones may still be log variances, of latents
    that know nothing: the reading is taken under which the aggregate posterior is nearer to
    N(0, 1), as training makes it."""
    if parts.spread is None:
        return "none"
    if float(parts.spread.min()) < 0:
        return "logvar"
    return min(("std", "logvar"), key=lambda kind: _misfit(parts, kind))


def _misfit(parts: Parts, kind: str) -> float:
    """KL(N(0, v) || N(0, 1)) summed over latents, v the aggregate posterior's second moment."""
    posterior = posterior_of(parts, kind)
    v = (posterior.mean.square() + posterior.variance).mean(0).double().clamp_min(1e-12)
    return float((0.5 * (v - 1 - v.log())).sum())


def _error(y: Tensor, x: Tensor) -> float:
    """Mean squared error, over that of the mean image: 1 is no better than knowing nothing."""
    constant = (x - x.mean(0)).square().mean()
    return float((y - x).square().mean() / constant.clamp_min(1e-12))
