"""The convolutional pairs of the papers: one literal table of layers and one builder."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from vaescope.errors import UsageError
from vaescope.nets.initialisation import glorot, kaiming, small_normal, torch_default
from vaescope.nets.pair import Pair

__all__ = [
    "LAYOUTS",
    "ChannelsLast",
    "Conv",
    "Deconvolution",
    "Dense",
    "Layout",
    "Up",
    "conv_pair",
    "convolutions",
    "deconvolutions",
]


@dataclass(frozen=True)
class Conv:
    """A convolution and a ReLU."""

    channels: int
    kernel: int = 4
    stride: int = 2
    padding: int = 1


@dataclass(frozen=True)
class Up:
    """A transposed convolution and a ReLU."""

    channels: int
    kernel: int = 4
    stride: int = 2
    padding: int = 1


@dataclass(frozen=True)
class Dense:
    """A fully connected layer, with a ReLU unless it is not `active`."""

    width: int
    active: bool = True


@dataclass(frozen=True)
class Layout:
    """Encoder: `down`, flatten, `features`, heads. Decoder: `dense`, an image of `channels`
    channels, `up`, and one more `Up` without ReLU that makes the output."""

    down: tuple[Conv, ...]
    features: tuple[Dense, ...]
    dense: tuple[Dense, ...]
    channels: int
    up: tuple[Up, ...]
    initialise: Callable[[nn.Module], None]
    normed: bool = False  # batch norm before each ReLU


_FOUR = (Conv(32), Conv(32), Conv(64), Conv(64))
_TO_ONE = (*_FOUR, Conv(256, 4, 1, 0))
_FROM_ONE = (Up(64, 4, 1, 0), Up(64), Up(32), Up(32))

#: Layout -> image size -> layers.
LAYOUTS: Mapping[str, Mapping[int, Layout]] = {
    # disentanglement_lib and grzes2023, bonheme2023 and zietlow2022 chapter 4. Locatello et al.
    # 2019, https://arxiv.org/abs/1811.12359, as its code has it: kernels 4, 4, 2, 2 (papers print 4
    # for all), a fully connected layer of 1024 that papers omit. The 32-pixel sibling is ours.
    "locatello": {
        64: Layout(
            (Conv(32), Conv(32), Conv(64, 2, 2, 0), Conv(64, 2, 2, 0)), (Dense(256),),
            (Dense(256), Dense(1024)), 64, (Up(64), Up(32), Up(32)), glorot,
        ),
        32: Layout(
            (Conv(32), Conv(32), Conv(64, 2, 2, 0)), (Dense(256),),
            (Dense(256), Dense(1024)), 64, (Up(32), Up(32)), glorot,
        ),
    },
    # zietlow2022 Table 3.1, CelebA. Its decoder's "[64], first layer fully connected" is read as 64
    # channels of 4x4: with 64 values its four layers of stride 2 would end at 16 pixels.
    "rolinek": {
        64: Layout(_FOUR, (), (Dense(1024),), 64, (Up(64), Up(32), Up(32)), torch_default),
    },
    # mathieu2019 Table 1a, dSprites: no ReLU after the encoder's 128.
    "mathieu": {
        64: Layout(
            _FOUR, (Dense(128, active=False),),
            (Dense(128), Dense(1024)), 64, (Up(64), Up(64), Up(32)), torch_default,
        ),
    },
    # SlowVAE, Klindt et al. 2021, https://arxiv.org/abs/2007.10930, the net of beta-VAE's authors.
    "klindt": {64: Layout(_TO_ONE, (), (Dense(256),), 256, _FROM_ONE, kaiming)},
    # bhowal2024's nets for 3D Shapes and MPI3D: the same layers from other weights.
    "bhowal": {64: Layout(_TO_ONE, (), (Dense(256),), 256, _FROM_ONE, small_normal)},
    # bhowal2024's for 3DFaces, as in its code, which has them from beta-TCVAE's (Chen et al. 2018,
    # https://arxiv.org/abs/1802.04942). The decoder of its Table 3 would end at 16 pixels.
    "bhowal-faces": {
        64: Layout(
            (*_FOUR, Conv(512, 4, 1, 0)), (), (Dense(512),), 512, _FROM_ONE, torch_default,
            normed=True,
        ),
    },
}  # fmt: skip


class ChannelsLast(nn.Module):
    """(batch, channels * size * size) -> (batch, channels, size, size) in channels-last order,
    the layout in which CPU convolutions are fastest; the layer before learns which is which."""

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.channels, self.size = channels, size

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:-1], self.size, self.size, self.channels).movedim(-1, -3)


class Deconvolution(nn.ConvTranspose2d):
    """`nn.ConvTranspose2d` with the bias added outside: oneDNN's gradient of a deconvolution's bias
    in channels-last order takes longer than those of its weights and inputs together."""

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        assert self.bias is not None
        y = F.conv_transpose2d(x, self.weight, None, self.stride, self.padding)  # type: ignore[arg-type]
        return y.add_(self.bias[:, None, None])


def _relu() -> nn.Module:
    # In place: no layer before it needs its output for the gradient.
    return nn.ReLU(inplace=True)


def _ending(channels: int, layout: Layout) -> list[nn.Module]:
    """What follows a convolution."""
    return [nn.BatchNorm2d(channels), _relu()] if layout.normed else [_relu()]


def layout_for(event: tuple[int, ...], layouts: Mapping[int, Layout]) -> Layout:
    """The layout for the size of these images."""
    if len(event) != 3 or event[1] != event[2] or event[1] not in layouts:
        raise UsageError(
            f"This convolutional pair is for images of {' or '.join(map(str, layouts))} pixels "
            f"square; the data have shape {event}.",
            "Use net.name=mlp, or data of that size.",
        )
    return layouts[event[1]]


def dense_layers(width: int, layers: tuple[Dense, ...]) -> list[nn.Module]:
    """Fully connected layers from `width` on."""
    modules: list[nn.Module] = []
    for layer in layers:
        modules += [nn.Linear(width, layer.width), *([_relu()] if layer.active else [])]
        width = layer.width
    return modules


def convolutions(event: tuple[int, ...], layout: Layout) -> tuple[list[nn.Module], int]:
    """The encoder's layers up to and with the flattening, and how many values they give."""
    width, size, _ = event
    modules: list[nn.Module] = []
    for conv in layout.down:
        modules += [
            nn.Conv2d(width, conv.channels, conv.kernel, conv.stride, conv.padding),
            *_ending(conv.channels, layout),
        ]
        width = conv.channels
        size = (size + 2 * conv.padding - conv.kernel) // conv.stride + 1
    return [*modules, nn.Flatten()], width * size * size


def deconvolutions(latent: int, channels: int, layout: Layout) -> nn.Sequential:
    """The decoder: latents to `channels` channels."""
    width = layout.channels
    flat = layout.dense[-1].width
    modules = [*dense_layers(latent, layout.dense), ChannelsLast(width, math.isqrt(flat // width))]
    if layout.normed:  # between the last layer and its ReLU, an image as its channels are normed
        modules = [*modules[:-2], modules[-1], *_ending(width, layout)]
    for up in layout.up:
        modules += [
            Deconvolution(width, up.channels, up.kernel, up.stride, up.padding),
            *_ending(up.channels, layout),
        ]
        width = up.channels
    return nn.Sequential(*modules, Deconvolution(width, channels, 4, 2, 1))


def conv_pair(
    event: tuple[int, ...],
    latent: int,
    *,
    layouts: Mapping[int, Layout] = LAYOUTS["locatello"],
    width: int = 1,
) -> Pair:
    """The pair for square images of a size in `layouts`, with any number of channels.

    Args:
        event: shape of one x.
        latent: number of latents.
        layouts: layers by size of the image.
        width: outputs that the likelihood takes per value of x.

    Returns:
        `Pair`: `encoder`: x -> features of that width; `decoder`: z -> output of the shape of x,
        its first axis multiplied by the likelihood's width.

    Raises:
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> pair = vs.nets.conv_pair((1, 64, 64), 4)
        >>> pair.decoder(torch.zeros(2, 4)).shape
        torch.Size([2, 1, 64, 64])
    """
    layout = layout_for(event, layouts)
    modules, flat = convolutions(event, layout)
    encoder = nn.Sequential(*modules, *dense_layers(flat, layout.features))
    decoder = deconvolutions(latent, width * event[0], layout)
    layout.initialise(encoder)
    layout.initialise(decoder)
    features = layout.features[-1].width if layout.features else flat
    return Pair(encoder, features, decoder, layout.initialise)
