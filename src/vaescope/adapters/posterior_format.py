"""What encoders of other libraries return, taken apart, and where maps of latents have their
channels. Guesses nothing: where two readings are possible, both are candidates."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor, distributions, nn
from torch.nn import functional

from vaescope.adapters.arguments import of_function
from vaescope.adapters.tensors import same

__all__ = [
    "LAYOUTS",
    "SPREADS",
    "Candidate",
    "Parts",
    "Posterior",
    "candidates",
    "channels_last",
    "fault_of",
    "kind_named",
    "moved_back",
    "moved_first",
    "posterior_of",
    "whole_numbers",
]


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(z|x) of a batch. A deterministic encoder has variance 0."""

    mean: Tensor  # (batch, latent), or (batch, channel, height, width) where latents are maps
    variance: Tensor
    covariance: Tensor | None = None  # (batch, latent, latent)


#: How a posterior's spread is given -> its variance.
SPREADS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "logvar": lambda s: s.exp(),
    "std": lambda s: s.square(),
    "variance": lambda s: s,
    "logstd": lambda s: (2.0 * s).exp(),
    "softplus": lambda s: functional.softplus(s).square(),
    "softplus-variance": functional.softplus,
    "precision": lambda s: 1.0 / s,
    "logprecision": lambda s: (-s).exp(),
}

#: Where mean and spread are.
LAYOUTS = {
    "named": "an object that names them",
    "pair": "two tensors, mean first",
    "reversed": "spread first, in two tensors or in the halves of one",
    "halves": "one tensor, means in the first half",
    "interleaved": "one tensor, means at even places",
    "mean": "one tensor, means only",
    "drawn": "the latents that the model draws itself",
}

_MEANS = ("mean", "mu", "loc", "z_mean", "z_mu", "z_loc", "embedding")
_SPREADS = {
    "logvar": "logvar", "log_var": "logvar", "log_variance": "logvar", "z_logvar": "logvar",
    "log_covariance": "logvar", "z_log_var": "logvar", "logvariance": "logvar",
    "variance": "variance", "var": "variance", "z_var": "variance",
    "std": "std", "stddev": "std", "scale": "std", "sigma": "std", "z_std": "std",
    "z_scale": "std", "log_std": "logstd", "logstd": "logstd", "log_scale": "logstd",
    "log_sigma": "logstd",
}  # fmt: skip
_COVARIANCES = ("covariance", "covariance_matrix")
#: Parts of names -> what a spread is.
_KINDS = (
    (re.compile(r"log_?var|lnvar|log_?(sigma|std)_?(2|sq)", re.IGNORECASE), "logvar"),
    (re.compile(r"log_?(std|sigma|scale)", re.IGNORECASE), "logstd"),
    (re.compile(r"log_?prec", re.IGNORECASE), "logprecision"),
    (re.compile(r"prec", re.IGNORECASE), "precision"),
    (re.compile(r"std|sigma|scale", re.IGNORECASE), "std"),
    (re.compile(r"var", re.IGNORECASE), "variance"),
)


def kind_named(name: str) -> str | None:
    """What a spread is by its name."""
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), None)


@dataclass(frozen=True, eq=False)
class Parts:
    """What an encoder's output holds, under one way to take it apart."""

    mean: Tensor
    spread: Tensor | None = None  # None: deterministic
    covariance: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to take an encoder's output apart, on any images."""

    layout: str
    take: Callable[[Any], Parts]
    kind: str | None = None  # of the spread, where the model names it
    family: str = ""  # the posterior's, where it is known and not Gaussian
    bounded: bool = False  # whether that family does not have every real number


def candidates(output: Any, again: Any) -> Iterator[Candidate]:
    """Every way to read what `encode` returned; `again` is what it returned for the same images
    once more, so that samples can be told from means."""
    if isinstance(output, Tensor):
        if _same(output, again):
            yield from _of_tensor(output)
    elif getattr(output, "latent_dist", None) is not None:
        yield from _inside(lambda o: o.latent_dist, output, again)
    elif (named := _named(output, again)) is not None and named.kind is not None:
        yield named
    else:
        by_place = list(_by_place(output, again))
        yield from by_place or ([] if named is None else [named])


def _of_tensor(output: Tensor) -> Iterator[Candidate]:
    width = output.shape[1] if output.ndim > 1 else 0
    if output.ndim == 3 and width == 2:  # stacked: (n, 2, latent)
        yield Candidate("halves", lambda o: Parts(o[:, 0], o[:, 1]))
    if output.ndim == 3 and output.shape[2] == 2:  # (n, latent, 2)
        yield Candidate("interleaved", lambda o: Parts(o[..., 0], o[..., 1]))
    if width and width % 2 == 0:
        yield Candidate("halves", lambda o: Parts(*o.chunk(2, dim=1)))
        if width > 2:  # of one latent, halves and interleaved are the same
            yield Candidate("interleaved", lambda o: Parts(o[:, 0::2], o[:, 1::2]))
        yield Candidate("reversed", lambda o: Parts(*reversed(o.chunk(2, dim=1))))
    yield Candidate("mean", Parts)


def _inside(get: Callable[[Any], Any], output: Any, again: Any) -> Iterator[Candidate]:
    """Candidates of a part of the output."""
    for inner in candidates(get(output), get(again)):
        yield replace(inner, take=_after(get, inner.take))


def _after(get: Callable[[Any], Any], take: Callable[[Any], Parts]) -> Callable[[Any], Parts]:
    return lambda o: take(get(o))


def _field(output: Any, name: str) -> Any:
    if isinstance(output, Mapping):
        return output.get(name)
    try:
        return getattr(output, name, None)
    except NotImplementedError:  # a distribution whose mean or variance has no formula
        return None


def _first(output: Any, names: Sequence[str]) -> str | None:
    """The first of these names under which the output has a tensor."""
    return next((name for name in names if isinstance(_field(output, name), Tensor)), None)


def _named(output: Any, again: Any) -> Candidate | None:
    mean = _first(output, _MEANS)
    if mean is None or not _same(_field(output, mean), _field(again, mean)):
        return None
    covariance = _first(output, _COVARIANCES)
    if covariance is not None and _field(output, covariance).ndim == 3:

        def full(o: Any) -> Parts:
            matrix = _covariance(o, covariance)
            centre = _field(o, mean)
            return Parts(centre, matrix.diagonal(dim1=-2, dim2=-1).to(centre.dtype), matrix)

        return Candidate("named", full, "variance")
    spread = _first(output, tuple(_SPREADS))
    if spread is None:
        return Candidate("named", lambda o: Parts(_field(o, mean)))
    return Candidate(
        "named", lambda o: Parts(_field(o, mean), _field(o, spread)), _SPREADS[spread],
        _other_family(output), _bounded(output),
    )  # fmt: skip


_GAUSSIAN = (
    distributions.Normal,
    distributions.MultivariateNormal,
    distributions.LowRankMultivariateNormal,
)


def _other_family(output: Any) -> str:
    """The name of a distribution of torch that is not Gaussian."""
    while isinstance(output, distributions.Independent):
        output = output.base_dist
    other = isinstance(output, distributions.Distribution) and not isinstance(output, _GAUSSIAN)
    return type(output).__name__ if other else ""


def _bounded(output: Any) -> bool:
    """Whether a distribution is over classes, angles, or a part of the line: a Gaussian with its
    mean and variance is another thing."""
    if not isinstance(output, distributions.Distribution):
        return False
    if isinstance(output, distributions.VonMises):
        return True
    support: Any = output.support
    while isinstance(support, distributions.constraints.independent):
        support = support.base_constraint
    return support not in (distributions.constraints.real, distributions.constraints.real_vector)


def _covariance(output: Any, name: str) -> Tensor:
    """From its factors where there are some: torch multiplies them in float32, in which narrow
    posteriors are no longer positive definite."""
    factor = _field(output, "scale_tril")
    if isinstance(factor, Tensor) and factor.shape == _field(output, name).shape:
        return factor.double() @ factor.double().mT
    matrix: Tensor = _field(output, name)
    return matrix


def _by_place(output: Any, again: Any) -> Iterator[Candidate]:
    """Mean and spread are neighbours of one shape. Samples among them are those that change."""
    if isinstance(output, Mapping):
        yield from _inside(lambda o: tuple(o.values()), output, again)
    if is_dataclass(output):
        yield from _inside(_values, output, again)
    if not isinstance(output, tuple | list):
        return
    steady: list[int] = []  # places of tensors that stay the same
    for place, value in enumerate(output):
        if isinstance(value, Tensor):
            # Where sampling is off in eval mode, z is the mean once more.
            known = len(output) > 2 and any(_same(value, output[other]) for other in steady)
            if value.ndim > 1 and not known and _same(value, again[place]):
                steady.append(place)
        elif isinstance(value, tuple | list | Mapping) or _first(value, _MEANS):
            yield from _inside(itemgetter(place), output, again)
    if len(steady) == 1:
        yield from _inside(itemgetter(steady[0]), output, again)
    for first, second in pairwise(steady):
        if output[first].shape == output[second].shape:
            both = itemgetter(first, second)
            others = [output[place] for place in steady if place not in (first, second)]
            kind = _told_by_others(output[second], others)
            yield Candidate("pair", _after(both, lambda found: Parts(*found)), kind)
            if kind is not None:
                return
            back = itemgetter(second, first)
            yield Candidate("reversed", _after(back, lambda found: Parts(*found)))


def _told_by_others(spread: Tensor, others: Sequence[Tensor]) -> str | None:
    """What a spread is where the encoder returns it in another form too: (mean, std, logvar) or
    (mean, logvar, std)."""
    for other in others:
        if other.shape == spread.shape:
            if bool((spread > 0).all()) and _same(2 * spread.log(), other):
                return "std"
            if _same((0.5 * spread).exp(), other):
                return "logvar"
    return None


def _values(output: Any) -> tuple[Any, ...]:
    return tuple(getattr(output, entry.name) for entry in fields(output))


def whole_numbers(output: Any) -> bool:
    """Whether an encoder returned integers among others, such as indices into a codebook."""
    if isinstance(output, Tensor):
        return output.dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
    if isinstance(output, Mapping):
        output = tuple(output.values())
    elif is_dataclass(output):
        output = _values(output)
    return isinstance(output, tuple | list) and any(map(whole_numbers, output))


def fault_of(parts: Parts, n: int) -> str | None:
    """Why these can be no means and spreads of n examples; None where they can."""
    mean, spread = parts.mean, parts.spread
    if not mean.is_floating_point() or mean.ndim < 2 or len(mean) != n:
        return f"{mean.dtype} of shape {tuple(mean.shape)} as means of {n} examples"
    if spread is None:
        return None
    if not spread.is_floating_point():
        return f"{spread.dtype} as spreads"
    sizes = zip(reversed(spread.shape), reversed(mean.shape), strict=False)
    if spread.ndim > mean.ndim or any(own not in (1, size) for own, size in sizes):
        return f"spreads of shape {tuple(spread.shape)} beside means of {tuple(mean.shape)}"
    return "spreads that are NaN" if bool(spread.isnan().any()) else None


def _same(value: Any, other: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and isinstance(other, Tensor)
        and value.shape == other.shape
        and torch.allclose(value, other, rtol=1e-3, atol=1e-5, equal_nan=True)
    )


def posterior_of(parts: Parts, kind: str) -> Posterior:
    """Mean and variance under one reading of the spread."""
    mean = _flat(_at_least_float32(parts.mean))
    if parts.spread is None:
        return Posterior(mean, torch.zeros_like(mean))
    spread = _at_least_float32(parts.spread).expand_as(parts.mean)
    return Posterior(mean, _flat(SPREADS[kind](spread)), parts.covariance)


def _flat(values: Tensor) -> Tensor:
    """Maps of one place are vectors."""
    single = values.ndim > 2 and all(size == 1 for size in values.shape[2:])
    return values.flatten(1) if single else values


def _at_least_float32(values: Tensor) -> Tensor:
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


#: Layers whose outputs have their channels last; those of convolutions are after the batch.
_LAST = (nn.Linear, nn.GRU, nn.LSTM, nn.RNN, nn.LayerNorm)
_AFTER_BATCH = (nn.modules.conv._ConvNd, nn.modules.batchnorm._BatchNorm, nn.GroupNorm)


def channels_last(module: nn.Module | None, encode: Callable[[], Parts]) -> bool:
    """Whether the means that an encoder gives, which are maps, come from a layer that has its
    channels last: they are its output, or what is made of the last output, such as averages over
    the neighbours in a graph, where no layer has them after the batch."""
    if module is None:
        return False
    with _outputs(module, _LAST) as seen, _outputs(module, _AFTER_BATCH) as others:
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
    last = seen[-1] if seen and not others else None
    return last is not None and last.shape[:-1] == mean.shape[:-1] and last.shape[-1] in (d, 2 * d)


@contextmanager
def _outputs(module: nn.Module, kinds: tuple[Any, ...]) -> Iterator[list[Tensor]]:
    seen: list[Tensor] = []

    def note(_: nn.Module, __: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        if isinstance(first, Tensor) and first.ndim > 2:
            seen.append(first.detach())

    hooks = [part.register_forward_hook(note) for part in module.modules()
             if isinstance(part, kinds)]  # fmt: skip
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

    def decode_last(z: Tensor, u: Tensor | None = None) -> Any:
        return decode(z.movedim(1, -1), u)

    return of_function(decode_last, decode)
