"""The pair of DCGAN. Radford et al. 2016, https://arxiv.org/abs/1511.06434, as the code of
mathieu2019 has it for its sparsity experiments."""

from itertools import pairwise

from torch import nn

from vaescope.errors import UsageError
from vaescope.nets.pair import Pair

__all__ = ["dcgan_pair"]

#: Image size -> how often it is halved on the way to 4x4.
SIZES = {32: 3, 64: 4}


def _initialise(module: nn.Module) -> None:
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(part.weight, 0.0, 0.02)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def dcgan_pair(event: tuple[int, ...], latent: int, *, base: int = 32, width: int = 1) -> Pair:
    """The pair for square images of 32 or 64 pixels; channels double from `base` as size halves.

    Batch normalisation after each convolution but the encoder's first (mathieu2019's Table 1 has it
    there too, its code has not) and the decoder's last; no biases. The heads' 4x4 convolutions are
    the posterior's linear layer.

    Args:
        event: shape of one x.
        latent: number of latents.
        base: channels of the largest layer; they double as size halves.
        width: outputs that the likelihood takes per value of x.

    Returns:
        `Pair`: `encoder`: x -> features of that width; `decoder`: z -> output of the shape of x,
        its first axis multiplied by the likelihood's width.

    Raises:
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> pair = vs.nets.dcgan_pair((3, 64, 64), 4, base=4)
        >>> pair.decoder(torch.zeros(2, 4)).shape
        torch.Size([2, 3, 64, 64])
    """
    if len(event) != 3 or event[1] != event[2] or event[1] not in SIZES:
        raise UsageError(
            f"The DCGAN pair is for images of {' or '.join(map(str, SIZES))} pixels square; the "
            f"data have shape {event}.",
            "Use net.name=mlp, or data of that size.",
        )
    channels, size, _ = event
    widths = [base * 2**stage for stage in range(SIZES[size])]
    layers: list[nn.Module] = [nn.Conv2d(channels, base, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)]
    for fan_in, fan_out in pairwise(widths):
        layers += [
            nn.Conv2d(fan_in, fan_out, 4, 2, 1, bias=False),
            nn.BatchNorm2d(fan_out),
            nn.LeakyReLU(0.2),
        ]
    encoder = nn.Sequential(*layers, nn.Flatten())
    widths.reverse()
    layers = [
        nn.Unflatten(-1, (latent, 1, 1)),
        nn.ConvTranspose2d(latent, widths[0], 4, 1, 0, bias=False),
        nn.BatchNorm2d(widths[0]),
        nn.ReLU(),
    ]
    for fan_in, fan_out in pairwise(widths):
        layers += [
            nn.ConvTranspose2d(fan_in, fan_out, 4, 2, 1, bias=False),
            nn.BatchNorm2d(fan_out),
            nn.ReLU(),
        ]
    decoder = nn.Sequential(
        *layers, nn.ConvTranspose2d(base, width * channels, 4, 2, 1, bias=False)
    )
    _initialise(encoder)
    _initialise(decoder)
    return Pair(encoder, widths[0] * 16, decoder, _initialise)
