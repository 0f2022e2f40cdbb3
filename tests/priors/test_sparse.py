import pytest
import torch
from scipy import stats
from torch import distributions as td

from vaescope.priors.sparse import SparsePrior, SpikeAndSlab


def noise(n: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(0)
    return torch.randn(n, 3, generator=g, dtype=torch.float64)


def prior(gamma: float) -> SpikeAndSlab:
    return SparsePrior(3, gamma).double()()


@pytest.mark.parametrize("gamma", [0.3, 0.8])
def test_it_has_torchs_density_and_moments(gamma: float) -> None:
    weights = torch.tensor([1.0 - gamma, gamma], dtype=torch.float64).expand(3, 2)
    std = torch.tensor([1.0, 0.05], dtype=torch.float64).expand(3, 2)
    latent = td.MixtureSameFamily(td.Categorical(weights), td.Normal(torch.zeros_like(std), std))
    theirs = td.Independent(latent, 1)
    x = torch.cat([noise(50), 0.05 * noise(50)])
    p = prior(gamma)
    torch.testing.assert_close(p.log_prob(x), theirs.log_prob(x))
    torch.testing.assert_close(p.variance[0], theirs.variance)
    torch.testing.assert_close(p.mean[0], theirs.mean)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.8, 1.0])
def test_samples_have_the_distribution(gamma: float) -> None:
    sample = prior(gamma).at(noise(20_000)).numpy()

    def cdf(x: float) -> float:
        return (1.0 - gamma) * stats.norm.cdf(x) + gamma * stats.norm.cdf(x, 0.0, 0.05)

    for j in range(3):
        assert stats.kstest(sample[:, j], cdf).pvalue > 0.01


def test_without_a_spike_it_is_the_standard_normal() -> None:
    z = noise(100)
    p = prior(0.0)
    normal = td.Independent(td.Normal(torch.zeros_like(z), 1.0), 1)
    torch.testing.assert_close(p.log_prob(z), normal.log_prob(z))
    torch.testing.assert_close(p.at(z), z, rtol=1e-10, atol=1e-12)


def test_its_gradient_is_finite_without_a_spike_and_without_a_slab() -> None:
    for gamma in (0.0, 1.0):
        z = noise(10).requires_grad_()
        prior(gamma).log_prob(z).sum().backward()  # type: ignore[no-untyped-call]
        assert z.grad is not None
        assert torch.isfinite(z.grad).all()


def test_samples_of_float32_noise_are_finite_where_the_shares_meet() -> None:
    edge = torch.special.ndtri(torch.tensor(0.9))  # |noise| that cuts 0.8 off
    around = edge + torch.arange(-20, 20) * torch.finfo(torch.float32).eps
    eps = torch.stack([around, -around, torch.zeros(40)], 1)
    sample = SparsePrior(3, 0.8)().at(eps)
    assert torch.isfinite(sample).all()
    assert sample.dtype == torch.float32
