"""The two bodies of a VAE, made together because they mirror each other."""

from dataclasses import dataclass

from torch import nn

__all__ = ["Pair"]


@dataclass(frozen=True)
class Pair:
    """`encoder`: x -> features of that width; `decoder`: z -> output of the shape of x."""

    encoder: nn.Module
    features: int
    decoder: nn.Module
