import pytest
import torch
from torch import Tensor, nn
from torch.func import jacfwd, vmap

from vaescope.geometry.pushforward import pushforward
from vaescope.nets.fast_deconvolution import fits, upsample


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_upsampling_by_phases_is_the_transposed_convolution(channels: int) -> None:
    layer = nn.ConvTranspose2d(6, channels, 4, 2, 1, bias=False)
    assert fits(layer)
    x = torch.randn(2, 6, 5, 7)
    torch.testing.assert_close(upsample(x, layer.weight), layer(x), rtol=1e-5, atol=1e-5)


def test_other_transposed_convolutions_are_left_to_the_library() -> None:
    for layer in (
        nn.ConvTranspose2d(6, 8, 4, 2, 1), nn.ConvTranspose2d(6, 1, 3, 2, 1),
        nn.ConvTranspose2d(6, 2, 4, 2, 1, groups=2), nn.ConvTranspose2d(6, 1, 4, 2, 1, 1),
    ):  # fmt: skip
        assert not fits(layer)


class Odd(nn.Module):
    """A layer that no rule knows."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, (x**2).flip(1)], 1)


@pytest.mark.parametrize(
    "layers",
    [
        (nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 3), nn.Tanh()),
        (nn.Linear(4, 4), Odd(), nn.Sequential(nn.LeakyReLU(0.1), nn.Linear(8, 2)), nn.Sigmoid()),
        (nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 3, padding=1, padding_mode="circular"),
         nn.GELU(), nn.ConvTranspose2d(3, 2, 3, 2, 1), nn.Softplus(), nn.Flatten(), nn.SiLU()),
        (nn.Linear(4, 5), nn.LayerNorm(5), nn.ELU()),
    ],
    ids=["mlp", "odd", "conv", "norm"],
)  # fmt: skip
def test_tangents_through_layers_are_the_jacobian(layers: tuple[nn.Module, ...]) -> None:
    net = nn.Sequential(*layers).double()
    x = torch.randn(3, 4, dtype=torch.float64)
    with torch.no_grad():
        y, tangents = pushforward(net, x, torch.eye(4, dtype=torch.float64).expand(3, 4, 4))
        wanted = vmap(jacfwd(lambda z: net(z[None])[0].flatten()))(x)
        torch.testing.assert_close(y, net(x))
    torch.testing.assert_close(tangents.flatten(2).mT, wanted)


def test_a_layer_with_hooks_is_not_walked_through() -> None:
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, inputs, output: 3.0 * output)
    with torch.no_grad():
        _, tangents = pushforward(layer, torch.zeros(1, 2), torch.eye(2).expand(1, 2, 2))
        torch.testing.assert_close(tangents[0], 3.0 * layer.weight.T)
