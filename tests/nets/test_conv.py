import pytest
import torch
from torch import nn

from vaescope.errors import UsageError
from vaescope.nets import conv_pair
from vaescope.nets.conv import LAYOUTS, Deconvolution

EVERY = [(name, size) for name, sizes in LAYOUTS.items() for size in sizes]


def convolutions(module: nn.Module) -> list[tuple[int, int, int]]:
    return [
        (m.out_channels, m.kernel_size[0], m.stride[0])
        for m in module.modules()
        if isinstance(m, nn.Conv2d | nn.ConvTranspose2d)
    ]


def dense(module: nn.Module) -> list[int]:
    return [m.out_features for m in module.modules() if isinstance(m, nn.Linear)]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("name", "size"), EVERY)
def test_the_pair_maps_images_to_features_and_latents_to_images(
    name: str, size: int, channels: int
) -> None:
    pair = conv_pair((channels, size, size), 10, layouts=LAYOUTS[name])
    x = torch.rand(2, channels, size, size)
    assert pair.encoder(x).shape == (2, pair.features)
    assert pair.decoder(torch.randn(2, 10)).shape == x.shape


@pytest.mark.parametrize(("name", "size"), EVERY)
def test_a_wide_likelihood_gets_longer_channels(name: str, size: int) -> None:
    pair = conv_pair((3, size, size), 4, layouts=LAYOUTS[name], width=2)
    assert pair.decoder(torch.randn(2, 4)).shape == (2, 6, size, size)


def test_the_64_pixel_pair_has_disentanglement_libs_layers() -> None:
    pair = conv_pair((1, 64, 64), 10)
    assert convolutions(pair.encoder) == [(32, 4, 2), (32, 4, 2), (64, 2, 2), (64, 2, 2)]
    assert dense(pair.encoder) == [256]
    assert dense(pair.decoder) == [256, 1024]
    assert [c for c, _, _ in convolutions(pair.decoder)] == [64, 32, 32, 1]


FOUR = [(32, 4, 2), (32, 4, 2), (64, 4, 2), (64, 4, 2)]


def test_zietlow2022s_pair_for_celeba_has_its_layers() -> None:
    pair = conv_pair((3, 64, 64), 32, layouts=LAYOUTS["rolinek"])
    assert convolutions(pair.encoder) == FOUR
    assert dense(pair.encoder) == []
    assert pair.features == 1024
    assert convolutions(pair.decoder) == [(64, 4, 2), (32, 4, 2), (32, 4, 2), (3, 4, 2)]


def test_mathieu2019s_pair_for_dsprites_has_no_activation_before_its_heads() -> None:
    pair = conv_pair((1, 64, 64), 10, layouts=LAYOUTS["mathieu"])
    assert convolutions(pair.encoder) == FOUR
    *_, last = pair.encoder.modules()
    assert isinstance(last, nn.Linear)
    assert last.out_features == pair.features == 128
    assert dense(pair.decoder) == [128, 1024]
    assert [c for c, _, _ in convolutions(pair.decoder)] == [64, 64, 32, 1]


@pytest.mark.parametrize("name", ["klindt", "bhowal"])
def test_slowvaes_and_bhowal2024_pairs_go_down_to_one_pixel_and_back(name: str) -> None:
    pair = conv_pair((3, 64, 64), 10, layouts=LAYOUTS[name])
    assert convolutions(pair.encoder) == [*FOUR, (256, 4, 1)]
    assert dense(pair.decoder) == [256]
    up = [(64, 4, 1), (64, 4, 2), (32, 4, 2), (32, 4, 2), (3, 4, 2)]
    assert convolutions(pair.decoder) == up


def test_bhowal2024s_pair_for_faces_has_batch_norm_and_the_released_decoder() -> None:
    pair = conv_pair((1, 64, 64), 10, layouts=LAYOUTS["bhowal-faces"])
    assert convolutions(pair.encoder) == [*FOUR, (512, 4, 1)]
    up = [(64, 4, 1), (64, 4, 2), (32, 4, 2), (32, 4, 2), (1, 4, 2)]
    assert dense(pair.decoder) == [512] and convolutions(pair.decoder) == up
    for part, count in ((pair.encoder, 5), (pair.decoder, 5)):
        layers = [type(m) for m in part]
        norms = [i for i, layer in enumerate(layers) if layer is nn.BatchNorm2d]
        assert len(norms) == count == layers.count(nn.ReLU)
        assert all(layers[i + 1] is nn.ReLU for i in norms)
    # The decoder as printed, from one pixel: it doubles four times.
    size = 1
    for kernel, stride, padding in [(1, 1, 0), *[(4, 2, 1)] * 4]:
        size = (size - 1) * stride - 2 * padding + kernel
    assert size == 16


@pytest.mark.slow
@pytest.mark.parametrize(("name", "std"), [("klindt", (2 / 1024) ** 0.5), ("bhowal", 0.02)])
def test_weights_start_as_the_paper_says(name: str, std: float) -> None:
    torch.manual_seed(0)
    pair = conv_pair((3, 64, 64), 10, layouts=LAYOUTS[name])
    last = [m for m in pair.encoder.modules() if isinstance(m, nn.Conv2d)][-1]
    torch.testing.assert_close(last.weight.std().item(), std, rtol=0.02, atol=0)
    assert not last.bias.any()
    # Transposed convolutions keep torch's start: uniform, so nothing lies beyond its bound.
    up = next(m for m in pair.decoder.modules() if isinstance(m, nn.ConvTranspose2d))
    assert up.weight.abs().max() <= (64 * 16) ** -0.5
    head = nn.Linear(256, 200)
    pair.initialise(head)
    expected = (2 / 256) ** 0.5 if name == "klindt" else 0.02
    torch.testing.assert_close(head.weight.std().item(), expected, rtol=0.02, atol=0)


def test_another_size_is_refused_with_a_remedy() -> None:
    with pytest.raises(UsageError, match=r"64 or 32 .*\(1, 28, 28\).*net.name=mlp"):
        conv_pair((1, 28, 28), 10)
    with pytest.raises(UsageError, match=r"images of 64 pixels"):
        conv_pair((1, 32, 32), 10, layouts=LAYOUTS["mathieu"])


def test_a_deconvolution_is_torchs_with_its_gradients() -> None:
    torch.manual_seed(0)
    ours = Deconvolution(6, 3, 4, 2, 1).double()
    theirs = nn.ConvTranspose2d(6, 3, 4, 2, 1).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 6, 5, 5, dtype=torch.double, requires_grad=True)
    weights = torch.randn(2, 3, 10, 10, dtype=torch.double)
    for layer in (ours, theirs):
        (layer(x) * weights).sum().backward()
    torch.testing.assert_close(ours(x), theirs(x))
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad)
