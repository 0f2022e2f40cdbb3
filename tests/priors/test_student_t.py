import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import distributions as td

from vaescope.priors.student_t import StudentT, StudentTPrior


def student(df: float) -> StudentT:
    loc = torch.tensor([[0.5, -1.0, 0.0]], dtype=torch.float64)
    scale = torch.tensor([[0.7, 2.0, 1.0]], dtype=torch.float64)
    return StudentT(df, loc, scale)


def noise(n: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(0)
    return torch.randn(n, 3, generator=g, dtype=torch.float64)


@pytest.mark.parametrize("df", [0.5, 1.0, 3.0, 9.0, 1e4])
def test_it_has_torchs_density_and_moments(df: float) -> None:
    ours = student(df)
    theirs = td.Independent(td.StudentT(ours.df, ours.loc, ours.scale), 1)
    x = 5.0 * noise(50)
    torch.testing.assert_close(ours.log_prob(x), theirs.log_prob(x), rtol=1e-10, atol=1e-8)
    if df > 2.0:
        torch.testing.assert_close(ours.variance, theirs.variance)
        torch.testing.assert_close(ours.mean, theirs.mean)
    else:
        assert torch.isinf(ours.variance).all()


@pytest.mark.parametrize("df", [0.5, 1.0, 3.0, 9.0, 1e4, 1e12])
def test_samples_are_the_quantiles_at_the_noise(df: float) -> None:
    eps = torch.linspace(-8.5, 8.5, 999, dtype=torch.float64).unsqueeze(1)
    zero = torch.zeros(1, 1, dtype=torch.float64)
    sample = StudentT(df, zero, zero + 1.0).at(eps).numpy()[:, 0]
    grid = eps.numpy()[:, 0]
    # From the side on which the probability is small, where it has its digits.
    expected = np.sign(grid) * stats.t.isf(stats.norm.sf(np.abs(grid)), df)
    np.testing.assert_allclose(sample, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("df", [1.0, 3.0, 9.0])
def test_samples_have_the_distribution(df: float) -> None:
    p = student(df)
    sample = ((p.at(noise(20_000)) - p.loc) / p.scale).numpy()
    for j in range(3):
        assert stats.kstest(sample[:, j], stats.t(df).cdf).pvalue > 0.01


def test_many_degrees_of_freedom_are_the_normal_to_the_last_digit() -> None:
    p = student(1e12)
    x = noise(50)
    normal = td.Independent(td.Normal(p.loc, p.scale), 1)
    torch.testing.assert_close(p.log_prob(x), normal.log_prob(x), rtol=0, atol=1e-9)
    torch.testing.assert_close(p.at(x), p.loc + p.scale * x, rtol=1e-9, atol=1e-9)


def test_float32_densities_agree_with_float64() -> None:
    x = noise(50)
    for df in (2.0, 9.0, 1e9):
        wide = student(df)
        narrow = StudentT(df, wide.loc.float(), wide.scale.float())
        torch.testing.assert_close(
            narrow.log_prob(x.float()).double(), wide.log_prob(x), rtol=1e-5, atol=1e-5
        )


def test_the_prior_scales_by_the_root_of_the_variance() -> None:
    p = StudentTPrior(4, 9.0, variance=0.25)()
    assert p.mean.shape == (1, 4)
    torch.testing.assert_close(p.scale, torch.full((1, 4), 0.5))
    torch.testing.assert_close(p.variance, torch.full((1, 4), 0.25 * 9.0 / 7.0))
    assert math.isfinite(p.log_prob(torch.zeros(2, 4)).sum().item())


def test_samples_stack_under_vmap() -> None:
    p = student(5.0)
    eps = noise(12).reshape(3, 4, 3)
    stacked = torch.func.vmap(p.at)(eps)
    torch.testing.assert_close(stacked, torch.stack([p.at(e) for e in eps]))
