"""A prior by its log-density and its draws, against those that have a closed form."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch import distributions as td

import vaescope as vs
from vaescope.codes import Codes
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.latents.kl import rate as rate_of
from vaescope.prior_density import standard_normal
from vaescope.priors import StatedPrior, as_prior

D = 3


def codes_with(prior: object, *, n: int = 400) -> Codes:
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((n, D)), rng.uniform(0.05, 0.9, (n, D))
    sample = mean + np.sqrt(variance) * rng.standard_normal((n, D))
    return Codes(mean, variance, sample, prior=prior)


def normal_density(z: Tensor) -> Tensor:
    return td.Normal(0.0, 1.0).log_prob(z).sum(1)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_a_standard_normal_that_is_stated_has_its_kl_and_rate() -> None:
    stated = as_prior((normal_density, lambda n: torch.randn(n, D)), D).density()
    ours, known = codes_with(stated), codes_with(standard_normal(D))
    np.testing.assert_allclose(
        vs.latents.kl(ours).nats, vs.latents.kl(known).nats, rtol=0.01, atol=0.01
    )
    rate, wanted = rate_of(ours), rate_of(known)
    assert abs(rate.value - wanted.value) < 4 * rate.standard_error + 1e-3
    np.testing.assert_allclose(stated.unused_variance(), np.ones(D), rtol=0.25)
    assert vs.latents.types(ours).names == vs.latents.types(known).names


def test_a_full_covariance_has_the_joint_rate_and_the_kl_of_its_marginals() -> None:
    covariance = torch.tensor([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 2.0]])
    prior = as_prior(td.MultivariateNormal(torch.zeros(D), covariance), D)
    assert isinstance(prior, StatedPrior)
    ours = codes_with(prior.density())
    mean, variance = (torch.from_numpy(part).float() for part in (ours.mean, ours.variance))
    q = td.MultivariateNormal(mean, torch.diag_embed(variance))
    p = td.MultivariateNormal(torch.zeros(D), covariance)
    wanted = float(td.kl_divergence(q, p).mean())
    rate = rate_of(ours)
    assert abs(rate.value - wanted) < 4 * rate.standard_error + 1e-3
    marginal = td.kl_divergence(
        td.Normal(mean, variance.sqrt()), td.Normal(torch.zeros(D), covariance.diagonal().sqrt())
    ).mean(0)
    np.testing.assert_allclose(vs.latents.kl(ours).nats, marginal.numpy(), rtol=0.02, atol=0.01)


def test_a_mixture_of_two_by_its_draws_is_the_mixture_that_is_known() -> None:
    parts = td.Independent(td.Normal(torch.tensor([[-2.0] * D, [2.0] * D]), torch.ones(2, D)), 1)
    mixture = td.MixtureSameFamily(td.Categorical(torch.tensor([0.3, 0.7])), parts)
    known = codes_with(as_prior(mixture, D).density())
    stated = as_prior((mixture.log_prob, lambda n: mixture.sample((n,)), "two"), D).density()
    ours = codes_with(stated)
    assert stated.says == "two"
    np.testing.assert_allclose(
        vs.latents.kl(ours).nats, vs.latents.kl(known).nats, rtol=0.02, atol=0.01
    )
    z = np.linspace(-4.0, 4.0, 9)
    for ours_tail, tail in zip(stated.tails(0, z), known.prior.tails(0, z), strict=True):
        np.testing.assert_allclose(ours_tail, tail, atol=0.01)


def test_a_flow_with_sample_and_log_prob_is_a_prior() -> None:
    flow = td.TransformedDistribution(
        td.Independent(td.Normal(torch.zeros(D), torch.ones(D)), 1),
        [td.transforms.AffineTransform(torch.full((D,), 0.5), torch.full((D,), 2.0), event_dim=1)],
    )
    ours = codes_with(as_prior(flow, D).density())
    mean, variance = (torch.from_numpy(part) for part in (ours.mean, ours.variance))
    wanted = td.kl_divergence(td.Normal(mean, variance.sqrt()), td.Normal(0.5, 2.0)).sum(1).mean()
    rate = rate_of(ours)
    assert abs(rate.value - float(wanted)) < 4 * rate.standard_error + 1e-3


def test_an_energy_is_divided_by_its_integral_and_that_is_said() -> None:
    prior = as_prior((lambda z: normal_density(z) + 3.0, torch.randn(5000, D)), D)
    assert isinstance(prior, StatedPrior)
    assert "e^3.0" in prior.note
    z = torch.randn(10, D)
    torch.testing.assert_close(prior().log_prob(z), normal_density(z), rtol=0, atol=0.1)


def test_draws_of_another_distribution_are_refused() -> None:
    with pytest.raises(UsageError, match="draws are not from its log-density"):
        as_prior((normal_density, lambda n: 2.0 * torch.randn(n, D)), D)


@pytest.mark.parametrize(
    ("prior", "error"),
    [
        (td.Gamma(torch.ones(D), torch.ones(D)), UsageError),
        ((normal_density, torch.randn(100, D + 1)), ShapeError),
        ((lambda z: z.sum(1) * torch.nan, torch.randn(100, D)), RangeError),
    ],
)
def test_what_is_no_prior_of_these_latents_is_refused(
    prior: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        as_prior(prior, D)


def test_codes_with_a_function_as_prior_are_not_written_as_if_it_were_another() -> None:
    ours = codes_with(as_prior((normal_density, torch.randn(1000, D)), D).density())
    with pytest.raises(UsageError, match="a function cannot be saved"):
        ours.prior.to_json()


def test_noise_is_mapped_to_draws_of_the_prior() -> None:
    prior = as_prior((normal_density, lambda n: torch.randn(n, D)), D)
    z = prior().at(torch.randn(4000, D))
    assert abs(float(z.mean())) < 0.1
    assert abs(float(z.std()) - 1.0) < 0.05
