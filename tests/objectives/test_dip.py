from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from vaescope.distributions import DiagonalGaussian, FullGaussian
from vaescope.objectives.dip import DIPI, DIPII, covariance_of_means, covariance_of_samples
from vaescope.objectives.elbo import BetaVAE
from vaescope.schedules import Constant

ZERO = Constant(0.0)


@pytest.mark.parametrize("posterior", ["diagonal", "full"])
@pytest.mark.parametrize("objective", [DIPI(ZERO, ZERO), DIPII(ZERO, ZERO)])
def test_without_weights_it_is_the_elbo(
    objective: DIPI | DIPII, posterior: str, make_case: Callable[..., Any]
) -> None:
    case = make_case(posterior)
    torch.testing.assert_close(case(objective).loss, case(BetaVAE()).loss, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_covariances_are_those_of_means_and_of_many_samples() -> None:
    g = torch.Generator().manual_seed(0)
    mean = torch.randn(6, 3, generator=g, dtype=torch.float64)
    tril = torch.randn(6, 3, 3, generator=g, dtype=torch.float64).tril()
    tril.diagonal(dim1=-2, dim2=-1).abs_()
    full = FullGaussian(mean, tril)
    diagonal = DiagonalGaussian(mean, torch.randn(6, 3, generator=g, dtype=torch.float64))
    expected = np.cov(mean.numpy(), rowvar=False, ddof=0)
    np.testing.assert_allclose(covariance_of_means(full).numpy(), expected)
    for q in (full, diagonal):
        noise = torch.randn(20_000, 6, 3, generator=g, dtype=torch.float64)
        samples = torch.stack([q.at(eps) for eps in noise]).flatten(0, 1)
        many = np.cov(samples.numpy(), rowvar=False, ddof=0)
        np.testing.assert_allclose(covariance_of_samples(q).numpy(), many, atol=0.05)


def test_penalties_of_a_known_covariance(make_case: Callable[..., Any]) -> None:
    """Means +-(2, 1, 0) and unit variances: Cov[mean] = [[4, 2, 0], [2, 1, 0], [0, 0, 0]]."""
    case = make_case(net="linear", rows=2)
    head = case.vae.encoder.posterior.head
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
        head.weight[0, 0], head.weight[1, 0] = 2.0, 1.0
        case.batch.x.zero_()
        case.batch.x[:, 0] = torch.tensor([1.0, -1.0])
    elbo = case(BetaVAE()).loss
    first = case(DIPI(Constant(3.0), Constant(5.0))).loss - elbo
    assert first.item() == pytest.approx(3 * (2 * 2**2) + 5 * (3**2 + 0 + 1))
    second = case(DIPII(Constant(3.0), Constant(5.0))).loss - elbo
    assert second.item() == pytest.approx(3 * (2 * 2**2) + 5 * (4**2 + 1 + 0))
