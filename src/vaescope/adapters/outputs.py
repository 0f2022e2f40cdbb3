"""What encoders and decoders of other libraries return, taken apart. Guesses nothing: where two
readings are possible, both are candidates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.model import Posterior
from vaescope.errors import ShapeError, UsageError

__all__ = ["LAYOUTS", "SPREADS", "Candidate", "candidates", "decoded", "posterior_of"]

#: How a posterior's spread is given -> its variance.
SPREADS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "logvar": lambda s: s.exp(),
    "std": lambda s: s.square(),
    "variance": lambda s: s,
    "logstd": lambda s: (2.0 * s).exp(),
}

#: Where mean and spread are.
LAYOUTS = {
    "named": "an object that names them",
    "pair": "two tensors, mean first",
    "halves": "one tensor, means in the first half",
    "interleaved": "one tensor, means at even places",
    "mean": "one tensor, means only",
}

_MEANS = ("mean", "mu", "loc", "z_mean", "embedding")
_SPREADS = {
    "logvar": "logvar", "log_var": "logvar", "log_variance": "logvar", "z_logvar": "logvar",
    "log_covariance": "logvar", "z_log_var": "logvar", "logvariance": "logvar",
    "variance": "variance", "var": "variance", "z_var": "variance",
    "std": "std", "stddev": "std", "scale": "std", "sigma": "std", "z_std": "std",
    "log_std": "logstd", "logstd": "logstd", "log_scale": "logstd", "log_sigma": "logstd",
}  # fmt: skip
_COVARIANCES = ("covariance", "covariance_matrix")
_OUTPUTS = ("reconstruction", "sample", "recon", "recon_x", "x_hat", "x_recon", "mean", "logits")


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to take an encoder's output apart."""

    layout: str
    mean: Tensor
    spread: Tensor | None  # None: deterministic
    kind: str | None = None  # of the spread, where the model names it
    covariance: Tensor | None = None


def _field(output: Any, name: str) -> Tensor | None:
    value = output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)
    return value if isinstance(value, Tensor) else None


def _first(output: Any, names: Sequence[str]) -> tuple[str, Tensor] | None:
    found = ((name, _field(output, name)) for name in names)
    return next(((name, value) for name, value in found if value is not None), None)


def _named(output: Any) -> Candidate | None:
    mean = _first(output, _MEANS)
    if mean is None:
        return None
    spread = _first(output, tuple(_SPREADS))
    covariance = _first(output, _COVARIANCES)
    full = None if covariance is None or covariance[1].ndim != 3 else covariance[1]
    if full is not None:
        variance = full.diagonal(dim1=-2, dim2=-1)
        return Candidate("named", mean[1], variance, "variance", full)
    if spread is None:
        return Candidate("named", mean[1], None)
    return Candidate("named", mean[1], spread[1], _SPREADS[spread[0]])


def candidates(output: Any, again: Any) -> Iterator[Candidate]:
    """Every way to read what `encode` returned; `again` is what it returned for the same images
    once more, so that samples can be told from means."""
    inner = getattr(output, "latent_dist", None)
    if inner is not None:
        output, again = inner, again.latent_dist
    if isinstance(output, Tensor):
        if not _same(output, again):
            return  # samples: neither means nor spreads
        width = output.shape[1] if output.ndim > 1 else 0
        if width and width % 2 == 0:
            first, second = output.chunk(2, dim=1)
            yield Candidate("halves", first, second)
            if width > 2:  # of one latent, halves and interleaved are the same
                yield Candidate("interleaved", output[:, 0::2], output[:, 1::2])
        yield Candidate("mean", output, None)
        return
    named = _named(output)
    if named is not None:
        yield named
        return
    if isinstance(output, Sequence):
        yield from _from_sequence(output, again)


def _from_sequence(output: Sequence[Any], again: Sequence[Any]) -> Iterator[Candidate]:
    steady = [
        value
        for value, other in zip(output, again, strict=True)
        if isinstance(value, Tensor) and value.ndim > 1 and _same(value, other)
    ]
    if len(steady) == 1:
        yield from candidates(steady[0], steady[0])
        return
    for position, mean in enumerate(steady[:-1]):
        spread = steady[position + 1]
        if mean.shape == spread.shape:
            yield Candidate("pair", mean, spread)


def _same(value: Tensor, other: Any) -> bool:
    return isinstance(other, Tensor) and torch.allclose(value, other, rtol=1e-3, atol=1e-5)


def posterior_of(candidate: Candidate, kind: str) -> Posterior:
    """Mean and variance under one reading of the spread."""
    if candidate.spread is None:
        return Posterior(candidate.mean, torch.zeros_like(candidate.mean))
    variance = SPREADS[kind](candidate.spread)
    return Posterior(candidate.mean, variance, candidate.covariance)


def decoded(output: Any, event: tuple[int, ...]) -> Tensor:
    """The tensor in what `decode` returned, in the shape of the data."""
    if isinstance(output, Sequence) and not isinstance(output, Tensor) and len(output):
        return decoded(output[0], event)
    if not isinstance(output, Tensor):
        found = _first(output, _OUTPUTS)
        if found is None:
            raise UsageError(
                f"decode returned {type(output).__name__}; wanted a tensor of shape "
                f"(batch, {', '.join(map(str, event))}).",
                "Pass decode= as a function that returns that tensor.",
            )
        output = found[1]
    tensor: Tensor = output
    size = torch.Size(event).numel()
    if tensor.ndim == 0 or tensor[0].numel() != size:
        raise ShapeError(
            f"decode returned shape {tuple(tensor.shape)}; the data have shape "
            f"(n, {', '.join(map(str, event))}).",
            "Give images of the size that the model was trained on, or another decode=.",
        )
    return tensor.reshape(len(tensor), *event)
