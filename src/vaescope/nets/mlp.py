"""Fully connected pairs with each paper's widths and activations."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from torch import Tensor, nn

from vaescope.nets.pair import Pair

__all__ = ["ACTIVATIONS", "XTanh", "hidden_layers", "linear_pair", "mlp_pair"]


class XTanh(nn.Module):
    """tanh(x) + 0.1 x: the activation of Khemakhem et al.'s synthetic data and nets."""

    def forward(self, x: Tensor) -> Tensor:
        return x.tanh() + 0.1 * x


ACTIVATIONS: Mapping[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "leaky-relu": lambda: nn.LeakyReLU(0.1),
    "xtanh": XTanh,
}


def hidden_layers(widths: Sequence[int], activation: Callable[[], nn.Module]) -> list[nn.Module]:
    """Linear layers from each width to the next, each with its activation."""
    return [
        layer for fan_in, fan_out in pairwise(widths)
        for layer in (nn.Linear(fan_in, fan_out), activation())
    ]  # fmt: skip


def mlp_pair(
    event: tuple[int, ...],
    latent: int,
    *,
    encoder: Sequence[int],
    decoder: Sequence[int],
    encoder_activation: Callable[[], nn.Module],
    decoder_activation: Callable[[], nn.Module],
    width: int = 1,
) -> Pair:
    """A fully connected encoder and decoder; heads and outputs are linear.

    Args:
        event: shape of one x.
        latent: number of latents.
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
        >>> vs.nets.mlp_pair((8,), 2, encoder=[16], decoder=[16], **relu).features
        16
    """
    size = math.prod(event)
    down = nn.Sequential(nn.Flatten(), *hidden_layers([size, *encoder], encoder_activation))
    up = nn.Sequential(
        *hidden_layers([latent, *decoder], decoder_activation),
        nn.Linear([latent, *decoder][-1], width * size),
        nn.Unflatten(-1, (width * event[0], *event[1:])),
    )
    return Pair(down, [size, *encoder][-1], up)


def linear_pair(event: tuple[int, ...], latent: int, *, width: int = 1) -> Pair:
    """A linear pair: the encoder's body passes x on, so its only map is the posterior's head.

    Args:
        event: shape of one x.
        latent: number of latents.
        width: outputs that the likelihood takes per value of x.

    Returns:
        `Pair`: `encoder`: x -> features of that width; `decoder`: z -> output of the shape of x,
        its first axis multiplied by the likelihood's width.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.linear_pair((8,), 2).decoder(torch.zeros(3, 2)).shape
        torch.Size([3, 8])
    """
    size = math.prod(event)
    decoder = nn.Sequential(
        nn.Linear(latent, width * size), nn.Unflatten(-1, (width * event[0], *event[1:]))
    )
    return Pair(nn.Flatten(), size, decoder)
