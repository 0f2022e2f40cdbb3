"""Priors that contain the normal one agree with it on the same noise."""

import pytest
import torch

from vaescope.distributions import DiagonalGaussian, FullGaussian, Reparameterised, rate
from vaescope.priors import (
    AnisotropicPrior,
    MixturePrior,
    SparsePrior,
    StandardNormal,
    StudentTPrior,
    SubspacesPrior,
)
from vaescope.vae import Prior

LATENT = 4

REDUCED = {
    "student-t": lambda: StudentTPrior(LATENT, 1e12),
    "subspaces": lambda: SubspacesPrior((LATENT - 1, 1), 1e12),
    "mixture": lambda: MixturePrior(torch.zeros(1, LATENT), variance=1.0),
    "sparse": lambda: SparsePrior(LATENT, 0.0),
}


def normal(*shape: int, seed: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64)


def posteriors() -> list[Reparameterised]:
    mean, log_variance = normal(64, LATENT, seed=0), normal(64, LATENT, seed=1)
    tril = normal(64, LATENT, LATENT, seed=2).tril(-1) + torch.diag_embed(log_variance.exp())
    return [DiagonalGaussian(mean, log_variance), FullGaussian(mean, tril)]


@pytest.mark.parametrize("name", REDUCED)
def test_monte_carlo_rates_equal_the_normals_on_the_same_noise(name: str) -> None:
    p = REDUCED[name]().double()()
    standard = StandardNormal(LATENT).double()()
    for q in posteriors():
        z = q.at(normal(64, LATENT, seed=3))
        expected = q.log_prob(z) - standard.log_prob(z)
        torch.testing.assert_close(rate(q, p, z), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", REDUCED)
def test_samples_equal_the_normals_on_the_same_noise(name: str) -> None:
    eps = normal(64, LATENT, seed=4)
    torch.testing.assert_close(REDUCED[name]().double()().at(eps), eps, rtol=1e-6, atol=1e-6)


def test_the_anisotropic_prior_with_equal_shares_has_the_normals_closed_form() -> None:
    p = AnisotropicPrior(torch.zeros(LATENT)).double()()
    standard = StandardNormal(LATENT).double()()
    for q in posteriors():
        z = q.at(normal(64, LATENT, seed=5))
        torch.testing.assert_close(rate(q, p, z), rate(q, standard, z), rtol=0, atol=1e-5)


def every_prior() -> list[Prior]:
    return [
        StandardNormal(LATENT),
        AnisotropicPrior(torch.arange(float(LATENT))),
        StudentTPrior(LATENT, 5.0),
        SubspacesPrior((LATENT - 1, 1), 5.0),
        MixturePrior(torch.eye(LATENT)),
        SparsePrior(LATENT, 0.8),
    ]


@pytest.mark.parametrize("prior", every_prior(), ids=lambda p: type(p).__name__)
def test_samples_and_densities_stack_under_vmap(prior: Prior) -> None:
    p = prior.double()()
    eps = normal(3, 10, LATENT, seed=6)

    def both(e: torch.Tensor) -> torch.Tensor:
        return p.log_prob(p.at(e))

    torch.testing.assert_close(torch.func.vmap(both)(eps), torch.stack([both(e) for e in eps]))


@pytest.mark.parametrize("prior", every_prior(), ids=lambda p: type(p).__name__)
def test_samples_have_the_moments_that_the_prior_states(prior: Prior) -> None:
    p = prior.double()()
    z = p.at(normal(200_000, LATENT, seed=7))
    torch.testing.assert_close(z.mean(0), p.mean[0], rtol=0.02, atol=0.02)
    torch.testing.assert_close(z.var(0), p.variance[0], rtol=0.05, atol=0.005)
