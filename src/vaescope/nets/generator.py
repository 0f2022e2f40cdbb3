"""Decoders as generators: batch norm after each activation, as in Shu et al. 2020's code,
https://arxiv.org/abs/1910.09772. Without it the discriminator wins at once."""

from torch import nn

from vaescope.nets.mlp import XTanh

__all__ = ["generator_of"]

_ACTIVATIONS = (nn.ReLU, nn.LeakyReLU, nn.Tanh, XTanh)


def generator_of(decoder: nn.Module) -> nn.Module:
    """The same layers with batch norm after each activation that none comes before."""
    layers: list[nn.Module] = []
    norm: nn.Module | None = None  # of what the last layer with weights gives
    for layer in decoder.children():
        layers.append(layer)
        if isinstance(layer, nn.Linear):
            norm = nn.BatchNorm1d(layer.out_features)
        elif isinstance(layer, nn.ConvTranspose2d):
            norm = nn.BatchNorm2d(layer.out_channels)
        elif isinstance(layer, nn.BatchNorm2d):
            norm = None
        elif isinstance(layer, _ACTIVATIONS) and norm is not None:
            layers.append(norm)
    return nn.Sequential(*layers)
