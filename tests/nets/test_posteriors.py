import torch
from torch import nn

from vaescope.distributions import DiagonalGaussian, kl
from vaescope.nets import (
    DiagonalPosterior,
    FullPosterior,
    IsotropicPosterior,
    SeparatePosterior,
)
from vaescope.vae import in_float32


def test_the_full_posterior_has_a_valid_cholesky_factor() -> None:
    q = FullPosterior(8, 4)(torch.randn(6, 8))
    assert torch.equal(q.scale_tril, q.scale_tril.tril())
    assert (q.scale_tril.diagonal(dim1=1, dim2=2) > 0).all()
    torch.testing.assert_close(torch.linalg.cholesky(q.covariance), q.scale_tril)


def test_every_entry_of_the_factor_is_a_parameter_of_its_own() -> None:
    posterior = FullPosterior(1, 3)
    with torch.no_grad():
        posterior.head.weight.zero_()
        posterior.head.bias.copy_(torch.arange(9.0))
    tril = posterior(torch.zeros(1, 1)).scale_tril[0]
    expected = torch.tensor([[3.0, 0, 0], [4, 5, 0], [6, 7, 8]])
    torch.testing.assert_close(tril.tril(-1), expected.tril(-1))
    torch.testing.assert_close(tril.diagonal(), expected.diagonal().exp())


def test_heads_stay_in_float32_inside_autocast() -> None:
    features = torch.randn(4, 8)
    posterior = DiagonalPosterior(8, 2)
    with torch.autocast("cpu", torch.bfloat16):
        assert nn.Linear(8, 2)(features).dtype == torch.bfloat16
        q = posterior(features.bfloat16())
    assert q.mean.dtype == torch.float32
    torch.testing.assert_close(
        q.mean, in_float32(posterior.head, features.bfloat16().float())[:, :2]
    )


def test_the_isotropic_posterior_is_the_diagonal_one_with_equal_variances() -> None:
    isotropic, diagonal = IsotropicPosterior(8, 3).double(), DiagonalPosterior(8, 3).double()
    with torch.no_grad():
        for whole, one in ((diagonal.head.weight, isotropic.head.weight),
                           (diagonal.head.bias, isotropic.head.bias)):  # fmt: skip
            whole.copy_(torch.cat([one[:3], one[3:].expand(3, *one.shape[1:])]))
    features, noise = torch.randn(6, 8).double(), torch.randn(6, 3).double()
    q, expected = isotropic(features), diagonal(features)
    standard = DiagonalGaussian(torch.zeros(1, 3).double(), torch.zeros(1, 3).double())
    torch.testing.assert_close(q.variance, expected.variance)
    torch.testing.assert_close(q.at(noise), expected.at(noise))
    torch.testing.assert_close(q.log_prob(noise), expected.log_prob(noise))
    torch.testing.assert_close(kl(q, standard), kl(expected, standard))
    assert (q.variance.std(1) == 0).all()
    assert (q.variance.std(0) > 0).all()


def test_a_full_posterior_whose_factor_is_diagonal_is_the_diagonal_one() -> None:
    full, diagonal = FullPosterior(8, 3).double(), DiagonalPosterior(8, 3).double()
    places = [3, 5, 8]  # of the factor's diagonal in the head, behind three means
    with torch.no_grad():
        for name in ("weight", "bias"):
            theirs, ours = getattr(diagonal.head, name), getattr(full.head, name)
            ours.zero_()
            ours[:3] = theirs[:3]
            ours[places] = 0.5 * theirs[3:]  # a log standard deviation
    features, noise = torch.randn(6, 8).double(), torch.randn(6, 3).double()
    q, expected = full(features), diagonal(features)
    standard = DiagonalGaussian(torch.zeros(1, 3).double(), torch.zeros(1, 3).double())
    torch.testing.assert_close(q.variance, expected.variance)
    torch.testing.assert_close(q.at(noise), expected.at(noise))
    torch.testing.assert_close(kl(q, standard), kl(expected, standard))


def test_the_separate_posterior_is_a_diagonal_gaussian_of_two_networks() -> None:
    posterior = SeparatePosterior(8, 3, hidden=(5,), activation=nn.Tanh)
    features = torch.randn(6, 8)
    q = posterior(features)
    torch.testing.assert_close(q.mean, posterior.mean(features))
    torch.testing.assert_close(q.variance, posterior.log_variance(features).exp())
    assert q.mean.shape == q.variance.shape == (6, 3)
