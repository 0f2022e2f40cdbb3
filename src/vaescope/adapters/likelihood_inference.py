"""What a model shows of its likelihood: how its decoder ends, what it is called, what it loses."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from vaescope.adapters.asked import Asked
from vaescope.adapters.input_format import images_of
from vaescope.adapters.likelihoods import ModelLikelihood, family_of
from vaescope.adapters.losses import (
    DISTORTIONS,
    RATES,
    Call,
    Given,
    calls_of,
    counts,
    losses_of,
    named_losses,
    rates_of,
    scale_shown,
    terms_of,
)
from vaescope.adapters.output_format import (
    NEVER,
    OUTPUTS,
    UNIT,
    Decoded,
    Range,
    decoded,
    ends_of,
    error_of,
    event_of,
    meanings,
    pixels,
    values_first,
)
from vaescope.adapters.output_spread import output_spread
from vaescope.adapters.posterior_format import Parts, posterior_of
from vaescope.adapters.reading import CLEARLY, POOR, Reading
from vaescope.adapters.sources import Function, Source
from vaescope.adapters.tensors import leaves
from vaescope.adapters.whole_outputs import Whole, whole_of
from vaescope.errors import UnscoredError

__all__ = [
    "LOSSES", "StatedLikelihood", "assumption", "likelihoods", "of_counts", "shown_by",
]  # fmt: skip

#: Nodes of autograd that only move values.
_MOVES = re.compile(r"View|Reshape|Squeeze|Permute|Transpose|Clone|Expand|Copy|Slice|Select|Clamp")
#: Names under which classes keep which loss they have, and the words for it.
_SETTINGS = re.compile(r"recon\w*_?loss|rec_loss|loss_type|likelihood|recon_type|criterion|loss_fn")
_WORDS = {
    "mse": "squared-error", "l2": "squared-error", "gaussian": "squared-error",
    "normal": "squared-error", "squared": "squared-error",
    "bce": "bernoulli", "bernoulli": "bernoulli", "binary": "bernoulli",
    "l1": "laplace", "laplace": "laplace", "mae": "laplace",
}  # fmt: skip
_LAYERS: Mapping[type[nn.Module], str] = {
    nn.MSELoss: "squared-error", nn.BCELoss: "bernoulli", nn.BCEWithLogitsLoss: "bernoulli",
    nn.L1Loss: "laplace",
}  # fmt: skip
#: Images on which a model's own loss is called.
LOSSES = 16
#: Share of the variance of a loss that the right distortion leaves.
_UNEXPLAINED = 1e-4


@dataclass(frozen=True)
class StatedLikelihood:
    """What a model shows of its likelihood."""

    end: str  # sigmoid, tanh, or ""
    loss: str  # bernoulli, logits, squared-error, laplace, or ""
    why: str
    scale: float | None = None  # variance of a Gaussian, scale of a Laplace, where it has a density
    unexplained: str = ""  # a loss that changes with the output and is none of the known ones


#: A family, where it is shown, and its scale.
Shown = tuple[str, str, float | None]


def shown_by(
    source: Source, decoder: tuple[str, Function], shape: tuple[int, ...], z: Tensor,
    u: Tensor | None, parts: Parts, spread: str, fed: Tensor, x: Tensor, kind: str | None,
) -> StatedLikelihood:  # fmt: skip
    event = event_of(x, kind)
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
        first = next((leaf for _, leaf in leaves(raw) if leaf.ndim > 1), None)
        if first is None or first[0].numel() != x[0].numel():
            return StatedLikelihood(_ending(values, z), "", "")
        outputs.append(first)
    first_few = Parts(parts.mean[:few], None if parts.spread is None else parts.spread[:few])
    rates: tuple[float, ...] = ()
    if first_few.spread is not None:
        q = posterior_of(first_few, spread)
        rates = rates_of(q.mean, q.variance)
    own = fed[:few].to(outputs[0])
    others: list[str] = []
    loss = _passed_loss(source, own, given, outputs, decoder[1], rates, others)
    if loss is None:
        raw = decoder[1](z[:few].reshape(few, *shape), given)
        y = next(leaf for _, leaf in leaves(raw) if leaf.ndim > 1)
        whole = None
        if source.forwards and isinstance(source.model, nn.Module):
            whole = whole_of(source.forwards[0], source.model, own, given, y, first_few)
        loss = _shown_loss(source, own, outputs, first_few, rates, others, whole)
    if loss is None:
        return StatedLikelihood(_ending(values, z), "", "", unexplained=", ".join(others[:1]))
    return StatedLikelihood(_ending(values, z), *loss)


def likelihoods(
    source: Source, output: Decoded, shown: StatedLikelihood, x: Tensor, asked: Asked,
    told: Range | None, value_range: Range, ranges: Sequence[Range],
) -> list[tuple[ModelLikelihood, str]]:  # fmt: skip
    """What an output may mean, and why."""
    if source.likelihood is not None and asked.output in (None, "own"):
        own = ModelLikelihood("own", UNIT, value_range, "own", own=source.likelihood)
        return [(own, OUTPUTS["own"])]
    named = asked.likelihood if isinstance(asked.likelihood, str) else ""
    if output.tokens:
        k = output.values.shape[-1]
        return [(ModelLikelihood("own", UNIT, value_range, "tokens"), f"logits of {k} tokens")]
    if output.levels is not None:
        k = int((output.levels.flatten(0, -2).amax(0) > NEVER / 2).sum())
        return [
            (ModelLikelihood("own", UNIT, value_range, "categorical"), f"{k} levels of each pixel")
        ]
    if output.distribution is not None and asked.output in (None, "own") and not named:
        near, held, words = family_of(output.distribution)
        spans = (told,) if told else ranges
        why = f"{words}; {shown.why}" if shown.loss in RATES else f"decode returns {words}"
        why = f"{words}, as given" if source.told_likelihood else why
        return [(ModelLikelihood("own", span, value_range, near, held), why) for span in spans]
    found = []
    word, _, number = named.partition(":")
    loss = "bernoulli" if shown.loss == "logits" else shown.loss
    for meaning, span in _meanings(output, shown, x, asked, told, ranges, word):
        family = word or loss or ("squared-error" if meaning == "pixels" else "bernoulli")
        why = OUTPUTS[meaning] + (f"; {shown.why}" if loss and not word else "")
        if shown.end and asked.output is None:
            why += f"; the decoder ends in a {shown.end}"
        kind = None
        if output.spread is not None and word in ("", "gaussian") and not (number or loss):
            kind = output_spread(output, span, x, told=bool(word))
        if kind is not None:
            family, why = "gaussian", f"{why}; the second output is taken as its {kind}"
        scale = float(number) if number else None
        if family == "multinomial":
            scale = float(x.flatten(1).sum(1).mean())
        if not word and family == loss and scale is None and shown.scale is not None:
            scale, family = shown.scale, "laplace" if family == "laplace" else "gaussian"
        if family in ("gaussian", "laplace") and scale is None and kind is None and word:
            scale = _fitted(output.values, family, meaning, span, value_range, x)
        found.append((ModelLikelihood(meaning, span, value_range, family, scale, kind), why))
    return found


def assumption(likelihood: ModelLikelihood, shown: StatedLikelihood, asked: Asked) -> str:
    """Why a likelihood is assumed; empty where the model or the user says it whole."""
    if asked.likelihood is not None or likelihood.output == "own":
        return ""
    if likelihood.spread is not None:
        spread = "its decoder's second output is taken as the spread of a Gaussian"
        return f"assumed, since the model shows no loss; {spread}"
    half = likelihood.family == "squared-error" and likelihood.number is None
    if not shown.loss:
        end = "; as a Gaussian its variance is 1/2 in the model's units" if half else ""
        if shown.unexplained:
            return f"assumed, since its {shown.unexplained} is none of the losses known here{end}"
        return f"assumed, since the model shows no loss{end}"
    if half:
        return "its loss shows no scale, so a variance of 1/2 is assumed"
    return ""


def _meanings(
    output: Decoded, shown: StatedLikelihood, x: Tensor, asked: Asked, told: Range | None,
    ranges: Sequence[Range], family: str,
) -> list[tuple[str, Range]]:  # fmt: skip
    """What an output may mean, as far as the model does not show it itself."""
    seen = ends_of(output.values)
    images = images_of(x, asked.kind)
    values = values_first(x, asked.kind)
    options = list(meanings(seen, x, asked.output, told, ranges, images=images, values=values))
    if asked.output is not None:
        return options
    if "multinomial" in (family, shown.loss):
        return [("probabilities" if _are_shares(output.values) else "logits", UNIT)]
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


def _are_shares(values: Tensor) -> bool:
    """Whether the values of each example are shares of one."""
    sums = values.flatten(1).sum(1)
    return float(values.min()) >= 0 and torch.allclose(sums, torch.ones_like(sums), atol=1e-3)


def _fitted(y: Tensor, family: str, meaning: str, span: Range, units: Range, x: Tensor) -> float:
    """The variance or scale under which the images are likeliest, in the model's units."""
    size = units[1] - units[0]
    gap = size * (pixels(y.to(x), meaning, span) - x)
    return float(gap.abs().mean() if family == "laplace" else gap.square().mean())


def _ending(decode: Callable[[Tensor], Tensor], z: Tensor) -> str:
    """The function that a decoder ends in: "sigmoid", "tanh", or "" where it is another one."""
    try:
        with torch.enable_grad():
            node = decode(z[:2].detach().requires_grad_()).grad_fn
    except Exception:  # anybody's code
        return ""
    while node is not None and _MOVES.search(node.name()):
        node = node.next_functions[0][0] if node.next_functions else None
    name = "" if node is None else node.name()
    return "sigmoid" if "Sigmoid" in name else "tanh" if "Tanh" in name else ""


def _shown_loss(
    source: Source, x: Tensor, outputs: Sequence[Tensor], parts: Parts, rates: Sequence[float],
    others: list[str], whole: Whole | None,
) -> Shown | None:  # fmt: skip
    """The distortion that the model's own loss has, and where it is shown: "bernoulli", "logits"
    (of which a Bernoulli), "squared-error" or "laplace".

    `outputs` are several that a decoder gave, in its own shape, for the images `x` as they go in.
    The loss is called with each in turn: what changes with them is the distortion, times a number.
    Losses that change with them in another way are added to `others`.
    """
    mean, spread = parts.mean, parts.spread
    spread = torch.zeros_like(mean) if spread is None else spread
    for name, loss in named_losses(source.model):
        for call in calls_of(loss):
            given = Given(x=x, mean=mean, spread=spread, whole=whole)
            found, changes = _explained(partial(_called, call, given), x, outputs, rates)
            if found is not None:
                family, scale = found
                return family, f"its {name} has this distortion{_in_words(family, scale)}", scale
            others += [name] if changes else []
    return _settings(source)


def _called(call: Call, given: Given, y: Tensor) -> Any:
    return call(y, given)


def _passed_loss(
    source: Source, x: Tensor, u: Tensor | None, outputs: Sequence[Tensor], decode: Function,
    rates: Sequence[float], others: list[str],
) -> Shown | None:  # fmt: skip
    """The distortion in the numbers that a whole pass returns, such as a training step."""
    for name, call in source.losses:
        losses = losses_of(call, source.model, x, u, decode)
        if losses is None:
            continue
        found, changes = _explained(losses, x, outputs, rates)
        if found is not None:
            family, scale = found
            shown = "its loss" if name == "loss" else f"the loss of its {name}"
            return family, f"{shown} has this distortion{_in_words(family, scale)}", scale
        others += [name] if changes else []
    return None


def _in_words(family: str, scale: float | None) -> str:
    if scale is None:
        return ""
    return f", of {'variance' if family == 'squared-error' else 'scale'} {scale:.3g}"


def _explained(
    call: Callable[[Tensor], Any], x: Tensor, outputs: Sequence[Tensor], rates: Sequence[float]
) -> tuple[tuple[str, float | None] | None, bool]:
    """The distortion with which a loss changes, and its scale where it has a density's constant;
    and whether it changes at all."""
    terms = terms_of(call, outputs)
    if terms is None:
        return None, False
    changes = any(float(values.std()) > 1e-6 * float(values.abs().mean()) for values in terms)
    best: dict[str, float] = {}
    scales: dict[str, float] = {}
    for family, distortion in DISTORTIONS.items():
        each = torch.stack([distortion(y, x.reshape(y.shape)).double() for y in outputs])
        if not torch.isfinite(each).all() or float(each.std()) == 0:
            continue
        for losses in terms:
            if torch.isfinite(losses).all() and float(losses.std()) > 0:
                unexplained = 1.0 - float(torch.corrcoef(torch.stack([losses, each]))[0, 1])
                best[family] = min(best.get(family, 2.0), unexplained)
                if unexplained < _UNEXPLAINED and family not in scales:
                    scale = scale_shown(family, losses, each, x.numel(), x[0].numel(), rates)
                    scales |= {} if scale is None else {family: scale}
    nearest = min(best, key=best.__getitem__, default=None)
    if nearest is None or best[nearest] >= _UNEXPLAINED:
        return None, changes
    return (nearest, scales.get(nearest)), changes


def _settings(source: Source) -> Shown | None:
    """What a configuration or an attribute calls the loss."""
    model = source.model
    owners = [("", model)] + [
        (f"{name}.", getattr(model, name, None)) for name in ("config", "model_config", "hparams")
    ]
    for prefix, owner in owners:
        held = owner if isinstance(owner, Mapping) else getattr(owner, "__dict__", {})
        parts = {**held, **(dict(owner.named_children()) if isinstance(owner, nn.Module) else {})}
        for name, value in parts.items():
            if not isinstance(name, str) or not _SETTINGS.search(name.lower()):
                continue
            word = str(value).lower() if isinstance(value, str) else ""
            family = next((f for key, f in _WORDS.items() if key in word), None)
            family = family or _LAYERS.get(type(value))
            if family is not None:
                return family, f"its {prefix}{name} is {word or type(value).__name__}", None
    return None


def of_counts(source: Source, first: Reading, x: Tensor, u: Tensor | None, asked: Asked) -> Reading:
    """Counts may have a softmax over all values of a row, whose logits mean nothing one by one."""
    if asked.kind != "signals" or first.stated or first.output == "own" or not counts(x):
        return first
    if first.unexplained:
        return first  # its loss was compared with that of a softmax too
    z = first.opening.candidate.take(first.way(x, u)).mean
    output = decoded(first.decoder[1](z.reshape(len(z), *first.shape), u), event_of(x, asked.kind))
    options = likelihoods(source, output, StatedLikelihood("", "multinomial", ""), x,
                          Asked(kind=asked.kind), None, UNIT, (UNIT,))  # fmt: skip
    shares = options[0][0]
    error = error_of(shares.of_values(output.values).mean, x)
    if error < CLEARLY * min(1.0, first.error):
        why = (f"shares of a softmax: as such its error is {error:.3g} times that of a constant, "
               f"as {OUTPUTS[first.output]} {first.error:.3g}")  # fmt: skip
        return replace(first, likelihood=shares, error=error, why_output=why, assumed="")
    if first.error > POOR and error < first.error:
        raise UnscoredError(
            f"{source.name} reconstructs these counts poorly as {OUTPUTS[first.output]}, with "
            f"{first.error:.3g} times the error of a constant, and as shares of a softmax, "
            f"{error:.3g}.",
            f"State what its outputs are: likelihood=multinomial or {first.likelihood.family}.",
        )
    return first
