"""A decoder as a list of layers: plain arrays that a page can carry and a browser can evaluate.

`Affine` is a transposed convolution in channels-last order, of which a fully connected layer is the
case of one pixel and a kernel of one, and a convolution the case of a stride of one; `Pointwise` is
a function of each value; `Scaled` multiplies and adds constants; `Take` moves values; `Resize`
enlarges maps; `Join` adds, multiplies or strings together. A layer without a source reads the one
before. `evaluate` is the reference of the page's script, which has the same loops.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from vaescope.types import Single

__all__ = [
    "FUNCTIONS",
    "Affine",
    "Join",
    "Layer",
    "Network",
    "Pointwise",
    "Resize",
    "Scaled",
    "Take",
    "evaluate",
]


@dataclass(frozen=True, eq=False)
class Affine:
    """Images of `size` x `size` pixels to larger ones.

    Weights are whole numbers of `scale`, or singles. Floats of 16 bits would have 11 of them for
    the value, and were off by up to 0.002 in the output of trained decoders; whole numbers are off
    by a tenth of that.
    """

    size: int
    weight: NDArray[np.int16] | Single  # (kernel, kernel, inputs, outputs)
    scale: Single  # (outputs,)
    bias: Single  # (outputs,)
    stride: int = 1
    padding: int = 0
    extra: int = 0  # pixels added below and to the right
    source: tuple[int, ...] = ()  # numbers of the layers that it reads; -1: the code

    @property
    def grown(self) -> int:
        """Pixels of a side of the output."""
        kernel = int(self.weight.shape[0])
        return (self.size - 1) * self.stride + kernel - 2 * self.padding + self.extra


@dataclass(frozen=True)
class Pointwise:
    """A function of `FUNCTIONS` with up to two numbers: a slope, or both ends."""

    name: str
    slope: float = 0.0
    high: float = 0.0
    source: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Scaled:
    """x * scale + shift, whose values repeat along x: one, one for each channel, or all."""

    scale: Single
    shift: Single
    source: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Take:
    """Values in another order; -1 stands for zero."""

    order: NDArray[np.int32]
    source: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Resize:
    """Maps enlarged by the same matrix along rows and columns."""

    matrix: Single  # (grown, size)
    channels: int
    source: tuple[int, ...] = ()


@dataclass(frozen=True)
class Join:
    """Sum or product of two layers, or several one after the other."""

    kind: str  # add, mul or cat
    source: tuple[int, ...] = ()


Layer = Affine | Pointwise | Scaled | Take | Resize | Join


@dataclass(frozen=True, eq=False)
class Network:
    """Latents to an image in channels-last order."""

    layers: tuple[Layer, ...]
    shape: tuple[int, int, int]  # height, width, channels
    parameters: int
    deviation: float = 0.0  # the largest from the model itself, over the codes that were tried


#: What the page's script has under the same names.
FUNCTIONS: Mapping[str, Callable[[Single, float, float], Single]] = {
    "relu": lambda x, _, __: np.maximum(x, 0),
    "leaky-relu": lambda x, slope, _: np.where(x > 0, x, slope * x),
    "tanh": lambda x, _, __: np.tanh(x),
    "xtanh": lambda x, _, __: np.tanh(x) + 0.1 * x,
    # By tanh: the exponential of a large logit would overflow.
    "sigmoid": lambda x, _, __: 0.5 * np.tanh(0.5 * x) + 0.5,
    "silu": lambda x, _, __: x * (0.5 * np.tanh(0.5 * x) + 0.5),
    "gelu": lambda x, _, __: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    "gelu-tanh": lambda x, _, __: 0.5 * x * (
        1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    ),
    "elu": lambda x, slope, _: np.where(x > 0, x, slope * np.expm1(np.minimum(x, 0))),
    "softplus": lambda x, sharp, _: np.logaddexp(0, sharp * x) / sharp,
    "exp": lambda x, _, __: np.exp(x),
    "clamp": np.clip,
}  # fmt: skip


def evaluate(network: Network, codes: NDArray[np.floating]) -> Single:
    """Outputs (n, height, width, channels) of codes (n, latent), in float32."""
    outputs: list[Single] = []
    first = codes.astype(np.float32)
    for place, layer in enumerate(network.layers):
        source = layer.source or (place - 1,)
        inputs = [first if i < 0 else outputs[i] for i in source]
        outputs.append(_applied(layer, inputs).astype(np.float32))
    return outputs[-1].reshape(len(codes), *network.shape)


def _applied(layer: Layer, inputs: list[Single]) -> Single:
    x = inputs[0].reshape(len(inputs[0]), -1)
    if isinstance(layer, Affine):
        return _affine(layer, x)
    if isinstance(layer, Pointwise):
        return np.asarray(FUNCTIONS[layer.name](x, layer.slope, layer.high))
    if isinstance(layer, Scaled):
        size = x.shape[1]
        return np.asarray(x * np.resize(layer.scale, size) + np.resize(layer.shift, size))
    if isinstance(layer, Take):
        return np.where(layer.order < 0, np.float32(0), x[:, layer.order])
    if isinstance(layer, Resize):
        size = layer.matrix.shape[1]
        maps = x.reshape(len(x), size, size, layer.channels)
        rows = np.einsum("ab,nbdc->nadc", layer.matrix, maps)
        return np.asarray(np.einsum("ed,nadc->naec", layer.matrix, rows))
    flat = [own.reshape(len(own), -1) for own in inputs]
    if layer.kind == "cat":
        return np.concatenate(flat, axis=1)
    return flat[0] + flat[1] if layer.kind == "add" else flat[0] * flat[1]


def _affine(layer: Affine, x: Single) -> Single:
    kernel, _, inputs, outputs = layer.weight.shape
    weight = layer.weight.astype(np.float32)  # exact: 16 bits of 24
    x = x.reshape(len(x), layer.size, layer.size, inputs)
    reach = (layer.size - 1) * layer.stride
    side = reach + kernel + layer.extra
    padded = np.zeros((len(x), side, side, outputs), dtype=np.float32)
    for row in range(kernel):
        for column in range(kernel):
            # Every pixel of the input adds its weighted values to the places that it reaches.
            rows = slice(row, row + reach + 1, layer.stride)
            columns = slice(column, column + reach + 1, layer.stride)
            padded[:, rows, columns] += x @ weight[row, column]
    inner = slice(layer.padding, layer.padding + layer.grown)
    return padded[:, inner, inner] * layer.scale + layer.bias
