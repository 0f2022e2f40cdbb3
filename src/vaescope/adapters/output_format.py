"""What decoders of other libraries return, taken apart, and what it may mean."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributions
from torch.nn import functional

from vaescope.adapters.posterior_format import kind_named
from vaescope.adapters.tensors import leaves
from vaescope.errors import ShapeError, UsageError

__all__ = [
    "LIKELIHOODS",
    "NEVER",
    "OUTPUTS",
    "RANGES",
    "UNIT",
    "Decoded",
    "Range",
    "decoded",
    "ends_of",
    "error_of",
    "event_of",
    "logits_of",
    "meanings",
    "pixels",
    "shaped",
    "unexplained",
    "values_first",
    "vocabulary_last",
]

Range = tuple[float, float]
UNIT: Range = (0.0, 1.0)
#: Ranges that images are kept in, the commonest first.
RANGES: tuple[Range, ...] = (UNIT, (-1.0, 1.0), (0.0, 255.0))

#: What a decoder's output may be -> what it means, in words.
OUTPUTS = {
    "probabilities": "means in [0, 1]",
    "logits": "logits of means in [0, 1]",
    "pixels": "values in the range of the data",
    "own": "what the model's own likelihood makes of it",
}
#: Families of likelihoods that can be named.
LIKELIHOODS = (
    "bernoulli", "gaussian", "squared-error", "laplace", "categorical", "multinomial",
    "poisson", "log-poisson",
)  # fmt: skip

#: The logit of a level that a decoder does not have.
NEVER = -1e9
#: Quantiles by which the mean of a transformed distribution is taken.
QUANTILES = 64

#: Under which names outputs hold images.
_NAMES = ("reconstruction", "sample", "recon", "recon_x", "x_hat", "x_recon", "mean", "logits")


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a decoder gave, in the shape of the data."""

    values: Tensor
    distribution: distributions.Distribution | None = None
    spread: Tensor | None = None  # a second output for each pixel
    kind: str | None = None  # what that is by its name
    #: Outputs for each pixel beside the first that are not its spread, by name or number.
    beside: tuple[str, ...] = ()
    levels: Tensor | None = None  # logits of each level of a pixel, levels last
    tokens: bool = False  # values are log-probabilities of tokens, the vocabulary last


#: The size of a vocabulary in the shape of tokens: the decoder tells it.
VOCABULARY = -1


def event_of(x: Tensor, kind: str | None) -> tuple[int, ...]:
    """The shape of one example as decoders give it: tokens have one more axis."""
    shape = tuple(x.shape[1:])
    return (*shape, VOCABULARY) if kind == "tokens" else shape


def error_of(mean: Tensor, x: Tensor, counted: Tensor | None = None) -> float:
    """Mean squared error, over that of the mean of all examples: 1 is no better than knowing
    nothing. Of tokens, the error of their probabilities; of what is `counted` only."""
    target = functional.one_hot(x.long(), mean.shape[-1]).to(mean) if mean.ndim > x.ndim else x
    weight = torch.ones_like(target)
    if counted is not None:
        weight *= counted.reshape(*counted.shape, *(1,) * (target.ndim - counted.ndim))
    known = weight.sum(0).clamp_min(1)
    constant = (weight * (target - (weight * target).sum(0) / known).square()).mean()
    return float((weight * (mean - target).square()).mean() / constant.clamp_min(1e-12))


def decoded(output: Any, event: tuple[int, ...]) -> Decoded:
    """The images in what `decode` returned. Raises ShapeError where their size is another."""
    if isinstance(output, distributions.Distribution):
        return _of_distribution(output, event)
    if isinstance(output, tuple | list) and output:
        names = getattr(output, "_fields", range(len(output)))
        return _first_of({(name,): part for name, part in zip(names, output, strict=True)}, event)
    if isinstance(output, Tensor):
        return _of_tensor(output, event)
    name = _named(output, _NAMES)
    parts: dict[tuple[Any, ...], Any] = dict(leaves(output))
    if name is not None:
        first = output[name] if isinstance(output, Mapping) else getattr(output, name)
        named = {path: part for path, part in parts.items() if _kind(path) is not None}
        return _first_of({(name,): first, **named}, event)
    if parts:
        return _first_of(parts, event)
    raise UsageError(
        f"decode returned {type(output).__name__}; wanted a tensor of shape "
        f"(batch, {', '.join(map(str, event))}).",
        "Pass decode= as a function that returns that tensor.",
    )


def _named(output: Any, names: Sequence[str]) -> str | None:
    held = output if isinstance(output, Mapping) else _Attributes(output)
    kinds = (Tensor, distributions.Distribution)
    return next((name for name in names if isinstance(held.get(name), kinds)), None)


@dataclass(frozen=True)
class _Attributes:
    owner: Any

    def get(self, name: str) -> Any:
        return getattr(self.owner, name, None)


def _kind(path: tuple[Any, ...]) -> str | None:
    """What a spread is by the last name on the way to it."""
    return kind_named(path[-1]) if isinstance(path[-1], str) else None


def _first_of(parts: Mapping[tuple[Any, ...], Any], event: tuple[int, ...]) -> Decoded:
    """The first of several that has the size of the data; one of the same size right behind it may
    be what its distribution has for a spread, unless it is called something else or there are
    more."""
    fitting: dict[tuple[Any, ...], Decoded] = {}
    problem: Exception | None = None
    for path, part in parts.items():
        try:
            fitting[path] = decoded(part, event)
        except (ShapeError, UsageError) as error:
            problem = problem or error
            if fitting:
                break
    if not fitting:
        assert problem is not None
        raise problem
    first, *rest = fitting.values()
    if not rest or first.distribution is not None or first.levels is not None:
        return first
    _, second, *more = fitting
    kind = _kind(second)
    if more or (isinstance(second[-1], str) and kind is None):
        return Decoded(first.values, beside=tuple(map(_worded, (second, *more))))
    return Decoded(first.values, spread=rest[0].values, kind=kind)


def _worded(path: tuple[Any, ...]) -> str:
    return path[-1] if isinstance(path[-1], str) else f"output {path[-1] + 1}"


def _of_distribution(output: distributions.Distribution, event: tuple[int, ...]) -> Decoded:
    base = output
    while isinstance(base, distributions.Independent):
        base = base.base_dist
    if isinstance(base, distributions.Categorical):
        return _of_tensor(base.logits, event, last=True)
    if event and event[-1] == VOCABULARY:
        raise ShapeError(
            f"decode returned a {type(base).__name__}; tokens have a Categorical.",
            "Pass decode= as a function that returns logits of shape (n, t, vocabulary).",
        )
    return Decoded(shaped(_mean(output), event), output)


def _mean(output: distributions.Distribution) -> Tensor:
    """The mean of a distribution of torch; of one that is transformed value by value, by the
    quantiles of what it is made of (Gauss-Legendre)."""
    try:
        mean: Tensor = output.mean
    except NotImplementedError:
        inner = output
        while isinstance(inner, distributions.Independent):
            inner = inner.base_dist
        base = getattr(inner, "base_dist", None)
        while isinstance(base, distributions.Independent):
            base = base.base_dist
        if base is None or any(one.codomain.event_dim for one in getattr(inner, "transforms", ())):
            raise UsageError(
                f"decode returned a {type(inner).__name__} without a mean.",
                "Pass decode= as a function that returns one with a mean.",
            ) from None
        nodes, weights = np.polynomial.legendre.leggauss(QUANTILES)
        mean = torch.zeros(())
        for node, weight in zip(nodes, weights, strict=True):
            value = base.icdf(torch.full((), (node + 1) / 2).to(base.mean))
            for transform in inner.transforms:  # type: ignore[attr-defined]
                value = transform(value)
            mean = mean.to(value) + weight / 2 * value
    return mean


def _of_tensor(tensor: Tensor, event: tuple[int, ...], *, last: bool = False) -> Decoded:
    """Logits of levels have one axis more than images."""
    if event and event[-1] == VOCABULARY:
        return _of_tokens(tensor, event[:-1])
    if not last and (len(event) != 3 or tensor.ndim != 5):
        return Decoded(shaped(tensor, event))
    shape = tuple(tensor.shape[1:])
    places = [len(shape) - 1] if last else range(len(shape))
    for place in places:
        if (*shape[:place], *shape[place + 1 :]) in (event, event[1:] if event[0] == 1 else ()):
            logits = tensor.movedim(place + 1, -1)
            k = logits.shape[-1]
            steps = torch.linspace(0.0, 1.0, k).to(logits)
            means = (logits.softmax(-1) * steps).sum(-1)
            return Decoded(means.reshape(-1, *event), levels=logits.reshape(-1, *event, k))
    return Decoded(shaped(tensor, event))


def _of_tokens(tensor: Tensor, event: tuple[int, ...]) -> Decoded:
    """Logits, log-probabilities or probabilities over a vocabulary: the last axis, or the one after
    the batch where only that fits; steps may be in one axis with the batch."""
    tensor = vocabulary_last(tensor, event)
    sums = tensor.detach().sum(-1)
    shares = float(tensor.detach().min()) >= 0 and torch.allclose(
        sums, torch.ones_like(sums), atol=1e-3
    )
    logits = tensor.clamp_min(1e-30).log() if shares else tensor
    return Decoded(logits.log_softmax(-1), tokens=True)


def vocabulary_last(tensor: Tensor, event: tuple[int, ...]) -> Tensor:
    """What a decoder gives for each word of a vocabulary, (n, *event, vocabulary)."""
    if tensor.ndim == 2 and len(tensor) % max(math.prod(event), 1) == 0:
        return tensor.reshape(-1, *event, tensor.shape[-1])
    shape = tuple(tensor.shape[1:])
    if shape[:-1] == event:
        return tensor
    if shape[1:] == event:
        return tensor.movedim(1, -1)
    raise ShapeError(
        f"decode returned shape {tuple(tensor.shape)}; wanted logits over the vocabulary for "
        f"each token, (n, {', '.join(map(str, event))}, vocabulary).",
        "Pass decode= as a function that returns them.",
    )


def shaped(tensor: Tensor, event: tuple[int, ...]) -> Tensor:
    """A tensor in the shape of the data."""
    shape = tuple(tensor.shape[1:])
    if len(event) == 3 and shape == (*event[1:], event[0]) and event[0] > 1:
        return tensor.movedim(-1, 1)  # channels last
    if len(event) in (2, 4) and shape != event and shape == (event[-1], *event[:-1]):
        return tensor.movedim(1, -1)  # channels first
    if len(event) == 4 and shape != event and shape == (event[1], event[0], *event[2:]):
        return tensor.transpose(1, 2)  # channels before time
    # Sizes may be split or merged, but in other places they would be other pixels.
    own, wanted = _cuts(shape), _cuts(event)
    if tensor.ndim == 0 or max(own) != max(wanted) or not (own <= wanted or wanted <= own):
        raise ShapeError(
            f"decode returned shape {tuple(tensor.shape)}; the data have shape "
            f"(n, {', '.join(map(str, event))}).",
            "Give data of the size that the model was trained on, or another decode=.",
        )
    # Not len: exporters keep the size of a batch open in a shape, not in a number of Python.
    return tensor.reshape(tensor.shape[0], *event)


def _cuts(shape: tuple[int, ...]) -> set[int]:
    """How many values lie before each end of an axis."""
    return {1, *accumulate(shape, mul)}


def meanings(
    seen: Range, x: Tensor, asked: str | None, told: Range | None, ranges: Sequence[Range],
    *, images: bool, values: bool = False,
) -> Iterator[tuple[str, Range]]:  # fmt: skip
    """What an output with values between `seen` may mean, the commonest first, and in which range
    it has pixels; `told` is the range of data where it is known, `values` come first of signals."""
    if not images and (float(x.min()) < 0 or float(x.max()) > 1):
        if asked in (None, "pixels"):
            yield "pixels", UNIT
        return
    unit = told in (None, UNIT)
    inside = seen[0] >= 0 and seen[1] <= 1
    if values and asked is None:
        yield "pixels", UNIT
    if inside and (asked == "probabilities" or (asked is None and unit)):
        yield "probabilities", UNIT
        if told is not None or asked is not None:
            return
    elif asked == "logits" or (asked is None and unit):
        yield "logits", UNIT
    if asked in (None, "pixels"):
        for output_range in (told,) if told else ranges if images else (UNIT,):
            if not ((inside or values) and asked is None and output_range == UNIT):
                yield "pixels", output_range


def values_first(x: Tensor, kind: str | None) -> bool:
    """Whether outputs are taken as values of the data unless something else is clearly better: of
    signals, which have squared errors where nothing is said, unless they are only 0 and 1."""
    return kind == "signals" and not bool(((x == 0) | (x == 1)).all())


def ends_of(values: Tensor | None) -> Range:
    """The least and the greatest value."""
    return (0.0, 0.0) if values is None else (float(values.min()), float(values.max()))


def pixels(y: Tensor, meaning: str, output_range: Range) -> Tensor:
    """The mean of x, in [0, 1], that an output stands for."""
    if meaning == "logits":
        return y.sigmoid()
    low, high = output_range
    return y if output_range == UNIT else (y - low) / (high - low)


def logits_of(output: Decoded, x: Tensor) -> bool:
    """Whether the second output is the logits of the first."""
    assert output.spread is not None
    return torch.allclose(output.spread.to(x).sigmoid(), output.values.to(x), atol=1e-4)


def unexplained(output: Decoded, x: Tensor) -> tuple[str, ...]:
    """Outputs for each value of the data that are neither its spread nor the first in other
    words."""
    second = output.spread is not None and not logits_of(output, x)
    return output.beside or (("a second output",) if second else ())
