"""The convolutional pair of disentanglement_lib for 64x64 images, and its 32x32 sibling.

Locatello et al. 2019, https://arxiv.org/abs/1811.12359, as its code has it: kernels 4, 4, 2, 2
(papers print 4 for all), a fully connected layer of 1024 that papers omit, linear logits.
"""

import math

from torch import Tensor, nn

from vaescope.errors import UsageError
from vaescope.nets.pair import Pair

__all__ = ["SIZES", "conv_pair"]

#: Image size -> (channels, kernel) of the encoder's layers, and channels of the decoder's.
SIZES = {
    64: (((32, 4), (32, 4), (64, 2), (64, 2)), (64, 32, 32)),
    32: (((32, 4), (32, 4), (64, 2)), (32, 32)),
}


def _initialise(module: nn.Module) -> None:
    # TensorFlow's default, which the reference numbers were trained from.
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


class _Image(nn.Module):
    """(batch, channels * size * size) -> (batch, channels, size, size) in channels-last order,
    the layout in which CPU convolutions are fastest; the layer before learns which is which."""

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.channels, self.size = channels, size

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:-1], self.size, self.size, self.channels).movedim(-1, -3)


def conv_pair(event: tuple[int, ...], latent: int) -> Pair:
    """The pair for square images of 64 or 32 pixels with any number of channels."""
    if len(event) != 3 or event[1] != event[2] or event[1] not in SIZES:
        raise UsageError(
            f"The convolutional pair is for images of {' or '.join(map(str, SIZES))} pixels "
            f"square; the data have shape {event}.",
            "Use net.name=mlp, or data of such a size.",
        )
    channels, size, _ = event
    down, up = SIZES[size]
    layers: list[nn.Module] = []
    width = channels
    for out, kernel in down:
        layers += [nn.Conv2d(width, out, kernel, 2, (kernel - 2) // 2), nn.ReLU()]
        width = out
    encoder = nn.Sequential(*layers, nn.Flatten(), nn.Linear(width * 16, 256), nn.ReLU())
    layers = []
    for out in up:
        layers += [nn.ConvTranspose2d(width, out, 4, 2, 1), nn.ReLU()]
        width = out
    decoder = nn.Sequential(
        nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU(),
        _Image(64, math.isqrt(1024 // 64)), *layers,
        nn.ConvTranspose2d(width, channels, 4, 2, 1),
    )  # fmt: skip
    _initialise(encoder)
    _initialise(decoder)
    return Pair(encoder, 256, decoder)
