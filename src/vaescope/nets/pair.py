"""The two bodies of a VAE, made together because they mirror each other."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from vaescope.nets.initialisation import torch_default

__all__ = ["Pair"]


@dataclass(frozen=True)
class Pair:
    """`encoder`: x -> features of that width; `decoder`: z -> output of the shape of x, its first
    axis multiplied by the likelihood's width.

    Example:
        >>> import vaescope as vs
        >>> vs.nets.linear_pair((8,), 2).features
        8
    """

    encoder: nn.Module
    features: int
    decoder: nn.Module
    #: Initialisation of the posterior's heads, if the paper states it; bodies are initialised.
    initialise: Callable[[nn.Module], None] = torch_default
