"""Decoders as lists of layers, so that the report can run them without a server: ours by their
modules, all others by their operations (`vaescope.inspection.tracing`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.distributions import Distribution
from vaescope.inspection.network import Network, Pointwise, evaluate
from vaescope.inspection.tracing import traced
from vaescope.inspection.weights import Unsupported, Weighted, array, rounded
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
from vaescope.traversals import Decode
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


@dataclass(frozen=True, eq=False)
class _Reading:
    """Layers read so far, and the shape of what comes out of them."""

    layers: tuple[Weighted | Pointwise, ...]
    height: int
    width: int
    channels: int


def _linear(layer: nn.Linear, so_far: _Reading) -> _Reading:
    weight = array(layer.weight).T[None, None]
    read = Weighted(1, weight, _bias(layer.bias, layer.out_features))
    return _Reading((*so_far.layers, read), 1, 1, layer.out_features)


def _deconvolution(layer: nn.ConvTranspose2d, so_far: _Reading) -> _Reading:
    sides = {so_far.height, so_far.width}, {*layer.kernel_size}, {*layer.stride}, {*layer.padding}
    plain = (layer.groups, {*layer.dilation}, {*layer.output_padding}) == (1, {1}, {0})
    if not plain or any(len(side) > 1 for side in sides):
        raise Unsupported(
            "it has a transposed convolution that the page's script does not support."
        )
    weight = array(layer.weight).transpose(2, 3, 0, 1)
    bias = _bias(layer.bias, layer.out_channels)
    stride, padding = int(layer.stride[0]), int(layer.padding[0])
    read = Weighted(so_far.height, weight, bias, stride, padding)
    return _Reading((*so_far.layers, read), read.grown, read.grown, layer.out_channels)


def _normalisation(layer: nn.BatchNorm2d, so_far: _Reading) -> _Reading:
    """Folded into the layer before: at rest it scales and shifts channels by constants."""
    last = _last(so_far)
    assert layer.running_mean is not None and layer.running_var is not None
    scale = array(layer.weight) / np.sqrt(array(layer.running_var) + layer.eps)
    shift = array(layer.bias) - array(layer.running_mean) * scale
    folded = replace(last, weight=last.weight * scale, bias=last.bias * scale + shift)
    return replace(so_far, layers=(*so_far.layers[:-1], folded))


def _channels_last(layer: ChannelsLast, so_far: _Reading) -> _Reading:
    return _Reading(so_far.layers, layer.size, layer.size, layer.channels)


def _unflatten(layer: nn.Unflatten, so_far: _Reading) -> _Reading:
    """Channels come first in its order; the layer before is put into ours."""
    shape = tuple(int(side) for side in layer.unflattened_size)
    if len(shape) != 3:
        raise Unsupported("it does not decode to images.")
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


def _bias(bias: Tensor | None, outputs: int) -> Array:
    return np.zeros(outputs, dtype=np.float32) if bias is None else array(bias)


def _last(so_far: _Reading) -> Weighted:
    if not so_far.layers or not isinstance(so_far.layers[-1], Weighted):
        raise Unsupported("its layers come in an order that the page's script does not support.")
    return so_far.layers[-1]


def _ordered(so_far: _Reading, order: Array) -> tuple[Weighted | Pointwise, ...]:
    """The last layer with some of its outputs, in another order."""
    last = _last(so_far)
    other = replace(last, weight=last.weight[..., order], bias=last.bias[order])
    return (*so_far.layers[:-1], other)


def _read(decoder: Decoder, latent: int) -> Network:
    count = sum(parameter.numel() for parameter in decoder.body.parameters())
    if count > MOST_PARAMETERS:
        raise _too_large(count)
    modules = [*decoder.body] if isinstance(decoder.body, nn.Sequential) else [decoder.body]
    likelihood = decoder.likelihood
    kinds = {type(module) for module in modules} - set(READERS)
    kinds |= {type(likelihood)} - set(MEANS)
    if kinds:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise Unsupported(f"the page's script does not support {names}.")
    read = _Reading((), 1, 1, latent)
    for module in modules:
        read = READERS[type(module)](module, read)
    means = read.channels // cast(Likelihood, likelihood).width
    places = np.arange(len(_last(read).bias)).reshape(-1, read.channels)[:, :means]
    layers = (*_ordered(read, places.ravel()), *MEANS[type(likelihood)])
    shape = (read.height, read.width, means)
    return Network(
        tuple(layer if isinstance(layer, Pointwise) else rounded(layer) for layer in layers),
        shape,
        count,
    )


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
def _deviation(network: Network, decode: Decode, codes: Floats) -> float:
    images = np.moveaxis(array(decode(torch.from_numpy(codes))), 1, -1)
    return float(np.abs(evaluate(network, codes) - images).max())


def _own(decoder: Decoder) -> Decode:
    device = next(decoder.parameters()).device

    def decode(z: Tensor) -> Tensor:
        found: Distribution = decoder(z.to(device))
        return found.mean

    return decode


def _too_large(count: int) -> Unsupported:
    return Unsupported(
        f"it has {count:,} parameters, more than the {MOST_PARAMETERS:,} that fit on a page."
    )


def _stranger(
    module: nn.Module | None, decode: Decode, latent: int, *, exact: bool = False
) -> Network:
    """By its operations; a module may hold more than the decoder, which alone counts."""
    whole = 0 if module is None else sum(own.numel() for own in module.parameters())
    if whole > 20 * MOST_PARAMETERS:
        raise _too_large(whole)
    network = traced(decode, latent, exact=exact)
    if network.parameters > MOST_PARAMETERS:
        raise _too_large(network.parameters)
    return network


def network_of(
    module: nn.Module | None,
    base: Floats,
    centre: Floats | float = 0.0,
    scale: Floats | float = 1.0,
    *,
    decode: Decode | None = None,
) -> tuple[Network | None, str]:
    """The decoder as layers with weights of 16 bits, and how far it is from torch; or None, and why
    there is none. `base` is the code that sliders start from, which are in units of the prior:
    `centre` and `scale` are its mean and standard deviation. `decode` makes images of codes with a
    decoder that is not one of ours."""
    try:
        if type(module) is Decoder:
            network, decode = _read(module, len(base)), _own(module)
        elif decode is not None:
            network = _stranger(module, decode, len(base))
        else:
            return None, "this decoder is not one of vaescope's own."
    except Unsupported as why:
        return None, str(why)
    tried = np.asarray(centre + scale * _tried((base - centre) / scale), dtype=np.float32)
    batches = np.array_split(tried, 1 + len(base) // BATCH)

    def deviation(own: Network) -> float:
        return float(np.max([_deviation(own, decode, codes) for codes in batches]))

    off = deviation(network)
    if not off <= MOST_DEVIATION and type(module) is not Decoder and _fits_exact(network):
        # A decoder with steep edges shows the rounding; small ones have room for all bits.
        network = _stranger(module, decode, len(base), exact=True)
        off = deviation(network)
    if not off <= MOST_DEVIATION:  # nor is it where it is no number
        return None, f"with weights of 16 bits it would be off by {off:.2g}."
    return replace(network, deviation=off), ""


def _fits_exact(network: Network) -> bool:
    return 2 * network.parameters <= MOST_PARAMETERS
