"""In which range images go in and come out, and in which their owner has them."""

from typing import Any

import numpy as np
import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, reparameterise
from tests.adapters.corpus.style import NATS, Style, colour, digits
from torch import Tensor

__all__ = ["STYLES"]


class _Pair(Layers):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class Tanh(_Pair):
    """[-1, 1] in and out."""

    def decode(self, z: Tensor) -> Tensor:
        return torch.tanh(self._drawn(z)).view(-1, 1, 8, 8)


class Bytes(_Pair):
    """[0, 255] in and out, scaled inside."""

    def encode(self, x: Tensor) -> Any:
        return self._heads(x / 255.0)

    def decode(self, z: Tensor) -> Tensor:
        return 255.0 * torch.sigmoid(self._drawn(z)).view(-1, 1, 8, 8)


class Linear(_Pair):
    """Whatever range, a linear end."""

    def decode(self, z: Tensor) -> Tensor:
        return self._drawn(z).view(-1, 1, 8, 8)


class ColourLinear(Layers):
    def __init__(self) -> None:
        super().__init__(pixels=192)

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def decode(self, z: Tensor) -> Tensor:
        return self._drawn(z).view(-1, 3, 8, 8)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class SymmetricIn(_Pair):
    """[-1, 1] in, probabilities of the pixels out."""

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self._drawn(z)).view(-1, 1, 8, 8)


def _tanh(model: Any, z: Tensor) -> Tensor:
    return torch.tanh(model._drawn(z)).view(-1, 1, 8, 8)


def _bytes_truth(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    mu, logvar = model._heads(x / 255.0)
    return mu, logvar.exp()


def _bytes(model: Any, z: Tensor) -> Tensor:
    return 255.0 * torch.sigmoid(model._drawn(z)).view(-1, 1, 8, 8)


def _linear(model: Any, z: Tensor) -> Tensor:
    return model._drawn(z).view(-1, 1, 8, 8)


def _linear_colour(model: Any, z: Tensor) -> Tensor:
    return model._drawn(z).view(-1, 3, 8, 8)


def _sigmoid(model: Any, z: Tensor) -> Tensor:
    return torch.sigmoid(model._drawn(z)).view(-1, 1, 8, 8)


def _as_bytes(x: Tensor) -> np.ndarray:
    return (255 * x).round().byte().numpy()


def _unit_nats(_: Any, y: Tensor, x: Tensor) -> Tensor:
    return NATS["probabilities"](y, (x + 1) / 2)


def _channels_standardised(x: Tensor) -> Tensor:
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    return (x - mean) / std


ENDS = (float((0 - 0.3) / 0.37), float((1 - 0.3) / 0.37))


def _style(name: str, make: Any, output: Any, posterior: Any = logvar_truth, **more: Any) -> Style:
    settings: dict[str, Any] = {"trained_with": "squared-error", "beta": 0.03}
    settings["answers"] = {"posterior": ("logvar", "pair,logvar")}
    return Style(f"ranges/{name}", make, posterior, output, **{**settings, **more})


STYLES = (
    _style("[-1, 1], given so", Tanh, _tanh, range=(-1.0, 1.0)),
    _style("[-1, 1], given [0, 1]", Tanh, _tanh, range=(-1.0, 1.0), given=lambda x: x),
    _style("[-1, 1], given bytes", Tanh, _tanh, range=(-1.0, 1.0), given=_as_bytes,
           images=lambda: (255 * digits()).round() / 255),
    _style("[0, 255], given so", Bytes, _bytes, _bytes_truth, range=(0.0, 255.0), beta=1000.0),
    _style("[0, 255], given bytes", Bytes, _bytes, _bytes_truth, range=(0.0, 255.0), beta=1000.0,
           given=_as_bytes, images=lambda: (255 * digits()).round() / 255),
    _style("[0, 1], given bytes", Linear, _linear, given=_as_bytes,
           images=lambda: (255 * digits()).round() / 255),
    _style("[-0.5, 0.5]", Linear, _linear, range=(-0.5, 0.5)),
    _style("standardised", Linear, _linear, range=ENDS, beta=0.1),
    _style("standardised by channel", ColourLinear, _linear_colour, images=colour,
           taken=_channels_standardised, beta=0.3, answers={"posterior": ("logvar",),
                                                            "value_range": ()}),
    _style("[-1, 1] in, [0, 1] out", SymmetricIn, _sigmoid, range=(-1.0, 1.0),
           trained_with="own", own_nats=_unit_nats, beta=0.4,
           answers={"posterior": ("logvar", "pair,logvar"), "output": ("probabilities",),
                    "likelihood": ("bernoulli",)}),
)  # fmt: skip
