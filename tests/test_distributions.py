"""Closed forms against torch.distributions in float64."""

import pytest
import torch
from torch import distributions as td

from vaescope.distributions import (
    Bernoulli,
    DiagonalGaussian,
    FullGaussian,
    Laplace,
    Point,
    kl,
    kl_per_latent,
    rate,
)
from vaescope.errors import UsageError


@pytest.fixture
def g() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def normal(*shape: int, g: torch.Generator) -> torch.Tensor:
    return torch.randn(*shape, generator=g, dtype=torch.float64)


def diagonal(g: torch.Generator) -> tuple[DiagonalGaussian, td.Distribution]:
    mean, log_variance = normal(5, 3, g=g), normal(5, 3, g=g)
    theirs = td.Independent(td.Normal(mean, (0.5 * log_variance).exp()), 1)
    return DiagonalGaussian(mean, log_variance), theirs


def full(g: torch.Generator) -> tuple[FullGaussian, td.MultivariateNormal]:
    mean = normal(5, 3, g=g)
    tril = normal(5, 3, 3, g=g).tril(-1) + torch.diag_embed(normal(5, 3, g=g).exp())
    return FullGaussian(mean, tril), td.MultivariateNormal(mean, scale_tril=tril)


def test_diagonal_gaussian_has_torchs_density_and_moments(g: torch.Generator) -> None:
    ours, theirs = diagonal(g)
    x = normal(5, 3, g=g)
    torch.testing.assert_close(ours.log_prob(x), theirs.log_prob(x))
    torch.testing.assert_close(ours.variance, theirs.variance)


def test_full_gaussian_has_torchs_density_and_moments(g: torch.Generator) -> None:
    ours, theirs = full(g)
    x = normal(5, 3, g=g)
    torch.testing.assert_close(ours.log_prob(x), theirs.log_prob(x))
    torch.testing.assert_close(ours.variance, theirs.variance)
    torch.testing.assert_close(ours.covariance, theirs.covariance_matrix)


def test_kl_has_torchs_values(g: torch.Generator) -> None:
    p, p_theirs = diagonal(g)
    q, q_theirs = diagonal(g)
    torch.testing.assert_close(kl(q, p), td.kl_divergence(q_theirs, p_theirs))
    torch.testing.assert_close(kl_per_latent(q, p).sum(-1), kl(q, p))
    f, f_theirs = full(g)
    broad = td.MultivariateNormal(p.mean, torch.diag_embed(p.variance))
    torch.testing.assert_close(kl(f, p), td.kl_divergence(f_theirs, broad))


def test_full_covariance_restricted_to_a_diagonal_is_the_diagonal_one(g: torch.Generator) -> None:
    q, _ = diagonal(g)
    p, _ = diagonal(g)
    f = FullGaussian(q.mean, torch.diag_embed(q.variance.sqrt()))
    noise = normal(5, 3, g=g)
    torch.testing.assert_close(kl(f, p), kl(q, p))
    torch.testing.assert_close(f.at(noise), q.at(noise))
    torch.testing.assert_close(f.log_prob(noise), q.log_prob(noise))


@pytest.mark.parametrize("make", [diagonal, full])
def test_samples_at_noise_have_the_moments(make: object, g: torch.Generator) -> None:
    ours, theirs = make(g)  # type: ignore[operator]
    n = 200_000
    wide = type(ours)(ours.mean[:1].expand(n, -1), (
        ours.log_variance[:1].expand(n, -1) if isinstance(ours, DiagonalGaussian)
        else ours.scale_tril[:1].expand(n, -1, -1)
    ))  # fmt: skip
    z = wide.at(normal(n, 3, g=g))
    torch.testing.assert_close(z.mean(0), theirs.mean[0], atol=0.03, rtol=0.03)
    torch.testing.assert_close(z.var(0), theirs.variance[0], atol=0.03, rtol=0.03)


def test_bernoulli_of_binary_pixels_is_torchs_and_of_grey_ones_the_cross_entropy(
    g: torch.Generator,
) -> None:
    logits = normal(4, 1, 8, 8, g=g)
    x = (normal(4, 1, 8, 8, g=g) > 0).double()
    theirs = td.Independent(td.Bernoulli(logits=logits), 3)
    torch.testing.assert_close(Bernoulli(logits).log_prob(x), theirs.log_prob(x))
    grey = torch.full_like(x, 0.25)
    p = logits.sigmoid()
    expected = (0.25 * p.log() + 0.75 * (1 - p).log()).flatten(1).sum(1)
    torch.testing.assert_close(Bernoulli(logits).log_prob(grey), expected)


def test_laplace_has_torchs_density(g: torch.Generator) -> None:
    loc, log_scale, x = normal(4, 2, 3, g=g), normal(4, 2, 3, g=g), normal(4, 2, 3, g=g)
    theirs = td.Independent(td.Laplace(loc, log_scale.exp()), 2)
    torch.testing.assert_close(Laplace(loc, log_scale).log_prob(x), theirs.log_prob(x))
    torch.testing.assert_close(Laplace(loc, log_scale).mean, theirs.mean)


def test_kl_without_a_closed_form_says_what_to_do(g: torch.Generator) -> None:
    q, _ = diagonal(g)
    with pytest.raises(UsageError, match=r"no closed form .* Estimate it from samples"):
        kl(Point(q.mean), q)
    with pytest.raises(UsageError, match="no density"):
        Point(q.mean).log_prob(q.mean)


def test_the_rate_is_exact_where_it_can_be_and_estimated_at_the_sample_where_not(
    g: torch.Generator,
) -> None:
    q, _ = diagonal(g)
    p, _ = diagonal(g)
    f, _ = full(g)
    z = normal(5, 3, g=g)
    torch.testing.assert_close(rate(q, p, z), kl(q, p))
    torch.testing.assert_close(rate(q, f, z), q.log_prob(z) - f.log_prob(z))
