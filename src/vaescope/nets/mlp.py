"""Fully connected pairs with each paper's widths and activations."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from torch import nn

from vaescope.nets.pair import Pair

__all__ = ["ACTIVATIONS", "mlp_pair"]

ACTIVATIONS: Mapping[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "leaky-relu": lambda: nn.LeakyReLU(0.1),
}


def _layers(widths: Sequence[int], activation: Callable[[], nn.Module]) -> list[nn.Module]:
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
) -> Pair:
    """Hidden widths in the order in which data flow; heads and outputs are linear."""
    size = math.prod(event)
    down = nn.Sequential(nn.Flatten(), *_layers([size, *encoder], encoder_activation))
    up = nn.Sequential(
        *_layers([latent, *decoder], decoder_activation),
        nn.Linear([latent, *decoder][-1], size),
        nn.Unflatten(-1, event),
    )
    return Pair(down, [size, *encoder][-1], up)
