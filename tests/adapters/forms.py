"""Models as people write them, all made of one trained core."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributions as td

from vaescope import adapters
from vaescope.adapters import Asked
from vaescope.data.in_memory import dataset_of
from vaescope.data.stores import Numbers
from vaescope.models import OpenModel

Gauss = namedtuple("Gauss", ["mu", "log_var"])
Unnamed = namedtuple("Unnamed", ["a", "b"])
Encode = Callable[[Tensor, Tensor], Any]  # of mean and log variance


def adapt(
    model: Any = None,
    x: Tensor | None = None,
    *,
    encode: Callable[..., Any] | None = None,
    decode: Callable[..., Any] | None = None,
    asked: Asked = Asked(),  # noqa: B008 - frozen
    name: str | None = None,
    came: tuple[float, float] = (0.0, 1.0),
) -> OpenModel:
    """A model read on tensors in [0, 1] that came in another range."""
    assert x is not None
    data = replace(dataset_of("array", Numbers(x.numpy()), None), value_range=came)
    return adapters.adapt(model, data, encode=encode, decode=decode, asked=asked, name=name)


class Core(nn.Module):
    """Vectors of 64 pixels -> six latents -> logits."""

    def __init__(self, latents: int = 6) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.heads = nn.Linear(64, 2 * latents)
        self.back = nn.Sequential(nn.Linear(latents, 64), nn.ReLU(), nn.Linear(64, 64))

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.heads(self.body(x)).chunk(2, dim=1)
        return mean, logvar

    def logits(self, z: Tensor) -> Tensor:
        return self.back(z)


class Form(nn.Module):
    """A model that takes images in `low` to `high` and returns what its two functions make."""

    def __init__(
        self, core: Core, returns: Encode, gives: Callable[[Tensor], Any] = torch.sigmoid,
        low: float = 0.0, high: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.core, self.returns, self.gives, self.low, self.high = core, returns, gives, low, high

    def encode(self, x: Tensor) -> Any:
        if x.ndim != 4:
            raise ValueError(f"images wanted, got {tuple(x.shape)}")
        return self.returns(
            *self.core.posterior((x.flatten(1) - self.low) / (self.high - self.low))
        )

    def decode(self, z: Tensor) -> Any:
        return self.gives(self.core.logits(z).view(-1, 1, 8, 8))


def sample(mean: Tensor, logvar: Tensor) -> Tensor:
    return mean + torch.randn_like(mean) * (0.5 * logvar).exp()


def std(logvar: Tensor) -> Tensor:
    return (0.5 * logvar).exp()


def interleaved(mean: Tensor, logvar: Tensor) -> Tensor:
    return torch.stack([mean, logvar], dim=2).flatten(1)


def pair(mean: Tensor, logvar: Tensor) -> tuple[Tensor, Tensor]:
    return mean, logvar


#: What an encoder returns -> the function, and how it must be read.
ENCODERS: dict[str, tuple[Encode, str]] = {
    "pair of mean and logvar": (pair, "pair,logvar"),
    "list of mean and logvar": (lambda m, s: [m, s], "pair,logvar"),
    "halves": (lambda m, s: torch.cat([m, s], 1), "halves,logvar"),
    "interleaved": (interleaved, "interleaved,logvar"),
    "Normal": (lambda m, s: td.Normal(m, std(s)), "named,variance"),
    "Independent": (lambda m, s: td.Independent(td.Normal(m, std(s)), 1), "named,variance"),
    "MultivariateNormal": (
        lambda m, s: td.MultivariateNormal(m, s.exp().diag_embed()), "named,variance"
    ),
    "dict": (lambda m, s: {"z": sample(m, s), "mu": m, "logvar": s}, "named,logvar"),
    "dict with std": (lambda m, s: {"mean": m, "std": std(s)}, "named,std"),
    "dict of other names": (lambda m, s: {"a": m, "b": s}, "pair,logvar"),
    "dict that names the mean only": (lambda m, s: {"mu": m, "rho": s}, "pair,logvar"),
    "namedtuple": (Gauss, "named,logvar"),
    "namedtuple of other names": (Unnamed, "pair,logvar"),
    "triple, sample first": (lambda m, s: (sample(m, s), m, s), "pair,logvar"),
    "triple, sample last": (lambda m, s: (m, s, sample(m, s)), "pair,logvar"),
    "triple, z is the mean": (lambda m, s: (m, m, s), "pair,logvar"),
    "triple with None": (lambda m, s: (m, s, None), "pair,logvar"),
    "sample and distribution": (
        lambda m, s: (sample(m, s), td.Normal(m, std(s))), "named,variance"
    ),
    "nested": (lambda m, s: ((m, s), sample(m, s)), "pair,logvar"),
}  # fmt: skip

#: What a decoder gives -> the function of logits, and how it must be read.
DECODERS: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "probabilities": (torch.sigmoid, "probabilities"),
    "logits": (lambda y: y, "logits"),
    "[-1, 1]": (lambda y: 2 * y.sigmoid() - 1, "pixels"),
    "[0, 255]": (lambda y: 255 * y.sigmoid(), "pixels"),
    "flat probabilities": (lambda y: y.sigmoid().flatten(1), "probabilities"),
    "tuple": (lambda y: (y.sigmoid(), None), "probabilities"),
    "dict": (lambda y: {"reconstruction": y.sigmoid()}, "probabilities"),
    "Bernoulli": (lambda y: td.Bernoulli(logits=y), "own"),
    "Normal": (lambda y: td.Normal(y.sigmoid(), 0.3), "own"),
}
