import pytest
import torch
from torch import nn

from vaescope.distributions import DiagonalGaussian, kl, rate
from vaescope.errors import UsageError
from vaescope.nets import (
    DiagonalPosterior,
    SquaredErrorLikelihood,
    conditional_mlp_pair,
)
from vaescope.objectives import BetaVAE
from vaescope.priors import AnisotropicPrior, ConditionalPrior
from vaescope.vae import VAE, Batch, ConditionalEncoder, Decoder, Encoder

STEP = torch.tensor(0.0, dtype=torch.float64)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64)


def test_it_has_grzes2023_layers() -> None:
    prior = ConditionalPrior(5, 30)
    widths = [(m.in_features, m.out_features) for m in prior.modules() if isinstance(m, nn.Linear)]
    assert widths == [(5, 50), (50, 50), (50, 50), (50, 30)]
    slopes = {m.negative_slope for m in prior.modules() if isinstance(m, nn.LeakyReLU)}
    assert slopes == {0.1}


@pytest.mark.parametrize("learned_mean", [False, True])
def test_rates_against_it_have_their_closed_form(learned_mean: bool) -> None:
    prior = ConditionalPrior(3, 4, learned_mean=learned_mean).double()
    p = prior(normal(6, 3))
    q = DiagonalGaussian(normal(6, 4, seed=1), normal(6, 4, seed=2))
    assert p.mean.shape == p.variance.shape == (6, 4)
    assert bool(p.mean.any()) == learned_mean
    theirs = torch.distributions.kl_divergence(
        torch.distributions.Normal(q.mean, q.variance.sqrt()),
        torch.distributions.Normal(p.mean, p.variance.sqrt()),
    ).sum(-1)
    torch.testing.assert_close(rate(q, p, torch.full((6, 4), torch.nan)), theirs)
    torch.testing.assert_close(kl(q, p), theirs)


def test_each_row_has_the_prior_of_its_own_u() -> None:
    prior = ConditionalPrior(3, 4).double()
    u = normal(5, 3)
    p = prior(u)
    for i in range(5):
        torch.testing.assert_close(p.variance[i], prior(u[i : i + 1]).variance[0])
    assert p.variance.std(0).min() > 1e-6


def test_without_u_it_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="Give 3 auxiliary values"):
        ConditionalPrior(3, 4)()


def identifiable(auxiliary: int) -> VAE:
    pair = conditional_mlp_pair(
        (6,),
        2,
        auxiliary,
        encoder=(8, 7),
        decoder=(8,),
        encoder_activation=nn.Tanh,
        decoder_activation=nn.Tanh,
    )
    encoder = ConditionalEncoder(pair.encoder, DiagonalPosterior(pair.features, 2))
    decoder = Decoder(pair.decoder, SquaredErrorLikelihood())
    prior = ConditionalPrior(auxiliary, 2, learned_mean=True)
    return VAE(encoder, decoder, prior).double()


def test_with_constant_u_it_is_the_vae_with_that_prior() -> None:
    """The encoder's u is then a bias, and the prior an anisotropic Gaussian."""
    ivae = identifiable(3)
    ivae.prior.mean = None  # type: ignore[assignment]
    u = normal(1, 3)
    p = ivae.prior(u)
    same = AnisotropicPrior(p.log_variance[0].detach(), variance=p.variance.mean().item())
    first, *rest = ivae.encoder.body.join
    moved = nn.Linear(6, 8).double()
    with torch.no_grad():
        moved.weight.copy_(first.weight[:, :6])
        moved.bias.copy_(first.bias + first.weight[:, 6:] @ u[0])
    encoder = Encoder(nn.Sequential(moved, *rest), ivae.encoder.posterior)
    vae = VAE(encoder, ivae.decoder, same).double()
    x, noise, index = normal(9, 6, seed=3), normal(1, 9, 2, seed=4), torch.arange(9)
    ours = BetaVAE()(ivae, Batch(x, index, 9, u=u.expand(9, 3)), STEP, noise)
    theirs = BetaVAE()(vae, Batch(x, index, 9), STEP, noise)
    for name in ("distortion", "rate"):
        torch.testing.assert_close(ours.parts[name], theirs.parts[name], rtol=1e-6, atol=1e-6)


def test_gradients_reach_every_parameter() -> None:
    ivae = identifiable(3)
    batch = Batch(normal(9, 6), torch.arange(9), 9, u=normal(9, 3))
    loss = BetaVAE()(ivae, batch, STEP, normal(1, 9, 2)).loss
    loss.backward()  # type: ignore[no-untyped-call]
    silent = [n for n, p in ivae.named_parameters() if p.grad is None or not p.grad.any()]
    assert silent == []
