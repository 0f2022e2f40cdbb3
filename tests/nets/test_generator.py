"""Batch norm after each activation of a decoder that is a generator."""

import pytest
import torch
from torch import nn

from vaescope.build import build_vae
from vaescope.nets.generator import generator_of
from vaescope.settings import from_command_line

_MLP = ["data.name=dsprites", "data.size=32", "net.name=mlp", "net.decoder=[16,8]", "latent=3"]


def kinds(body: nn.Module) -> list[str]:
    return [type(layer).__name__ for layer in body.children()]


def test_each_activation_is_followed_by_a_norm_of_its_width_and_the_output_is_not() -> None:
    body = build_vae(from_command_line("weak-gan", _MLP)).decoder.body
    assert kinds(body) == ["Linear", "ReLU", "BatchNorm1d"] * 2 + ["Linear", "Unflatten"]
    norms = [layer.num_features for layer in body.children() if isinstance(layer, nn.BatchNorm1d)]
    assert norms == [16, 8]


@pytest.mark.parametrize("net", ["conv", "mlp"])
def test_the_layers_are_the_decoders_own_and_start_as_they_would(net: str) -> None:
    settings = ["data.name=dsprites", "data.size=32", f"net.name={net}", "latent=3"]
    plain = build_vae(from_command_line("weak-gan", [*settings, "objective.generator_norm=false"]))
    normed = build_vae(from_command_line("weak-gan", settings))
    assert not any("BatchNorm" in kind for kind in kinds(plain.decoder.body))
    weights = {name.split(".")[-1]: p.shape for name, p in plain.decoder.named_parameters()}
    assert weights  # there is something to compare
    layers = [m for m in normed.decoder.body.children() if "BatchNorm" not in type(m).__name__]
    for ours, theirs in zip(layers, plain.decoder.body.children(), strict=True):
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(one, other)
    assert normed.decoder(torch.randn(4, 3)).mean.shape == (4, 1, 32, 32)


def test_a_norm_that_is_there_is_not_repeated() -> None:
    body = nn.Sequential(nn.ConvTranspose2d(2, 4, 4), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    assert kinds(generator_of(body)) == kinds(body)
