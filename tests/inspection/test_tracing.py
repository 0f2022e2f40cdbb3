"""Strangers' decoders by their operations: the same function as torch's, or none and a reason."""

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vaescope.inspection.layers import network_of
from vaescope.inspection.network import Affine, evaluate

D = 4
START = np.zeros(D)


class Residual(nn.Module):
    def __init__(self, channels: int, activation: nn.Module) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 1, bias=False)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(self.activation(self.norm(self.first(x))))


class Functional(nn.Module):
    """As people write forward: views by size, functions, a skip by concatenation, a range."""

    def __init__(self) -> None:
        super().__init__()
        self.start, self.middle = nn.Linear(D, 24), nn.Linear(24, 4 * 16)
        self.up = nn.ConvTranspose2d(4, 3, 4, 2, 1)
        self.last = nn.Conv2d(6, 2, 3, padding=1)

    def forward(self, z: Tensor) -> Tensor:
        h = F.relu(self.middle(torch.tanh(self.start(z)))).view(z.size(0), 4, 4, 4)
        h = self.up(h)
        both = torch.cat([h, F.interpolate(h[:, :, ::2, ::2], scale_factor=2)], dim=1)
        return (1 - 0.5 * self.last(both).permute(0, 1, 3, 2).clamp(-1, 1)) / 2 + 0.1


def _start(channels: int) -> tuple[nn.Module, ...]:
    return nn.Linear(D, channels * 16), nn.Unflatten(1, (channels, 4, 4))


DECODERS: dict[str, Callable[[], nn.Module]] = {
    "residual": lambda: nn.Sequential(
        *_start(8), Residual(8, nn.SiLU()), nn.Upsample(scale_factor=2),
        nn.Conv2d(8, 8, 3, padding=1), nn.LeakyReLU(0.2, inplace=True),
        nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(8, 3, 3, padding=1), nn.Sigmoid(),
    ),
    "output padding": lambda: nn.Sequential(
        nn.Linear(D, 64), nn.BatchNorm1d(64), nn.ELU(), nn.Unflatten(1, (4, 4, 4)),
        nn.ConvTranspose2d(4, 8, 3, 2, 1, output_padding=1), nn.GELU(),
        nn.ConvTranspose2d(8, 1, 3, 2, 1, output_padding=1), nn.Tanh(),
    ),
    "pixel shuffle": lambda: nn.Sequential(
        *_start(16), nn.Softplus(), nn.PixelShuffle(2), nn.Dropout(0.5), nn.Hardtanh(),
        nn.ZeroPad2d(1), nn.Conv2d(4, 2, 3),
    ),
    "mlp": lambda: nn.Sequential(
        nn.Linear(D, 30), nn.ReLU(inplace=True), nn.Linear(30, 48), nn.Sigmoid(),
        nn.Unflatten(1, (1, 8, 6)),
    ),
    "functional": Functional,
}  # fmt: skip


def lively(decoder: nn.Module, seed: int = 0) -> nn.Module:
    """Larger weights than new ones, and statistics as after training."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
        for norm in decoder.modules():
            if isinstance(norm, nn.BatchNorm1d | nn.BatchNorm2d):
                assert norm.running_mean is not None and norm.running_var is not None
                norm.running_mean.copy_(torch.rand(norm.num_features, generator=generator))
                norm.running_var.copy_(0.5 + torch.rand(norm.num_features, generator=generator))
    return decoder.eval()


@pytest.mark.parametrize("name", DECODERS)
def test_traced_layers_decode_what_torch_decodes(name: str) -> None:
    decoder = lively(DECODERS[name]())
    network, why = network_of(decoder, START, decode=decoder)
    assert network is not None, why
    codes = np.random.default_rng(7).uniform(-3, 3, (16, D)).astype(np.float32)
    with torch.inference_mode():
        wanted = decoder(torch.from_numpy(codes)).movedim(1, -1).numpy()
    assert wanted.std(axis=0).max() > 0.05  # it listens to its latents
    np.testing.assert_allclose(evaluate(network, codes), wanted, rtol=0, atol=1e-3)


def test_shares_that_a_likelihood_turns_into_logits_and_back_are_traced() -> None:
    decoder = lively(DECODERS["residual"]())  # ends in a sigmoid

    def mean(z: Tensor) -> Tensor:  # as a Bernoulli by logits gives it
        return torch.logit(decoder(z), eps=1e-6).sigmoid()

    network, why = network_of(decoder, START, decode=mean)
    assert network is not None, why
    codes = np.random.default_rng(7).uniform(-3, 3, (16, D)).astype(np.float32)
    with torch.inference_mode():
        wanted = mean(torch.from_numpy(codes)).movedim(1, -1).numpy()
    np.testing.assert_allclose(evaluate(network, codes), wanted, rtol=0, atol=1e-3)
    found, why = network_of(decoder, START, decode=lambda z: torch.logit(decoder(z)) + 1)
    assert found is None and "logit" in why


def test_steep_decoders_that_show_the_rounding_get_weights_of_32_bits() -> None:
    decoder = lively(DECODERS["mlp"]())
    with torch.no_grad():
        decoder[2].weight.mul_(200.0)  # type: ignore[operator, union-attr]
    network, why = network_of(decoder, START, decode=decoder)
    assert network is not None, why
    affine = [layer for layer in network.layers if isinstance(layer, Affine)]
    assert all(layer.weight.dtype == np.float32 for layer in affine)
    assert network.deviation < 1e-3


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(D, 64)

    def forward(self, z: Tensor) -> Tensor:
        h = self.start(z).view(-1, 8, 8)
        return torch.softmax(h @ h.mT, -1)[:, None]


class Looks(nn.Module):
    """Decodes positive codes in another way, which no recording of one code shows."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(D, 64)

    def forward(self, z: Tensor) -> Tensor:
        image = self.start(z).view(-1, 1, 8, 8)
        return image + 1 if z.sum() > 0 else image


def strided() -> nn.Module:
    return nn.Sequential(*_start(4), nn.Conv2d(4, 4, 3, stride=2))


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (Attention, "does not support"),
        (strided, "stride"),
        (Looks, "recorded|off by"),
        (lambda: nn.Linear(D, 9), "not decode to images"),
        (lambda: nn.Sequential(*_start(4), nn.GroupNorm(2, 4)), "native_group_norm"),
    ],
)
def test_a_decoder_that_cannot_be_traced_says_why(made: Callable[[], nn.Module], says: str) -> None:
    decoder = lively(made())
    network, why = network_of(decoder, START, decode=decoder)
    assert network is None
    assert re.search(says, why), why


def test_a_constant_larger_than_the_tensor_is_a_reason_and_no_crash() -> None:
    """As latents that are maps are moved: one number for a channel, added to its whole map."""

    class Stretched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.map = nn.Parameter(torch.rand(1, D, 3, 3))

        def forward(self, z: Tensor) -> Tensor:
            return self.map + z[:, :, None, None]

    module = Stretched()
    one = np.ones(D)
    found, why = network_of(module, START, START, one, decode=module)
    assert found is None and "larger than the tensor" in why
