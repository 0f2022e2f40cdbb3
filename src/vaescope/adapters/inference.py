"""Which interpretation of a model is right.

A reading says in which range images go in, where mean and spread are in the encoder's output, and
what the decoder's output means. What the model says or shows itself settles what it can; for the
rest readings are compared by the ELBO of some images, and the range that the images came in is left
only for one that is far better. Where two do about equally well, none is taken: the error lays
them out.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.arguments import of_function, parameters_of
from vaescope.adapters.asked import Asked
from vaescope.adapters.batch_inference import with_batches_that_work
from vaescope.adapters.channel_order import refuse_order
from vaescope.adapters.decoders import (
    FROM_LATENTS,
    decoders_of,
    goes_on,
    levels_told,
    output_of,
    refuse_change,
    refuse_detour,
    refuse_several,
    refuse_skip,
    vocabulary_told,
)
from vaescope.adapters.draws import Forward
from vaescope.adapters.input_format import images_of
from vaescope.adapters.likelihood_inference import (
    StatedLikelihood,
    assumption,
    likelihoods,
    of_counts,
    shown_by,
)
from vaescope.adapters.likelihoods import ModelLikelihood
from vaescope.adapters.losses import RATES
from vaescope.adapters.output_format import (
    OUTPUTS,
    RANGES,
    UNIT,
    Decoded,
    Range,
    ends_of,
    error_of,
    pixels,
    unexplained,
    values_first,
)
from vaescope.adapters.output_spread import refuse_outputs
from vaescope.adapters.posterior_format import Parts, posterior_of
from vaescope.adapters.posterior_inference import Opening, line_of, openings
from vaescope.adapters.reading import CLEARLY, POOR, Reading, refuse_absurd, refuse_company
from vaescope.adapters.sources import Function, Source
from vaescope.adapters.spread_inference import with_spread
from vaescope.errors import ReadingError, UnreadableError, UsageError

__all__ = ["choose"]

#: Errors within this ratio are equal: a wrong reading is worse by far more on a trained model.
EQUAL = 1.02
EQUAL_IF_POOR = 1.5
#: Nats per image by which another range must be better than the one that the images came in.
FAR = 3.0
_CONDITION = (
    "If these are labels or the like, pass condition= with a row for each example; else pass "
    "encode= and decode= as functions that need nothing but images and latents."
)
_LOSSES = "squared error, absolute error and cross-entropy"


def choose(
    source: Source, x: Tensor, u: Tensor | None, asked: Asked, came: Range
) -> tuple[Reading, int]:
    """The best reading on the images `x`, and how many were tried.

    `came` is the range in which the images came. Raises ReadingError where none works, or where
    two are about equally good.
    """
    asked.check()
    source, x, u = with_batches_that_work(source, x, u, asked.kind)
    problems: list[str] = []
    # Signals go in as they are, whatever a library says of its images.
    told = asked.value_range or (source.range if images_of(x, asked.kind) else None)
    default = told or came
    made = RATES.get(str(asked.likelihood), asked.likelihood)
    if callable(made):
        source, asked = _with_likelihood(source, made), replace(asked, likelihood=None)
    opened, forward = openings(source, x, u, asked, default, problems)
    if asked.layout() != "drawn":
        refuse_change(source, forward)
    tried: list[Reading] = []
    chosen: list[Reading] = []
    for opening in opened:
        if any(r.spread != "none" and r.way.encoder != opening.way.encoder for r in chosen):
            break  # encode before encoder: the model's own word for it
        here = _readings(source, opening, forward, x, u, asked, told, came, problems)
        tried += here
        if here:
            chosen.append(_in_range(here, default, values_first(x, asked.kind)))
    if not chosen:
        missing = next((w for w, has in (("encode", source.encoders), ("decode", source.decoders))
                        if not has), None)  # fmt: skip
        if missing is not None:
            raise UnreadableError(
                f"{source.name} has neither {missing} nor {missing}r, and its forward does not "
                "show latents.",
                f"Pass {missing}= as a function of a batch of tensors.",
                tuple(dict.fromkeys(problems)),
            )
        refuse_several(source, problems)
        shape = ", ".join(map(str, x.shape[1:]))
        raise UnreadableError(
            f"No interpretation of {source.name} works on data of shape {tuple(x.shape[1:])}: "
            + _brief(problems) + ".",
            _CONDITION if u is None and _takes_more(source, problems)
            else "No argument that was tried helps. Pass data of its training size, or encode=, "
            f"a function of (n, {shape}) that returns Normal(mean, std), and decode= of (n, d).",
            tuple(dict.fromkeys(problems)),
        )  # fmt: skip
    first = _in_layout(source, chosen, tried)
    refuse_absurd(first, asked)
    if first.spread == "none" and source.forwards and forward is None and not asked.posterior:
        raise ReadingError(
            f"{source.name} returns no spread, and its forward fails, so it is unknown "
            "whether it draws latents, and which.",
            "If its codes have no noise, pass posterior=mean; else encode= and decode= as "
            "functions that return Normal(mean, std) of torch and an image.",
        )
    if first.spread == "none" and forward is not None and not asked.posterior:
        refuse_detour(source, first.decoder[1], _means(first), first.shape, forward)
    if forward is not None:
        refuse_skip(source, first.decoder, forward)
        if goes_on(source, first.decoder, forward):
            with suppress(UsageError):
                whole, count = choose(replace(source, decoders=()), x, u, asked, came)
                if whole.error < CLEARLY * first.error:
                    return whole, count
    refuse_order(source, first, x, u, asked.kind)
    refuse_company(source, first, x, u)
    if first.unsaid:
        refuse_outputs(source.name, first.unsaid)
    first = of_counts(source, first, x, u, asked)
    return with_spread(source, first, x, u, asked.kind), len(tried)


def _means(first: Reading) -> Function:
    """Codes of examples that are in the form and the range that the encoder takes."""
    return lambda x, u: first.opening.candidate.take(first.way.encoder[1](x, u)).mean


def _takes_more(source: Source, problems: list[str]) -> bool:
    """Whether an encoder or decoder may want labels beside images or latents."""
    own = [function for _, function in (*source.encoders, *source.decoders)]
    return any("required positional" in problem for problem in problems) or any(
        len(parameters_of(getattr(function, "__wrapped__", function)) or ()) > 1 for function in own
    )


def _with_likelihood(source: Source, likelihood: Callable[[Any], Any]) -> Source:
    """Decoders that give the distributions that the user's function makes of their outputs."""

    decoders = tuple((name, _after(decode, likelihood)) for name, decode in source.decoders)
    return replace(source, decoders=decoders, told_likelihood=True)


def _after(decode: Function, likelihood: Callable[[Any], Any]) -> Function:
    def decode_to_distribution(z: Tensor, u: Tensor | None = None) -> Any:
        return likelihood(decode(z, u))

    return of_function(decode_to_distribution, decode)


def _in_range(tried: list[Reading], default: Range, values: bool) -> Reading:
    """Of the readings of one opening, the best in the default range, or one that is far better.

    In and out are in the same range nearly always: where the outputs are clearly in another range
    than the images came in, that range is the default.
    """
    at_home = [r for r in tried if r.value_range == default] or tried
    home = _best_output(at_home, default, values)
    out = home.likelihood.output_range
    if out != default and home.output == "pixels":
        same = [r for r in tried if r.value_range == out and r.likelihood.output_range == out]
        if same and _gain(home, same[0]) < FAR:
            home = same[0]
    rivals = [r for r in tried if r.value_range != home.value_range]
    best = max(rivals, key=lambda r: r.elbo_nats, default=None)
    if best is None:
        return home
    gain = _gain(best, home)
    if gain < FAR or best.error > CLEARLY * min(1.0, home.error):
        # Images outside its range may excite a collapsed model, and that may even help.
        return replace(home, margin=-gain)
    return replace(best, margin=gain)


def _gain(one: Reading, other: Reading) -> float:
    """Nats of an image by which a reading is better: by the model's own ELBO where its scale is
    known. A squared error has none, so that the best Gaussian around the image is taken."""
    both = one.likelihood, other.likelihood
    if all(p.exact for p in both) and both[0].output == both[1].output:
        return one.own_elbo_nats - other.own_elbo_nats
    return one.elbo_nats - other.elbo_nats


def _best_output(tried: list[Reading], default: Range, values: bool) -> Reading:
    """What the output means, with the images in one range: the first meaning, unless another one
    is clearly better and no worse than the mean image; `values` come first for signals."""
    first = next((r for r in tried if r.likelihood.output_range == default), tried[0])
    first = min(
        (r for r in tried if r.likelihood.output_range == first.likelihood.output_range),
        key=lambda r: r.error,
    )
    if values:
        first = next((r for r in tried if r.output == "pixels"), first)
    best = min(tried, key=lambda r: r.error)
    if best.error <= POOR and best.elbo_nats - first.elbo_nats > FAR:
        return best
    return first


def _brief(problems: list[str], *, width: int = 160) -> str:
    """The first, cut short, and others that differ in what went wrong while there is room: `.tried`
    has all of them whole."""
    by_fault: dict[str, str] = {}
    for problem in problems:
        by_fault.setdefault(problem.partition(": ")[2] or problem, problem.rstrip("."))
    first, *others = by_fault.values()
    said = first if len(first) <= width else f"{first[:width].rstrip()} (cut)"
    for other in others:
        if len(said) + len(other) <= width:
            said += f"; {other}"
    return said


def _in_layout(source: Source, chosen: list[Reading], tried: list[Reading]) -> Reading:
    best = min(chosen, key=lambda reading: reading.error)
    poor = best.error > POOR
    # Nearly everybody returns the mean first: the other order must be the only one that works.
    usual = [r for r in chosen if r.layout != "reversed"]
    if usual and (poor or min(r.error for r in usual) <= EQUAL * best.error):
        chosen, best = usual, min(usual, key=lambda reading: reading.error)
    equal = [r for r in chosen if r.error <= (EQUAL_IF_POOR if poor else EQUAL) * best.error]
    # encode() that gives means and encoder() that gives spreads too: one model, the latter whole.
    equal = [r for r in equal if r.spread != "none"] or equal
    if not equal:  # comparisons with NaN are false
        raise UnreadableError(
            f"Reconstructions of {source.name} are not finite on data of this scale.",
            "Pass data on the scale that it was trained on.",
            tuple(r.says() for r in tried),
        )
    first = equal[0]
    rivals = [r for r in equal if r.layout != first.layout]
    if rivals:
        choices = "; ".join(list(dict.fromkeys(r.says() for r in (first, *rivals)))[:2])
        raise ReadingError(
            f"Several interpretations of {source.name} fit equally well: {choices}.",
            f"Choose one with posterior= and output= (--posterior {first.layout}, --output "
            f"{first.output}); if neither is right, pass encode= as a function that returns "
            "Normal(mean, "
            "std) of torch.",
            tuple(r.says() for r in tried),
        )
    return first


def _readings(
    source: Source, opening: Opening, forward: Forward | None, x: Tensor, u: Tensor | None,
    asked: Asked, told: Range | None, came: Range, problems: list[str],
) -> list[Reading]:  # fmt: skip
    """An opening in every range, with every meaning of the output."""
    ranges = tuple(dict.fromkeys((came, *RANGES)))
    ranges = (told,) if told else ranges if images_of(x, asked.kind) else (UNIT,)
    found: list[Reading] = []
    shown: StatedLikelihood | None = None
    for value_range in ranges:
        try:
            parts = opening.parts(x, u, value_range)
        except Exception as error:  # anybody's code
            problems.append(f"{opening.way.encoder[0]} in range {value_range}: {line_of(error)}")
            continue
        spread = opening.spread or _spread(parts)
        fault = "" if opening.shows else _spread_fault(parts, spread, asked)
        if fault:
            problems.append(f"{opening.way.encoder[0]} {fault}")
            continue
        z = posterior_of(parts, spread).mean
        for decoder in decoders_of(source, forward, opening):
            output, shape = output_of(decoder, z, u, opening, forward, x, asked.kind, problems)
            if output is None:
                continue
            told_decoder = decoder
            if output.tokens:
                told_decoder = vocabulary_told(decoder, z, u, shape, x, opening)
            elif output.levels is not None:
                told_decoder = levels_told(decoder, output.levels.shape[-1], x)
                if told_decoder is not decoder and told is None and value_range != RANGES[-1]:
                    continue  # numbers of levels go in as they are
            if told_decoder is not decoder:
                decoder = told_decoder  # noqa: PLW2901
                output, _ = output_of(decoder, z, u, opening, forward, x, asked.kind, problems)
                assert output is not None
            if shown is None:
                fed = replace(opening.way, value_range=value_range).formed(x)
                shown = shown_by(source, decoder, shape, z, u, parts, spread, fed, x, asked.kind)
            if shown.loss in RATES and output.distribution is None:
                decoder = (decoder[0], _after(decoder[1], RATES[shown.loss]))  # noqa: PLW2901
                output, _ = output_of(decoder, z, u, opening, forward, x, asked.kind, problems)
                assert output is not None
            part_only = decoder[0] == FROM_LATENTS and forward is not None and forward.imageless
            if part_only and not (shown.loss or asked.output or asked.likelihood):
                # Something may follow on that part before the loss.
                problems.append(
                    f"{source.name} returns a loss that is none of {_LOSSES} of its decoder's "
                    "output: state what that output is with output="
                )
                continue
            options = likelihoods(source, output, shown, x, asked, told, value_range, ranges)
            for likelihood, why in options:
                found.append(
                    replace(_scored(opening, value_range, decoder, shape, parts, spread, likelihood,
                                    why, output, x),
                            stated=bool(shown.loss or asked.output or asked.likelihood),
                            assumed=assumption(likelihood, shown, asked),
                            unexplained=bool(shown.unexplained),
                            unsaid=() if shown.loss or asked.likelihood or likelihood.spread
                            else unexplained(output, x))
                )  # fmt: skip
            if not found:
                seen = ends_of(output.values)
                problems.append(
                    f"output={asked.output} does not fit what {decoder[0]} gives, values from "
                    f"{seen[0]:.3g} to {seen[1]:.3g}; outputs may be {', '.join(OUTPUTS)}"
                )
            break
    return found


def _scored(
    opening: Opening, value_range: Range, decoder: tuple[str, Function], shape: tuple[int, ...],
    parts: Parts, spread: str, likelihood: ModelLikelihood, why: str, output: Decoded, x: Tensor,
) -> Reading:  # fmt: skip
    mean = pixels(output.values.to(x), likelihood.output, likelihood.output_range)
    if likelihood.own is not None or likelihood.family == "multinomial":
        mean = likelihood.of_values(output.values).mean.to(x)
    if output.tokens:
        mean = output.values.exp()
    error = error_of(mean, x)
    constant = float((x - x.mean(0)).square().mean().clamp_min(1e-12))
    squares = max(error * constant, 1e-12)
    distortion = 0.5 * x[0].numel() * float(torch.tensor(squares).log())
    nats = -likelihood.of(output).log_prob(x.to(output.values)).double().mean()
    rate = _rate(parts, spread)
    return Reading(
        opening, value_range, decoder, shape, spread, likelihood, error, -float(nats) - rate,
        -distortion - rate, ends_of(output.values), ends_of(parts.spread), why,
    )  # fmt: skip


def _rate(parts: Parts, spread: str) -> float:
    """KL to N(0, I), nats per image; codes without noise have none."""
    if parts.spread is None:
        return 0.0
    q = posterior_of(parts, spread)
    m, v = q.mean.double(), q.variance.double().clamp_min(1e-30)
    rate = float(0.5 * (m.square() + v - 1 - v.log()).flatten(1).sum(1).mean())
    return rate if math.isfinite(rate) else math.inf


def _spread_fault(parts: Parts, spread: str, asked: Asked) -> str:
    positive = ("variance", "precision")
    if spread not in positive and (spread != "std" or asked.spread() is not None):
        return ""
    assert parts.spread is not None
    if not bool((parts.spread < 0).any()):
        return ""
    return (
        f"returned a {spread} below 0: pass posterior=logvar or posterior=logstd if it is a "
        "logarithm, posterior=std if its sign has no meaning"
    )


def _spread(parts: Parts) -> str:
    """For a start: log variances where values are below 0, or where these are nearer to N(0, 1)."""
    if parts.spread is None:
        return "none"
    negative = float(parts.spread.min()) < 0
    return "logvar" if negative else min(("std", "logvar"), key=lambda kind: _rate(parts, kind))
