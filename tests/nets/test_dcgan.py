import pytest
import torch
from torch import nn

from vaescope.errors import UsageError
from vaescope.nets import dcgan_pair


@pytest.mark.parametrize(("size", "channels"), [(32, 1), (32, 3), (64, 1), (64, 3)])
@pytest.mark.parametrize("width", [1, 2])
def test_the_pair_maps_images_to_features_and_latents_to_images(
    size: int, channels: int, width: int
) -> None:
    pair = dcgan_pair((channels, size, size), 50, base=8, width=width)
    x = torch.rand(2, channels, size, size)
    assert pair.encoder(x).shape == (2, pair.features)
    assert pair.decoder(torch.randn(2, 50)).shape == (2, width * channels, size, size)


def test_the_32_pixel_pair_has_the_layers_of_mathieu2019_code() -> None:
    pair = dcgan_pair((1, 32, 32), 50)
    names = [type(m).__name__ for m in pair.encoder]
    assert names == [
        "Conv2d", "LeakyReLU",
        "Conv2d", "BatchNorm2d", "LeakyReLU",
        "Conv2d", "BatchNorm2d", "LeakyReLU", "Flatten",
    ]  # fmt: skip
    down = [m.out_channels for m in pair.encoder.modules() if isinstance(m, nn.Conv2d)]
    up = [m.out_channels for m in pair.decoder.modules() if isinstance(m, nn.ConvTranspose2d)]
    assert down == [32, 64, 128]
    assert up == [128, 64, 32, 1]
    assert pair.features == 128 * 16
    every = [*pair.encoder.modules(), *pair.decoder.modules()]
    filters = [m for m in every if isinstance(m, nn.Conv2d | nn.ConvTranspose2d)]
    assert all(m.bias is None for m in filters)
    slopes = {m.negative_slope for m in every if isinstance(m, nn.LeakyReLU)}
    assert slopes == {0.2}


def test_weights_and_heads_start_small() -> None:
    torch.manual_seed(0)
    pair = dcgan_pair((1, 32, 32), 50)
    head = nn.Linear(pair.features, 100)
    pair.initialise(head)
    for weight in (head.weight, pair.encoder[5].weight, pair.decoder[1].weight):
        torch.testing.assert_close(weight.std().item(), 0.02, rtol=0.02, atol=0)
    assert not head.bias.any()


def test_another_size_is_refused_with_a_remedy() -> None:
    with pytest.raises(UsageError, match=r"32 or 64 .*\(1, 28, 28\).*net.name=mlp"):
        dcgan_pair((1, 28, 28), 10)
