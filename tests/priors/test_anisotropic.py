import numpy as np
import pytest
import torch

from vaescope.data import Dataset
from vaescope.data.synthetic import linear_gaussian
from vaescope.errors import UsageError
from vaescope.priors.anisotropic import (
    AnisotropicPrior,
    log_principal_variances,
    log_released_variances,
)


@pytest.fixture(scope="module")
def gaussian() -> Dataset:
    values = tuple(np.linspace(12.0, 1.0, 24))
    return linear_gaussian(eigenvalues=values, dimension=30, noise=0.1, n=3000)


def flat(data: Dataset) -> np.ndarray:
    return data.rows(np.arange(len(data))).reshape(len(data), -1).astype(np.float64)


@pytest.mark.parametrize("variance", [1.0, 0.03])
def test_variances_average_the_variance_and_keep_the_order_of_the_shares(variance: float) -> None:
    shares = torch.tensor([2.0, 0.5, -1.0, 3.0], dtype=torch.float64)
    p = AnisotropicPrior(shares, variance=variance).double()()
    torch.testing.assert_close(p.variance.sum().item(), 4.0 * variance, rtol=1e-6, atol=0)
    assert p.variance.shape == (1, 4)
    assert torch.equal(p.variance[0].argsort(), shares.argsort())
    # A softmax of logarithms only normalises.
    ratio = p.variance[0] / shares.exp()
    torch.testing.assert_close(ratio, ratio[0].expand(4))


def test_equal_shares_are_the_standard_normal() -> None:
    p = AnisotropicPrior(torch.full((5,), 7.0))()
    torch.testing.assert_close(p.variance, torch.ones(1, 5))


def test_principal_variances_are_numpys_leading_eigenvalues_of_centred_data(
    gaussian: Dataset,
) -> None:
    covariance = np.cov(flat(gaussian), rowvar=False, ddof=0)
    expected = np.linalg.eigvalsh(covariance)[::-1][:6]
    ours = log_principal_variances(gaussian, 6).exp().numpy()
    np.testing.assert_allclose(ours, expected, rtol=1e-5)


def test_the_released_order_is_the_eleventh_to_twentieth_upwards_of_raw_data(
    gaussian: Dataset,
) -> None:
    x = flat(gaussian)
    raw = np.linalg.eigvalsh(x.T @ x / len(x))[::-1]
    ours = log_released_variances(gaussian, 10).exp().numpy()
    np.testing.assert_allclose(ours, raw[10:20][::-1], rtol=1e-5)
    with pytest.raises(UsageError, match="kept 20 singular values"):
        log_released_variances(gaussian, 21)


def test_data_that_vary_in_too_few_directions_are_refused() -> None:
    flat_data = linear_gaussian(eigenvalues=(2.0, 1.0), dimension=6, noise=0.0, n=500)
    with pytest.raises(UsageError, match="fewer than 4 directions"):
        log_principal_variances(flat_data, 4)


def test_learned_shares_are_parameters_and_fixed_ones_are_saved_with_the_weights() -> None:
    start = torch.tensor([1.0, 0.0])
    learned, fixed = AnisotropicPrior(start, learned=True), AnisotropicPrior(start)
    assert [name for name, _ in learned.named_parameters()] == ["log_shares"]
    assert list(fixed.parameters()) == []
    assert list(fixed.state_dict()) == ["log_shares"]
    learned().log_prob(torch.ones(3, 2)).sum().backward()  # type: ignore[no-untyped-call]
    assert learned.log_shares.grad is not None
    assert learned.log_shares.grad.abs().min() > 0
