"""Bodies of encoders that see u: q(z|x, u) of identifiable VAEs. Khemakhem et al. 2020,
https://arxiv.org/abs/1907.04809; grzes2023 for images."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from vaescope.nets.conv import (
    LAYOUTS,
    Layout,
    convolutions,
    deconvolutions,
    dense_layers,
    layout_for,
)
from vaescope.nets.mlp import hidden_layers, mlp_pair
from vaescope.nets.pair import Pair

__all__ = ["ConditionalBody", "conditional_conv_pair", "conditional_mlp_pair"]


class ConditionalBody(nn.Module):
    """x, u -> features: `body` reads x, `join` what comes of it together with u."""

    def __init__(self, body: nn.Module, join: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.join = join

    def forward(self, x: Tensor, u: Tensor) -> Tensor:
        return cast(Tensor, self.join(torch.cat([self.body(x), u], -1)))


def conditional_conv_pair(
    event: tuple[int, ...],
    latent: int,
    auxiliary: int,
    *,
    layouts: Mapping[int, Layout] = LAYOUTS["locatello"],
    width: int = 1,
) -> Pair:
    """grzes2023's pair for images: u of width `auxiliary` joins the flattened convolutions, and
    the fully connected layers behind them are wider by `auxiliary` (its 261 is 256 + 5).

    Args:
        event: shape of one x.
        latent: number of latents.
        auxiliary: number of values of u.
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
        >>> pair = vs.nets.conditional_conv_pair((1, 64, 64), 4, auxiliary=3)
        >>> pair.encoder(torch.zeros(2, 1, 64, 64), torch.zeros(2, 3)).shape[1] == pair.features
        True
    """
    layout = layout_for(event, layouts)
    modules, flat = convolutions(event, layout)
    dense = tuple(replace(layer, width=layer.width + auxiliary) for layer in layout.features)
    features = flat + auxiliary
    join = nn.Sequential(*dense_layers(features, dense))
    encoder = ConditionalBody(nn.Sequential(*modules), join)
    decoder = deconvolutions(latent, width * event[0], layout)
    layout.initialise(encoder)
    layout.initialise(decoder)
    return Pair(encoder, dense[-1].width if dense else features, decoder, layout.initialise)


def conditional_mlp_pair(
    event: tuple[int, ...],
    latent: int,
    auxiliary: int,
    *,
    encoder: Sequence[int],
    decoder: Sequence[int],
    encoder_activation: Callable[[], nn.Module],
    decoder_activation: Callable[[], nn.Module],
    width: int = 1,
) -> Pair:
    """Khemakhem's pair for vectors: x and u side by side enter the first hidden layer.

    Their nets for mean and log-variance share no layer: that is `encoder=()` with
    `SeparatePosterior`.

    Args:
        event: shape of one x.
        latent: number of latents.
        auxiliary: number of values of u.
        encoder: hidden widths of the encoder, in the order in which data flow.
        decoder: hidden widths of the decoder, in the order in which data flow.
        encoder_activation: function that makes an activation.
        decoder_activation: function that makes an activation.
        width: outputs that the likelihood takes per value of x.

    Returns:
        `Pair`: `encoder`: x -> features of that width; `decoder`: z -> output of the shape of x,
        its first axis multiplied by the likelihood's width.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> relu = {"encoder_activation": torch.nn.ReLU, "decoder_activation": torch.nn.ReLU}
        >>> pair = vs.nets.conditional_mlp_pair((8,), 2, 3, encoder=[16], decoder=[16], **relu)
        >>> pair.encoder(torch.zeros(2, 8), torch.zeros(2, 3)).shape
        torch.Size([2, 16])
    """
    plain = mlp_pair(
        event,
        latent,
        encoder=(),
        decoder=decoder,
        encoder_activation=encoder_activation,
        decoder_activation=decoder_activation,
        width=width,
    )
    widths = [math.prod(event) + auxiliary, *encoder]
    join = nn.Sequential(*hidden_layers(widths, encoder_activation))
    return replace(plain, encoder=ConditionalBody(plain.encoder, join), features=widths[-1])
