import pytest
import torch
from torch import nn

from vaescope.errors import UsageError
from vaescope.nets import (
    BernoulliLikelihood,
    DiagonalPosterior,
    SeparatePosterior,
    conditional_conv_pair,
    conditional_mlp_pair,
)
from vaescope.nets.conv import LAYOUTS
from vaescope.objectives import BetaVAE
from vaescope.priors import ConditionalPrior
from vaescope.vae import VAE, Batch, ConditionalEncoder, Decoder


def test_grzes2023s_encoder_joins_u_to_1024_features_and_is_261_wide() -> None:
    pair = conditional_conv_pair((1, 64, 64), 30, 5)
    (join,) = [m for m in pair.encoder.join if isinstance(m, nn.Linear)]
    assert (join.in_features, join.out_features) == (1024 + 5, 256 + 5)
    assert isinstance(pair.encoder.join[-1], nn.ReLU)
    assert pair.features == 261


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("name", "size"), [(name, size) for name, sizes in LAYOUTS.items() for size in sizes]
)
def test_shapes_of_conditional_convolutional_pairs(name: str, size: int, channels: int) -> None:
    pair = conditional_conv_pair((channels, size, size), 6, 5, layouts=LAYOUTS[name])
    x, u = torch.rand(2, channels, size, size), torch.rand(2, 5)
    assert pair.encoder(x, u).shape == (2, pair.features)
    assert pair.decoder(torch.randn(2, 6)).shape == x.shape


def khemakhem() -> ConditionalEncoder:
    pair = conditional_mlp_pair(
        (5,),
        5,
        40,
        encoder=(),
        decoder=(50, 50),
        encoder_activation=nn.Tanh,
        decoder_activation=nn.Tanh,
    )
    posterior = SeparatePosterior(pair.features, 5, hidden=(50, 50), activation=nn.Tanh)
    return ConditionalEncoder(pair.encoder, posterior)


def test_khemakhems_means_and_variances_share_no_layer() -> None:
    encoder = khemakhem()
    q = encoder(torch.rand(3, 5), torch.rand(3, 40))
    q.mean.sum().backward()  # type: ignore[no-untyped-call]
    moved = {n.split(".")[1] for n, p in encoder.named_parameters() if p.grad is not None}
    assert moved == {"mean"}
    assert sum(1 for _ in encoder.parameters()) == 12  # two nets of three layers


def test_the_posterior_depends_on_x_and_on_u() -> None:
    encoder = khemakhem()
    x, u = torch.rand(3, 5), torch.rand(3, 40)
    q = encoder(x, u)
    assert not torch.allclose(q.mean, encoder(x, 1.0 - u).mean)
    assert not torch.allclose(q.mean, encoder(1.0 - x, u).mean)


def test_without_u_it_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="depends on u"):
        khemakhem()(torch.rand(3, 5))


def test_gradients_reach_every_parameter_of_grzes2023_model() -> None:
    torch.manual_seed(0)
    pair = conditional_conv_pair((1, 32, 32), 4, 5)
    encoder = ConditionalEncoder(pair.encoder, DiagonalPosterior(pair.features, 4))
    vae = VAE(encoder, Decoder(pair.decoder, BernoulliLikelihood()), ConditionalPrior(5, 4))
    batch = Batch(torch.rand(8, 1, 32, 32), torch.arange(8), 8, u=torch.rand(8, 5))
    loss = BetaVAE()(vae, batch, torch.tensor(0.0), torch.randn(1, 8, 4)).loss
    loss.backward()  # type: ignore[no-untyped-call]
    silent = [n for n, p in vae.named_parameters() if p.grad is None or not p.grad.any()]
    assert silent == []
