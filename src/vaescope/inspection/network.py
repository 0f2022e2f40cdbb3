"""A decoder as a list of layers: plain arrays that a page can carry and a browser can evaluate.

There are two kinds of layers. `Affine` is a transposed convolution in channels-last order, of which
a fully connected layer is the case of one pixel and a kernel of one; `Pointwise` is a function of
each value. `evaluate` is the reference of the page's script, which has the same loops.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FUNCTIONS", "Affine", "Layer", "Network", "Pointwise", "evaluate"]

Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Affine:
    """Images of `size` x `size` pixels to larger ones.

    Weights are whole numbers of `scale`. Floats of 16 bits would have 11 of them for the value,
    and were off by up to 0.002 in the output of trained decoders; these are off by a tenth of that.
    """

    size: int
    weight: NDArray[np.int16]  # (kernel, kernel, inputs, outputs)
    scale: Single  # (outputs,)
    bias: Single  # (outputs,)
    stride: int = 1
    padding: int = 0

    @property
    def grown(self) -> int:
        """Pixels of a side of the output."""
        return (self.size - 1) * self.stride + int(self.weight.shape[0]) - 2 * self.padding


@dataclass(frozen=True)
class Pointwise:
    """A function of `FUNCTIONS`; only leaky-relu has a slope."""

    name: str
    slope: float = 0.0


Layer = Affine | Pointwise


@dataclass(frozen=True, eq=False)
class Network:
    """Latents to an image in channels-last order."""

    layers: tuple[Layer, ...]
    shape: tuple[int, int, int]  # height, width, channels
    parameters: int
    deviation: float = 0.0  # the largest from the model itself, over the codes that were tried


#: What the page's script has under the same names.
FUNCTIONS: Mapping[str, Callable[[Single, float], Single]] = {
    "relu": lambda x, _: np.maximum(x, 0),
    "leaky-relu": lambda x, slope: np.where(x > 0, x, slope * x),
    "tanh": lambda x, _: np.tanh(x),
    "xtanh": lambda x, _: np.tanh(x) + 0.1 * x,
    # By tanh: the exponential of a large logit would overflow.
    "sigmoid": lambda x, _: 0.5 * np.tanh(0.5 * x) + 0.5,
}


def evaluate(network: Network, codes: NDArray[np.floating]) -> Single:
    """Outputs (n, height, width, channels) of codes (n, latent), in float32."""
    x = codes.astype(np.float32)
    for layer in network.layers:
        if isinstance(layer, Affine):
            x = _affine(layer, x)
        else:
            x = FUNCTIONS[layer.name](x, layer.slope)
    return x.reshape(len(codes), *network.shape)


def _affine(layer: Affine, x: Single) -> Single:
    kernel, _, inputs, outputs = layer.weight.shape
    weight = layer.weight.astype(np.float32)  # exact: 16 bits of 24
    x = x.reshape(len(x), layer.size, layer.size, inputs)
    reach = (layer.size - 1) * layer.stride
    padded = np.zeros((len(x), reach + kernel, reach + kernel, outputs), dtype=np.float32)
    for row in range(kernel):
        for column in range(kernel):
            # Every pixel of the input adds its weighted values to the places that it reaches.
            rows = slice(row, row + reach + 1, layer.stride)
            columns = slice(column, column + reach + 1, layer.stride)
            padded[:, rows, columns] += x @ weight[row, column]
    inner = slice(layer.padding, layer.padding + layer.grown)
    return padded[:, inner, inner] * layer.scale + layer.bias
