"""Transposed convolutions that double an image, two to three times faster on CPUs.

Kernel 4, stride 2, padding 1 are the last layers of most convolutional decoders. Each of the four
phases of the output (even and odd rows and columns) is a 2 x 2 convolution of the input. Where
there is a C compiler, all of them run in C with their biases and ReLUs, an image at a time
(`native/deconvolution.c`); else those to few channels as one convolution to four times as many.
"""

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn import functional as F

from vaescope.native import library
from vaescope.nets.conv import Deconvolution
from vaescope.vae import Decoder

__all__ = ["changed", "doubled", "doubles", "fits", "quick_decoder", "quickened", "upsample"]


def fits(layer: nn.ConvTranspose2d) -> bool:
    """Whether `upsample` computes this layer, and faster than the library: with more output
    channels the library wins."""
    return doubles(layer) and layer.out_channels <= 4


def doubles(layer: nn.ConvTranspose2d) -> bool:
    """Whether it has the kernel, stride and padding of which this module is."""
    shape = (layer.kernel_size, layer.stride, layer.padding, layer.output_padding, layer.dilation)
    return shape == ((4, 4), (2, 2), (1, 1), (0, 0), (1, 1)) and layer.groups == 1


def upsample(x: Tensor, weight: Tensor) -> Tensor:
    """conv_transpose2d(x, weight, stride=2, padding=1) for kernels of 4 x 4."""
    n, inputs, height, width = x.shape
    outputs = weight.shape[1]
    # Output row 2m sees input rows m-1, m by kernel rows 3, 1; row 2m-1 sees them by rows 2, 0.
    taps = weight.permute(1, 0, 2, 3)[:, :, [[3, 1], [2, 0]]]  # (out, in, phase, row, 4)
    taps = taps[..., [[3, 1], [2, 0]]]  # (out, in, phase, row, phase, column)
    kernel = taps.permute(0, 2, 4, 1, 3, 5).reshape(4 * outputs, inputs, 2, 2)
    y = F.conv2d(x, kernel, padding=1)
    y = y.reshape(n, outputs, 2, 2, height + 1, width + 1)
    out = torch.empty(n, outputs, height, 2, width, 2, dtype=x.dtype, device=x.device)
    for row in (0, 1):
        for column in (0, 1):
            phase = y[:, :, row, column, row : row + height, column : column + width]
            out[:, :, :, row, :, column] = phase
    return out.view(n, outputs, 2 * height, 2 * width)


def changed(layer: nn.Module) -> bool:
    """Whether hooks, or a forward of its own, may make it another function."""
    hooked = layer._forward_hooks or layer._forward_pre_hooks
    return bool(hooked) or "forward" in vars(layer)


def quickened(body: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """The same function to rounding; a sequence of layers takes its transposed convolutions in C,
    or those to few channels by `upsample`: they are nearly all of a convolutional decoder's
    time."""
    if type(body) is not nn.Sequential or changed(body):
        return body
    layers = list(body)

    def forward(x: Tensor) -> Any:
        place = 0
        while place < len(layers):
            links = _links(layers[place:])
            y = _chained(links, x) if links else None
            if y is None:
                x, place = _quick(layers[place], x), place + 1
            else:
                x, place = y, place + sum(1 + link.relu for link in links)
        return x

    return forward


@dataclass(frozen=True, eq=False)
class _Link:
    """A transposed convolution and whether a ReLU follows."""

    weight: Tensor  # (in, out, 4, 4)
    bias: Tensor | None
    relu: bool


def _links(layers: Sequence[nn.Module]) -> list[_Link]:
    """The layers that C computes, from the first on: each but the last to a multiple of sixteen
    channels, the last to as many or to at most four."""
    links: list[_Link] = []
    place = 0
    while place < len(layers):
        layer = layers[place]
        if type(layer) not in (nn.ConvTranspose2d, Deconvolution) or changed(layer):
            break
        assert isinstance(layer, nn.ConvTranspose2d)
        if not doubles(layer) or (layer.out_channels > 4 and layer.out_channels % 16):
            break
        after = layers[place + 1] if place + 1 < len(layers) else None
        relu = type(after) is nn.ReLU and not changed(after)
        links.append(_Link(layer.weight, layer.bias, relu))
        place += 1 + relu
        if layer.out_channels <= 4:
            break
    return links


def doubled(x: Tensor, weight: Tensor) -> Tensor:
    """conv_transpose2d(x, weight, stride=2, padding=1) for kernels of 4 x 4, as fast as it goes
    here."""
    outputs = weight.shape[1]
    if outputs <= 4 or outputs % 16 == 0:
        y = _chained([_Link(weight, None, False)], x)
        if y is not None:
            return y
    if outputs <= 4:
        return upsample(x, weight)
    return F.conv_transpose2d(x, weight, None, 2, 1)


def _chained(links: Sequence[_Link], x: Tensor) -> Tensor | None:
    """x (n, channels, height, width) through all of them in C, or None where it must not be: no
    derivative is known of it, and its numbers are float32 of this machine's memory."""
    own = [x, *(t for link in links for t in (link.weight, link.bias) if t is not None)]
    plain = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in own)
    watched = torch.is_grad_enabled() and any(t.requires_grad for t in own)
    derived = watched or forward_ad._current_level >= 0 or torch.is_autocast_enabled("cpu")
    if not plain or derived or x.ndim != 4 or x.shape[1] != links[0].weight.shape[0]:
        return None
    compiled = library("deconvolution")
    if compiled is None:
        return None
    n, _, height, width = x.shape
    channels = [links[0].weight.shape[0], *(link.weight.shape[1] for link in links)]
    weights = [_packed(link.weight.detach()) for link in links]
    biases = [
        (link.weight.new_zeros(link.weight.shape[1]) if link.bias is None else link.bias)
        .detach().contiguous()
        for link in links
    ]  # fmt: skip
    rows = x.detach().permute(0, 2, 3, 1).contiguous()
    out = (height << len(links), width << len(links))
    few = channels[-1] <= 4
    y = x.new_empty((n, channels[-1], *out) if few else (n, *out, channels[-1]))
    count = len(links)
    settings = (
        (ctypes.c_int64 * (count + 1))(*channels),
        (ctypes.c_void_p * count)(*(w.data_ptr() for w in weights)),
        (ctypes.c_void_p * count)(*(b.data_ptr() for b in biases)),
        (ctypes.c_int64 * count)(*(int(link.relu) for link in links)),
    )

    def run(start: int, stop: int) -> int:
        sizes = (ctypes.c_int64(size) for size in (stop - start, height, width, count))
        at = (ctypes.c_void_p(own[start:].data_ptr()) for own in (rows, y))
        return int(compiled.chain(*sizes, *settings, *at))

    threads = min(torch.get_num_threads(), n)
    if threads < 2:
        done = [run(0, n)] if n else []
    else:
        bounds = [n * k // threads for k in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            done = list(pool.map(run, bounds[:-1], bounds[1:]))
    if not all(done):
        raise MemoryError("transposed convolutions")
    return y if few else y.permute(0, 3, 1, 2)


def _packed(weight: Tensor) -> Tensor:
    """Kernels in the order in which C reads them."""
    if weight.shape[1] <= 4:
        return weight.reshape(len(weight), -1).contiguous()
    # Output row 2m sees input rows m-1, m by kernel rows 3, 1; row 2m+1 sees m, m+1 by 2, 0.
    order = torch.tensor([[3, 1], [2, 0]])
    taps = weight.permute(2, 3, 0, 1)[order][:, :, order]  # (phase, row, phase, column, in, out)
    return taps.transpose(1, 2).contiguous()


def quick_decoder(decode: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """The same function to rounding: a `Decoder` with its body quickened, anything else as it
    is."""
    if type(decode) is not Decoder or changed(decode):
        return decode
    body, likelihood = quickened(decode.body), decode.likelihood
    return lambda z: likelihood(body(z).to(z.dtype))


def _quick(layer: nn.Module, x: Tensor) -> Any:
    if type(layer) not in (nn.ConvTranspose2d, Deconvolution) or changed(layer):
        return layer(x)
    assert isinstance(layer, nn.ConvTranspose2d)
    if x.ndim != 4 or not fits(layer):
        return layer(x)
    y = upsample(x.contiguous(memory_format=torch.channels_last), layer.weight)
    return y if layer.bias is None else y + layer.bias[:, None, None]
