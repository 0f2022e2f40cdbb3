import math

import pytest
import torch
from scipy import stats
from torch import distributions as td

from vaescope.distributions import DiagonalGaussian, rate
from vaescope.priors.mixture import GaussianMixture, MixturePrior, axis_means


def mixture() -> tuple[GaussianMixture, td.MixtureSameFamily]:
    g = torch.Generator().manual_seed(0)
    weights = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
    loc = torch.randn(3, 2, generator=g, dtype=torch.float64) * 2.0
    log_variance = torch.randn(3, 2, generator=g, dtype=torch.float64)
    components = td.Independent(td.Normal(loc, (0.5 * log_variance).exp()), 1)
    theirs = td.MixtureSameFamily(td.Categorical(weights), components)
    return GaussianMixture(weights.log(), loc, log_variance), theirs


def noise(n: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(1)
    return torch.randn(n, 2, generator=g, dtype=torch.float64)


def test_it_has_torchs_density_and_moments() -> None:
    ours, theirs = mixture()
    x = 3.0 * noise(50)
    torch.testing.assert_close(ours.log_prob(x), theirs.log_prob(x))
    torch.testing.assert_close(ours.mean, theirs.mean.unsqueeze(0))
    torch.testing.assert_close(ours.variance, theirs.variance.unsqueeze(0))


def test_the_density_integrates_to_one() -> None:
    p = MixturePrior(axis_means(2)).double()()
    line = torch.linspace(-2.5, 2.5, 501, dtype=torch.float64)
    grid = torch.cartesian_prod(line, line)
    mass = p.log_prob(grid).exp().sum() * (line[1] - line[0]) ** 2
    torch.testing.assert_close(mass, torch.tensor(1.0, dtype=torch.float64), rtol=1e-6, atol=0)


@pytest.mark.parametrize("coordinate", [0, 1])
def test_samples_have_the_marginal_distributions(coordinate: int) -> None:
    ours, _ = mixture()
    sample = ours.at(noise(20_000))[:, coordinate].numpy()
    weights = ours.log_weights.exp().numpy()
    loc = ours.loc[:, coordinate].numpy()
    std = (0.5 * ours.log_variance[:, coordinate]).exp().numpy()

    def cdf(x: float) -> float:
        return sum(w * stats.norm.cdf(x, m, s) for w, m, s in zip(weights, loc, std, strict=True))

    assert stats.kstest(sample, cdf).pvalue > 0.01


def test_coordinates_of_a_sample_belong_to_the_same_component() -> None:
    p = MixturePrior(axis_means(2), variance=1e-4).double()()
    nearest = torch.cdist(p.at(noise(20_000)), p.loc).min(1)
    assert nearest.values.max() < 0.1
    shares = torch.bincount(nearest.indices) / 20_000
    torch.testing.assert_close(shares, torch.full((4,), 0.25), atol=0.01, rtol=0)


def test_within_a_component_the_coordinates_are_independent_normals() -> None:
    p = MixturePrior(axis_means(2), variance=1e-4).double()()
    sample = p.at(noise(40_000))
    nearest = torch.cdist(sample, p.loc).min(1).indices
    for c in range(4):
        inside = (sample[nearest == c] - p.loc[c]) * 100.0
        assert abs(torch.corrcoef(inside.T)[0, 1].item()) < 0.04
        assert stats.kstest(inside[:, 0].numpy(), "norm").pvalue > 0.01


def test_the_papers_four_means_are_on_the_axes() -> None:
    means = {tuple(row) for row in axis_means(2).tolist()}
    assert means == {(0.0, -1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 0.0)}
    torch.testing.assert_close(MixturePrior(axis_means(2))().log_variance.exp(),
                               torch.full((4, 2), 0.03))  # fmt: skip


def test_legacy_counts_the_prior_once_per_latent_and_the_default_once() -> None:
    z = noise(8)
    q = DiagonalGaussian(0.1 * z, torch.zeros_like(z))
    right = MixturePrior(axis_means(2)).double()()
    flawed = MixturePrior(axis_means(2), legacy=True).double()()
    torch.testing.assert_close(rate(q, right, z), q.log_prob(z) - right.log_prob(z))
    torch.testing.assert_close(rate(q, flawed, z), q.log_prob(z) - 2.0 * right.log_prob(z))


def test_float32_noise_gives_finite_samples_at_the_edges_of_shares() -> None:
    p = MixturePrior(axis_means(2))()
    edges = torch.special.ndtri(torch.tensor([0.25, 0.5, 0.75]))
    eps = torch.stack([torch.cat([edges, torch.tensor([-9.0, 9.0])]), torch.zeros(5)], 1)
    assert torch.isfinite(p.at(eps)).all()
    assert p.at(eps).dtype == torch.float32
    assert math.isfinite(p.log_prob(p.at(eps)).sum().item())
