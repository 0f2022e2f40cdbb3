"""One public style of VAE class: how it is made, what it was trained with, and its true codes.

The truth comes from the layers of the class itself. Nothing here knows vaescope.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

__all__ = ["NATS", "Style", "colour", "digits", "labels", "mlp", "one_hot"]

ROWS = 256
LATENTS = 6

Nats = Callable[[Tensor, Tensor], Tensor]  # of an output and images -> -log p(x|z) of each


@cache
def _digits() -> tuple[Tensor, Tensor]:
    from sklearn.datasets import load_digits

    found = load_digits()
    images = torch.from_numpy(found.images).float()[:ROWS, None] / 16
    return images, torch.from_numpy(found.target)[:ROWS]


def digits() -> Tensor:
    """256 handwritten digits of 8x8 pixels in [0, 1], NCHW."""
    return _digits()[0].clone()


def labels() -> Tensor:
    return _digits()[1].clone()


def one_hot(y: Tensor) -> Tensor:
    return F.one_hot(y, 10).float()


@cache
def _colour() -> Tensor:
    generator = torch.Generator().manual_seed(7)
    ink = torch.rand(ROWS, 3, 1, 1, generator=generator)
    paper = 0.4 * torch.rand(ROWS, 3, 1, 1, generator=generator)
    return paper + (ink - paper) * digits()


def colour() -> Tensor:
    """The same digits in inks and on papers of random colours: (256, 3, 8, 8) in [0, 1]."""
    return _colour().clone()


def mlp(*sizes: int, end: nn.Module | None = None) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1], *([] if end is None else [end]))


def _summed(values: Tensor) -> Tensor:
    return values.flatten(1).sum(1)


def _normal(std: float) -> Nats:
    return lambda y, x: -_summed(td.Normal(y, std).log_prob(x))


#: What an output can mean -> nats of images under it.
NATS: Mapping[str, Nats] = {
    "probabilities": lambda y, x: _summed(
        F.binary_cross_entropy(y.clamp(1e-6, 1 - 1e-6), x, reduction="none")
    ),
    "logits": lambda y, x: _summed(F.binary_cross_entropy_with_logits(y, x, reduction="none")),
    "squared-error": _normal(0.5**0.5),
    "normal:0.1": _normal(0.1),
    "laplace:0.1": lambda y, x: -_summed(td.Laplace(y, 0.1).log_prob(x)),
    "continuous-bernoulli": lambda y, x: -_summed(td.ContinuousBernoulli(logits=y).log_prob(x)),
}


#: What an owner says of the output and of the likelihood, by what the class is trained with.
_ANSWERS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("output", "probabilities"): ("probabilities",),
    ("output", "logits"): ("logits",),
    ("output", "squared-error"): ("pixels",),
    ("output", "normal:0.1"): ("pixels",),
    ("output", "laplace:0.1"): ("pixels",),
    ("likelihood", "probabilities"): ("bernoulli",),
    ("likelihood", "logits"): ("bernoulli",),
    ("likelihood", "squared-error"): ("squared-error",),
    ("likelihood", "normal:0.1"): ("gaussian:0.01",),
    ("likelihood", "laplace:0.1"): ("laplace:0.1",),
    ("likelihood", "continuous-bernoulli"): ("continuous-bernoulli",),
}


def _as_it_is(x: Tensor) -> Tensor:
    return x


@dataclass(frozen=True, eq=False)
class Style:
    """A class in a public style, and the truth about it.

    `posterior` and `output` are written with the class's own layers: images as the model takes
    them -> mean and variance, latents -> what the decoder gives, in the shape of the images. A
    conditional style gets labels as one more argument. `trained_with` is a key of NATS or a
    function of (model, output, images); `fair` are the likelihoods that are right: where the class
    does not show its loss, several are.
    """

    name: str
    make: Callable[[], Any]
    posterior: Callable[..., tuple[Tensor, Tensor]]
    output: Callable[..., Tensor]
    trained_with: str = "probabilities"
    fair: tuple[str, ...] = ()  # beside `trained_with`
    own_nats: Callable[[Any, Tensor, Tensor], Tensor] | None = None  # parameters of its own
    beta: float = 0.4
    steps: int = 300
    batch: int = 64
    rate: float = 1e-2  # of learning
    images: Callable[[], Tensor] = digits
    range: tuple[float, float] = (0.0, 1.0)
    taken: Callable[[Tensor], Tensor] = _as_it_is  # of NCHW images in `range`
    given: Callable[[Tensor], Any] | None = None  # of images in [0, 1]; None: as they are taken
    conditional: bool = False
    gaussian_prior: Callable[[Any], tuple[Tensor, Tensor]] | None = None  # mean and variance
    log_prior: Callable[[Any, Tensor], Tensor] | None = None  # None: N(0, I)
    #: What its owner answers when asked, beside the usual; of several words, the one that the
    #: question offers. Functions are of the model.
    answers: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    call: Callable[[Any], Mapping[str, Any]] = lambda model: {"model": model}
    module: Callable[[Any], nn.Module] = lambda model: model
    decode: Callable[[Any, Tensor], Any] | None = None  # for decode=; None: as `output` is
    deterministic: bool = False
    #: Whether a fit is wanted: maps and full covariances have none.
    fit: bool = True

    def takes(self, unit: Tensor) -> Tensor:
        low, high = self.range
        return self.taken(low + (high - low) * unit)

    def gives(self, unit: Tensor) -> Any:
        return self.takes(unit) if self.given is None else self.given(unit)

    def back(self, y: Tensor) -> Tensor:
        """Outputs in [0, 1]."""
        low, high = self.range
        return (y - low) / (high - low)

    def answer(self, name: str) -> tuple[Any, ...]:
        """What its owner says of an argument; nothing where there is nothing to say."""
        if name in self.answers:
            return self.answers[name]
        if name == "value_range":
            return (self.range,)
        if name == "prior" and self.log_prior is None and self.gaussian_prior is None:
            return ("normal",)
        return _ANSWERS.get((name, self.trained_with), ())

    def nats(self, model: Any, y: Tensor, x: Tensor) -> Tensor:
        """-log p(x|z) of each image under what the class is trained with."""
        if self.own_nats is not None:
            return self.own_nats(model, y, x)
        return NATS[self.trained_with](y, x)
