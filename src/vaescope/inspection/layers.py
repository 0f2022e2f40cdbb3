"""Our own decoders read as lists of layers, so that the report can run them without a server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.distributions import Distribution
from vaescope.inspection.network import Affine, Layer, Network, Pointwise, evaluate
from vaescope.nets.conv import ChannelsLast, Deconvolution
from vaescope.nets.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    Likelihood,
    LocalGaussianLikelihood,
    SquaredErrorLikelihood,
)
from vaescope.nets.mlp import XTanh
from vaescope.types import Array, Floats
from vaescope.vae import Decoder

__all__ = ["MOST_DEVIATION", "MOST_PARAMETERS", "REACH", "network_of", "reaches"]

#: Weights that a page can carry: 3 MB at 16 bits each, 3.75 MB as text.
MOST_PARAMETERS = 1_500_000
#: Of any value of x, from what torch makes of the same code; a grey level is four times as much.
MOST_DEVIATION = 1e-3
#: How far sliders go, in standard deviations of the prior.
REACH = 3.0
#: Codes from anywhere within that reach, on which a network is checked beside the sliders' ends.
DRAWN = 64
BATCH = 64  # latents, two ends each, whose codes are decoded at a time


class _Unsupported(Exception):
    """Why a decoder cannot be read; never leaves this module."""


@dataclass(frozen=True, eq=False)
class _Weighted:
    """An `Affine` whose weights are still what torch has."""

    size: int
    weight: Array  # (kernel, kernel, inputs, outputs)
    bias: Array
    stride: int = 1
    padding: int = 0

    @property
    def grown(self) -> int:
        return (self.size - 1) * self.stride + int(self.weight.shape[0]) - 2 * self.padding


@dataclass(frozen=True, eq=False)
class _Reading:
    """Layers read so far, and the shape of what comes out of them."""

    layers: tuple[_Weighted | Pointwise, ...]
    height: int
    width: int
    channels: int


def _linear(layer: nn.Linear, so_far: _Reading) -> _Reading:
    weight = _array(layer.weight).T[None, None]
    read = _Weighted(1, weight, _bias(layer.bias, layer.out_features))
    return _Reading((*so_far.layers, read), 1, 1, layer.out_features)


def _deconvolution(layer: nn.ConvTranspose2d, so_far: _Reading) -> _Reading:
    sides = {so_far.height, so_far.width}, {*layer.kernel_size}, {*layer.stride}, {*layer.padding}
    plain = (layer.groups, {*layer.dilation}, {*layer.output_padding}) == (1, {1}, {0})
    if not plain or any(len(side) > 1 for side in sides):
        raise _Unsupported("it has a transposed convolution that the page's script does not know.")
    weight = _array(layer.weight).transpose(2, 3, 0, 1)
    bias = _bias(layer.bias, layer.out_channels)
    stride, padding = int(layer.stride[0]), int(layer.padding[0])
    read = _Weighted(so_far.height, weight, bias, stride, padding)
    return _Reading((*so_far.layers, read), read.grown, read.grown, layer.out_channels)


def _normalisation(layer: nn.BatchNorm2d, so_far: _Reading) -> _Reading:
    """Folded into the layer before: at rest it scales and shifts channels by constants."""
    last = _last(so_far)
    assert layer.running_mean is not None and layer.running_var is not None
    scale = _array(layer.weight) / np.sqrt(_array(layer.running_var) + layer.eps)
    shift = _array(layer.bias) - _array(layer.running_mean) * scale
    folded = replace(last, weight=last.weight * scale, bias=last.bias * scale + shift)
    return replace(so_far, layers=(*so_far.layers[:-1], folded))


def _channels_last(layer: ChannelsLast, so_far: _Reading) -> _Reading:
    return _Reading(so_far.layers, layer.size, layer.size, layer.channels)


def _unflatten(layer: nn.Unflatten, so_far: _Reading) -> _Reading:
    """Channels come first in its order; the layer before is put into ours."""
    shape = tuple(int(side) for side in layer.unflattened_size)
    if len(shape) != 3:
        raise _Unsupported("it does not decode to images.")
    channels, height, width = shape
    if height * width == 1:
        return _Reading(so_far.layers, 1, 1, channels)
    order = np.arange(channels * height * width).reshape(shape).transpose(1, 2, 0).ravel()
    return _Reading(_ordered(so_far, order), height, width, channels)


def _pointwise(name: str) -> Callable[[nn.Module, _Reading], _Reading]:
    return lambda _, so_far: replace(so_far, layers=(*so_far.layers, Pointwise(name)))


def _leaky(layer: nn.LeakyReLU, so_far: _Reading) -> _Reading:
    read = Pointwise("leaky-relu", float(layer.negative_slope))
    return replace(so_far, layers=(*so_far.layers, read))


#: Module -> how it continues what was read so far. By exact type: a subclass may do anything.
READERS: Mapping[type[nn.Module], Callable[[Any, _Reading], _Reading]] = {
    nn.Linear: _linear,
    nn.ConvTranspose2d: _deconvolution,
    Deconvolution: _deconvolution,
    nn.BatchNorm2d: _normalisation,
    ChannelsLast: _channels_last,
    nn.Unflatten: _unflatten,
    nn.ReLU: _pointwise("relu"),
    nn.Tanh: _pointwise("tanh"),
    XTanh: _pointwise("xtanh"),
    nn.LeakyReLU: _leaky,
}

#: Likelihood -> what makes its mean of the output; a wide one has its means first.
MEANS: Mapping[type[nn.Module], tuple[Pointwise, ...]] = {
    BernoulliLikelihood: (Pointwise("sigmoid"),),
    GaussianLikelihood: (),
    LaplaceLikelihood: (),
    LocalGaussianLikelihood: (),
    SquaredErrorLikelihood: (),
}


def _array(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().float().cpu().numpy())


def _bias(bias: Tensor | None, outputs: int) -> Array:
    return np.zeros(outputs, dtype=np.float32) if bias is None else _array(bias)


def _last(so_far: _Reading) -> _Weighted:
    if not so_far.layers or not isinstance(so_far.layers[-1], _Weighted):
        raise _Unsupported("its layers come in an order that the page's script does not know.")
    return so_far.layers[-1]


def _ordered(so_far: _Reading, order: Array) -> tuple[_Weighted | Pointwise, ...]:
    """The last layer with some of its outputs, in another order."""
    last = _last(so_far)
    other = replace(last, weight=last.weight[..., order], bias=last.bias[order])
    return (*so_far.layers[:-1], other)


def _rounded(layer: _Weighted | Pointwise) -> Layer:
    if isinstance(layer, Pointwise):
        return layer
    if not (np.isfinite(layer.weight).all() and np.isfinite(layer.bias).all()):
        raise _Unsupported("some of its weights are not finite.")
    most = np.abs(layer.weight).max((0, 1, 2))
    scale = np.where(most > 0, most / 32767, 1.0).astype(np.float32)
    whole = np.clip(np.round(layer.weight / scale), -32767, 32767).astype(np.int16)
    return Affine(
        layer.size, np.ascontiguousarray(whole), scale, layer.bias, layer.stride, layer.padding
    )


def _read(decoder: Decoder, latent: int) -> Network:
    count = sum(parameter.numel() for parameter in decoder.body.parameters())
    if count > MOST_PARAMETERS:
        raise _Unsupported(
            f"it has {count:,} parameters, more than the {MOST_PARAMETERS:,} that fit on a page."
        )
    modules = [*decoder.body] if isinstance(decoder.body, nn.Sequential) else [decoder.body]
    likelihood = decoder.likelihood
    kinds = {type(module) for module in modules} - set(READERS)
    kinds |= {type(likelihood)} - set(MEANS)
    if kinds:
        names = " and no ".join(sorted(kind.__name__ for kind in kinds))
        raise _Unsupported(f"the page's script knows no {names}.")
    read = _Reading((), 1, 1, latent)
    for module in modules:
        read = READERS[type(module)](module, read)
    means = read.channels // cast(Likelihood, likelihood).width
    places = np.arange(len(_last(read).bias)).reshape(-1, read.channels)[:, :means]
    layers = (*_ordered(read, places.ravel()), *MEANS[type(likelihood)])
    shape = (read.height, read.width, means)
    return Network(tuple(_rounded(layer) for layer in layers), shape, count)


def reaches(base: Floats) -> list[tuple[float, float]]:
    """From where to where the slider of each latent goes: far enough to hold where it starts."""
    return [(min(-REACH, np.floor(z)), max(REACH, np.ceil(z))) for z in base.tolist()]


def _tried(base: Floats) -> Floats:
    """Codes to check: the start, both ends of each slider, and draws from all that they reach."""
    low, high = np.array(reaches(base)).T
    ends = np.tile(base, (2 * len(base), 1))
    ends[np.arange(2 * len(base)), np.arange(2 * len(base)) // 2] = np.stack([low, high], 1).ravel()
    drawn = np.random.default_rng(0).uniform(low, high, (DRAWN, len(base)))
    codes: Floats = np.concatenate([base[None], ends, drawn]).astype(np.float32)
    return codes


@torch.inference_mode()
def _deviation(network: Network, decoder: Decoder, codes: Floats) -> float:
    device = next(decoder.parameters()).device
    wanted: Distribution = decoder(torch.from_numpy(codes).to(device))
    images = np.moveaxis(_array(wanted.mean), 1, -1)
    return float(np.abs(evaluate(network, codes) - images).max())


def network_of(
    module: nn.Module | None,
    base: Floats,
    centre: Floats | float = 0.0,
    scale: Floats | float = 1.0,
) -> tuple[Network | None, str]:
    """The decoder as layers with weights of 16 bits, and how far it is from torch; or None, and why
    there is none. `base` is the code that sliders start from, which are in units of the prior:
    `centre` and `scale` are its mean and standard deviation."""
    if type(module) is not Decoder:
        return None, "this decoder is not one of vaescope's own."
    try:
        network = _read(module, len(base))
    except _Unsupported as why:
        return None, str(why)
    tried = np.asarray(centre + scale * _tried((base - centre) / scale), dtype=np.float32)
    batches = np.array_split(tried, 1 + len(base) // BATCH)
    deviation = float(np.max([_deviation(network, module, codes) for codes in batches]))
    if not deviation <= MOST_DEVIATION:  # nor is it where it is no number
        return None, f"with weights of 16 bits it would be off by {deviation:.2g}."
    return replace(network, deviation=deviation), ""
