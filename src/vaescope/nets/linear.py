"""One affine map each way: the VAE that is probabilistic PCA (zietlow2022, Theorem 2)."""

import math

from torch import nn

from vaescope.nets.pair import Pair

__all__ = ["linear_pair"]


def linear_pair(event: tuple[int, ...], latent: int, *, width: int = 1) -> Pair:
    """The encoder's body is the data itself: its posterior head is the one affine map.

    Args:
        event: shape of one x.
        latent: number of latents.
        width: outputs that the likelihood reads per value of x.

    Returns:
        `Pair`: `encoder`: x -> features of that width; `decoder`: z -> output of the shape of x,
        its first axis as many times as long as the likelihood is wide.

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
