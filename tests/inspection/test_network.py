"""Decoders as lists of layers: the same function as torch's, or none and a reason."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from vaescope.inspection import layers as reading
from vaescope.inspection.layers import network_of, reaches
from vaescope.inspection.network import Affine, Network, Pointwise, evaluate
from vaescope.nets import (
    BernoulliLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    LocalGaussianLikelihood,
    SquaredErrorLikelihood,
    conv_pair,
    dcgan_pair,
    linear_pair,
    mlp_pair,
)
from vaescope.nets.conv import LAYOUTS
from vaescope.nets.mlp import ACTIVATIONS
from vaescope.nets.pair import Pair
from vaescope.vae import Decoder

D = 5
START = np.linspace(-1, 1, D)


def lively(pair: Pair, likelihood: nn.Module) -> Decoder:
    """A decoder whose outputs vary as much as a trained one's; new weights hardly move them."""
    generator = torch.Generator().manual_seed(0)
    decoder = Decoder(pair.decoder, likelihood)
    with torch.no_grad():
        for layer in decoder.body.modules():
            if isinstance(layer, nn.Linear | nn.ConvTranspose2d):
                weight = layer.weight
                fan = weight.shape[1] if weight.ndim == 2 else weight.shape[0] * 4
                weight.copy_(torch.randn(weight.shape, generator=generator) * (2 / fan) ** 0.5)
                if layer.bias is not None:
                    layer.bias.copy_(torch.randn(layer.bias.shape, generator=generator) * 0.1)
            if isinstance(layer, nn.BatchNorm2d):
                for own in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                    assert own is not None
                    own.copy_(torch.rand(own.shape, generator=generator) + 0.5)
        decoder.eval()
        if not isinstance(likelihood, BernoulliLikelihood):  # images lie within [0, 1]
            last = [m for m in decoder.body if isinstance(m, nn.Linear | nn.ConvTranspose2d)][-1]
            most = decoder.body(torch.randn(64, D, generator=generator)).abs().max()
            for parameter in last.parameters():
                parameter.div_(most)
    return decoder


def dense(activation: str, event: tuple[int, ...] = (2, 8, 6)) -> Pair:
    own = ACTIVATIONS[activation]
    return mlp_pair(
        event, D, encoder=(), decoder=(20, 30), encoder_activation=own, decoder_activation=own
    )


DECODERS: dict[str, Callable[[], Decoder]] = {
    **{
        f"conv {name} {size}": lambda sizes=sizes, size=size: lively(
            conv_pair((1, size, size), D, layouts=sizes), BernoulliLikelihood()
        )
        for name, sizes in LAYOUTS.items()
        for size in sizes
    },
    **{f"mlp {a}": lambda a=a: lively(dense(a), GaussianLikelihood()) for a in ACTIVATIONS},
    "colour": lambda: lively(conv_pair((3, 64, 64), D), SquaredErrorLikelihood()),
    "linear": lambda: lively(linear_pair((3, 4, 5), D), LaplaceLikelihood()),
    "wide linear": lambda: lively(linear_pair((3, 4, 5), D, width=2), LocalGaussianLikelihood()),
    "wide conv": lambda: lively(conv_pair((3, 32, 32), D, width=2), LocalGaussianLikelihood()),
    "dcgan 64": lambda: lively(dcgan_pair((3, 64, 64), D), BernoulliLikelihood()),
    "dcgan 32": lambda: lively(dcgan_pair((1, 32, 32), D), BernoulliLikelihood()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
def test_layers_decode_what_torch_decodes(name: str) -> None:
    decoder = DECODERS[name]()
    network, why = network_of(decoder, START)
    assert network is not None, why
    codes = np.random.default_rng(7).uniform(-3, 3, (32, D)).astype(np.float32)
    with torch.inference_mode():
        wanted = decoder(torch.from_numpy(codes)).mean.movedim(1, -1).numpy()
    assert wanted.std(axis=0).max() > 0.1  # it listens to its latents
    np.testing.assert_allclose(evaluate(network, codes), wanted, rtol=0, atol=1e-3)
    assert network.deviation < 1e-3


def whole(weight: np.ndarray, **options: int) -> Affine:
    outputs = weight.shape[-1]
    ones, none = np.ones(outputs, np.float32), np.zeros(outputs, np.float32)
    return Affine(weight=weight.astype(np.int16), scale=ones, bias=none, **options)


def test_a_kernel_as_large_as_its_stride_makes_blocks() -> None:
    block = np.array([[1, 2], [3, 4]])
    image = np.array([[1.0, 10.0], [100.0, 1000.0]])
    layer = whole(block.reshape(2, 2, 1, 1), size=2, stride=2)
    found = evaluate(Network((layer,), (4, 4, 1), 4), image.reshape(1, 4))
    np.testing.assert_array_equal(found[0, :, :, 0], np.kron(image, block))


def test_padding_cuts_the_border_and_overlaps_add_up() -> None:
    layer = whole(np.ones((3, 3, 1, 1)), size=2, padding=1)
    found = evaluate(Network((layer,), (2, 2, 1), 9), np.array([[1.0, 2.0, 3.0, 4.0]]))
    np.testing.assert_array_equal(found[0, :, :, 0], np.full((2, 2), 10))


def test_weights_are_rounded_to_one_of_65535_parts_of_the_largest() -> None:
    decoder = DECODERS["linear"]()
    network, _ = network_of(decoder, START)
    assert network is not None
    layer = network.layers[0]
    assert isinstance(layer, Affine)
    weight = decoder.body[0].weight.detach().numpy()  # (outputs, inputs), channels first
    order = np.arange(60).reshape(3, 4, 5).transpose(1, 2, 0).ravel()
    off = np.abs(layer.weight[0, 0] * layer.scale - weight[order].T)
    assert (off <= 0.51 * np.abs(weight[order]).max(1) / 32767).all()
    assert (np.abs(layer.weight).max((0, 1, 2)) == 32767).all()


class Doubled(nn.ReLU):
    """Looks like a ReLU and is none."""


def broken() -> Decoder:
    decoder = DECODERS["linear"]()
    decoder.body[0].weight.data[0, 0] = torch.nan
    return decoder


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (lambda: None, "not one of vaescope's own"),
        (lambda: nn.Linear(D, 4), "not one of vaescope's own"),
        (
            lambda: Decoder(linear_pair((7,), D).decoder, GaussianLikelihood()),
            "not decode to images",
        ),
        (
            lambda: Decoder(linear_pair((1, 600, 600), D).decoder, GaussianLikelihood()),
            "2,160,000 parameters, more than the 1,500,000",
        ),
        (
            lambda: Decoder(
                nn.Sequential(nn.Linear(D, 4), Doubled(), nn.Unflatten(-1, (1, 2, 2))),
                nn.Identity(),
            ),
            "does not support Doubled and Identity",
        ),
        (
            lambda: Decoder(
                nn.Sequential(nn.Linear(D, 4), nn.ReLU(), nn.Unflatten(-1, (1, 2, 2))),
                GaussianLikelihood(),
            ),
            "an order that",
        ),
        (
            lambda: Decoder(
                nn.Sequential(nn.Unflatten(-1, (D, 1, 1)), nn.ConvTranspose2d(D, 1, (2, 3))),
                GaussianLikelihood(),
            ),
            "transposed convolution",
        ),
        (broken, "not finite"),
    ],
)
def test_a_decoder_that_cannot_be_read_says_why(
    module: Callable[[], nn.Module | None], says: str
) -> None:
    network, why = network_of(module(), START)
    assert network is None and says in why


def test_a_network_that_is_off_by_more_than_a_thousandth_is_refused() -> None:
    decoder = DECODERS["linear"]()
    decoder.body[0].weight.data *= 1000  # 16 bits of a value of some thousands
    network, why = network_of(decoder, START)
    assert network is None and "off by" in why


def test_sliders_hold_the_code_that_they_start_from() -> None:
    assert reaches(np.array([0.0, -3.5, 20.2])) == [(-3, 3), (-4, 3), (-3, 21)]


def test_every_likelihood_and_activation_of_ours_is_known() -> None:
    from vaescope.nets import likelihoods

    ours = {getattr(likelihoods, name) for name in likelihoods.__all__} - {likelihoods.Likelihood}
    assert set(reading.MEANS) == ours
    assert {type(make()) for make in ACTIVATIONS.values()} <= set(reading.READERS)


def test_a_sigmoid_of_any_logit_is_finite() -> None:
    one = replace(whole(np.ones((1, 1, 1, 1)), size=1))
    network = Network((one, Pointwise("sigmoid")), (1, 1, 1), 1)
    found = evaluate(network, np.array([[-1e4], [0.0], [1e4]]))
    np.testing.assert_array_equal(found.ravel(), [0.0, 0.5, 1.0])
