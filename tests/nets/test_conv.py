import pytest
import torch
from torch import nn

from vaescope.errors import UsageError
from vaescope.nets import conv_pair


@pytest.mark.parametrize(("size", "channels"), [(64, 1), (64, 3), (32, 1), (32, 3)])
def test_the_pair_maps_images_to_features_and_latents_to_images(size: int, channels: int) -> None:
    pair = conv_pair((channels, size, size), 10)
    x = torch.rand(2, channels, size, size)
    assert pair.encoder(x).shape == (2, pair.features)
    assert pair.decoder(torch.randn(2, 10)).shape == x.shape


def test_the_64_pixel_pair_has_disentanglement_libs_layers() -> None:
    pair = conv_pair((1, 64, 64), 10)
    convolutions = [m for m in pair.encoder.modules() if isinstance(m, nn.Conv2d)]
    assert [(m.out_channels, m.kernel_size[0], m.stride[0]) for m in convolutions] == [
        (32, 4, 2), (32, 4, 2), (64, 2, 2), (64, 2, 2),
    ]  # fmt: skip
    linear = [m.out_features for m in pair.decoder.modules() if isinstance(m, nn.Linear)]
    up = [m.out_channels for m in pair.decoder.modules() if isinstance(m, nn.ConvTranspose2d)]
    assert linear == [256, 1024]
    assert up == [64, 32, 32, 1]


def test_another_size_is_refused_with_a_remedy() -> None:
    with pytest.raises(UsageError, match=r"\(1, 28, 28\).*net.name=mlp"):
        conv_pair((1, 28, 28), 10)
