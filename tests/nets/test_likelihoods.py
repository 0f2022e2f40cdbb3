import torch
from torch import distributions as td
from torch.nn import functional as F

from vaescope.nets import (
    BernoulliLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    LocalGaussianLikelihood,
    SquaredErrorLikelihood,
)


def normal(*shape: int, seed: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64)


def test_laplace_of_scale_a_tenth_is_torchs() -> None:
    output, x = normal(4, 1, 6, 6, seed=0), normal(4, 1, 6, 6, seed=1)
    ours = LaplaceLikelihood().double()(output)
    theirs = td.Independent(td.Laplace(output, torch.tensor(0.1, dtype=torch.float64)), 3)
    torch.testing.assert_close(ours.log_prob(x), theirs.log_prob(x), rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(ours.mean, output)


def test_the_local_gaussian_reads_means_first_and_deviations_behind_them() -> None:
    for event in ((2,), (3, 5, 5)):
        output = normal(4, 2 * event[0], *event[1:], seed=2)
        x = normal(4, *event, seed=3)
        ours = LocalGaussianLikelihood()(output)
        mean, std = output[:, : event[0]], F.softplus(output[:, event[0] :]) + 1e-6
        theirs = td.Independent(td.Normal(mean, std), len(event))
        torch.testing.assert_close(ours.log_prob(x), theirs.log_prob(x))
        torch.testing.assert_close(ours.mean, mean)


def test_the_local_gaussian_stays_finite_at_extreme_outputs() -> None:
    output = torch.tensor([[0.0, -1e4], [0.0, 1e4]], requires_grad=True)
    loss = LocalGaussianLikelihood()(output).log_prob(torch.zeros(2, 1)).sum()
    loss.backward()
    assert torch.isfinite(loss)
    assert output.grad is not None
    assert torch.isfinite(output.grad).all()


def test_only_the_local_gaussian_reads_two_outputs_per_value() -> None:
    assert LocalGaussianLikelihood.width == 2
    narrow = (BernoulliLikelihood, GaussianLikelihood, LaplaceLikelihood, SquaredErrorLikelihood)
    assert {likelihood.width for likelihood in narrow} == {1}
