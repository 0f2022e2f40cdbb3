"""The quick forward pass computes what the layers do."""

import torch
from torch import Tensor, nn

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
