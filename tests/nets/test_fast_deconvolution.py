"""The quick forward pass computes what the layers do."""

import pytest
import torch
from torch import Tensor, nn
from torch.func import jvp

from vaescope.native import library
from vaescope.nets import BernoulliLikelihood
from vaescope.nets.conv import Deconvolution, conv_pair
from vaescope.nets.fast_deconvolution import quick_decoder, quickened
from vaescope.vae import Decoder


def codes() -> Tensor:
    return torch.randn((5, 6), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def test_a_convolutional_decoder_is_the_same_to_rounding() -> None:
    torch.manual_seed(0)
    decoder = conv_pair((3, 64, 64), 6).decoder
    assert isinstance(decoder, nn.Sequential)
    decoder[-1].bias.fill_(0.3)
    quick = quickened(decoder)
    assert quick is not decoder
    torch.testing.assert_close(quick(codes()), decoder(codes()), rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_layers_of_other_shapes_or_with_hooks_keep_their_own_forward() -> None:
    torch.manual_seed(0)
    layers = [nn.Linear(6, 32), nn.Unflatten(1, (2, 4, 4)), Deconvolution(2, 1, 3, 2, 1)]
    decoder = nn.Sequential(*layers, nn.ConvTranspose2d(1, 2, 4, 2, 1, bias=False))
    torch.testing.assert_close(quickened(decoder)(codes()), decoder(codes()))
    decoder[-1].register_forward_hook(lambda layer, given, made: made + 1.0)
    torch.testing.assert_close(quickened(decoder)(codes()), decoder(codes()))
    decoder.register_forward_hook(lambda layer, given, made: 2.0 * made)
    assert quickened(decoder) is decoder


@torch.no_grad()
def test_a_decoder_with_its_likelihood_is_the_same_to_rounding_and_others_stay() -> None:
    torch.manual_seed(0)
    decoder = Decoder(conv_pair((1, 64, 64), 6).decoder, BernoulliLikelihood())
    x = torch.rand(5, 1, 64, 64)
    wanted = decoder(codes()).log_prob(x)
    torch.testing.assert_close(
        quick_decoder(decoder)(codes()).log_prob(x), wanted, rtol=1e-5, atol=0
    )
    assert quick_decoder(decoder.body) is decoder.body
    decoder.register_forward_hook(lambda *_: None)
    assert quick_decoder(decoder) is decoder


@pytest.mark.parametrize("channels", [1, 3, 16, 48, 80])
@torch.no_grad()
def test_compiled_layers_are_the_same_to_rounding_at_any_size(
    channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    first = Deconvolution(20, 48, 4, 2, 1)
    last = nn.ConvTranspose2d(48, channels, 4, 2, 1, bias=channels != 16)
    body = nn.Sequential(first, nn.ReLU(), last)
    x = torch.randn(3, 20, 5, 11)
    for threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        torch.testing.assert_close(quickened(body)(x), body(x), rtol=1e-5, atol=1e-5)
    monkeypatch.setenv("VAESCOPE_NATIVE", "0")
    library.cache_clear()
    torch.testing.assert_close(quickened(body)(x), body(x), rtol=1e-5, atol=1e-5)
    library.cache_clear()


@torch.no_grad()
def test_numbers_that_are_not_finite_pass_through_compiled_relus() -> None:
    body = nn.Sequential(Deconvolution(16, 16, 4, 2, 1), nn.ReLU(), Deconvolution(16, 1, 4, 2, 1))
    x = torch.randn(2, 16, 4, 4, generator=torch.Generator().manual_seed(0))
    x[0, 0, 0, 0] = torch.nan
    made, wanted = quickened(body)(x), body(x)
    assert torch.equal(made.isnan(), wanted.isnan()) and bool(wanted.isnan().any())


@pytest.mark.slow
def test_gradients_and_forward_derivatives_are_the_layers_own() -> None:
    torch.manual_seed(0)
    body = nn.Sequential(Deconvolution(16, 16, 4, 2, 1), nn.ReLU(), Deconvolution(16, 1, 4, 2, 1))
    x = torch.randn(2, 16, 4, 4)
    quickened(body)(x).square().sum().backward()
    assert all(bool(weight.grad.any()) for weight in body.parameters() if weight.grad is not None)
    assert body[0].weight.grad is not None
    with torch.no_grad():
        moved = jvp(quickened(body), (x,), (torch.ones_like(x),))[1]
        torch.testing.assert_close(moved, jvp(body, (x,), (torch.ones_like(x),))[1])
    assert bool(moved.any())
