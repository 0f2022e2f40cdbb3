"""One affine map each way: the VAE that is probabilistic PCA (zietlow2022, Theorem 2)."""

import math

from torch import nn

from vaescope.nets.pair import Pair

__all__ = ["linear_pair"]


def linear_pair(event: tuple[int, ...], latent: int, *, width: int = 1) -> Pair:
    """The encoder's body is the data itself: its posterior head is the one affine map."""
    size = math.prod(event)
    decoder = nn.Sequential(
        nn.Linear(latent, width * size), nn.Unflatten(-1, (width * event[0], *event[1:]))
    )
    return Pair(nn.Flatten(), size, decoder)
