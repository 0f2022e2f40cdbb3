import json

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm, qmc

from vaescope.codes import Codes
from vaescope.errors import RangeError
from vaescope.latents import kl, mixture, total_correlation
from vaescope.latents.mixture import log_marginals, log_mixture, posteriors_of
from vaescope.prior_density import GaussianDensity


def linear_gaussian(weights: np.ndarray, variance: np.ndarray, n: int = 2000) -> Codes:
    """Means W x of n evenly spread x ~ N(0, I): the aggregate is N(0, W W' + diag(variance)).

    The x are whitened, so that they have the moments of the population.
    """
    x = norm.ppf(qmc.Halton(weights.shape[1], seed=0).random(n))
    x -= x.mean(axis=0)
    x = np.linalg.solve(np.linalg.cholesky(x.T @ x / n), x.T).T
    mean = x @ weights.T
    return Codes(mean, np.tile(variance, (n, 1)), mean)


def closed_form(weights: np.ndarray, variance: np.ndarray) -> tuple[float, float, float]:
    """Total correlation, information and KL to N(0, I) of the linear-Gaussian model."""
    aggregate = weights @ weights.T + np.diag(variance)
    log_det = np.linalg.slogdet(aggregate)[1]
    return (
        0.5 * (np.log(np.diag(aggregate)).sum() - log_det),
        0.5 * (log_det - np.log(variance).sum()),
        0.5 * (np.trace(aggregate) - len(variance) - log_det),
    )


CASES = {
    "two latents": (np.array([[0.8, 0.0], [0.5, 0.5]]), np.array([0.2, 0.3])),
    "ten latents": (
        np.linalg.qr(np.random.default_rng(3).normal(size=(10, 10)))[0][:, :3],
        np.full(10, 0.4),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_mixture_agrees_with_closed_form_to_one_percent_at_2000_points(case: str) -> None:
    result = mixture(linear_gaussian(*CASES[case]), draws=2)
    found = (result.total_correlation, result.index_code_information, result.kl_to_prior)
    for estimate, known in zip(found, closed_form(*CASES[case]), strict=True):
        assert estimate.value == pytest.approx(known, rel=0.01)
        assert 0 < estimate.standard_error < 0.03


def test_information_and_kl_to_the_prior_add_up_to_the_rate() -> None:
    codes = linear_gaussian(*CASES["two latents"], n=500)
    result = mixture(codes, draws=4)
    total = result.index_code_information.value + result.kl_to_prior.value
    assert total == pytest.approx(kl(codes).nats.sum(), rel=0.002)


def test_densities_are_scipys(generator: np.random.Generator) -> None:
    """Full covariance and diagonal, against sums of densities."""
    factor = generator.normal(size=(3, 2, 2))
    covariance = factor @ factor.transpose(0, 2, 1) + 0.1 * np.eye(2)
    mean = generator.normal(size=(3, 2))
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    z = generator.normal(size=(7, 2))
    rows = np.arange(3)
    full = posteriors_of(Codes(mean, variance, mean, covariance=covariance), rows)
    each = [multivariate_normal(m, c).pdf(z) for m, c in zip(mean, covariance, strict=True)]
    np.testing.assert_allclose(log_mixture(z, full), np.log(np.mean(each, axis=0)))
    diagonal = posteriors_of(Codes(mean, variance, mean), rows)
    each = [norm(mean[:, j], np.sqrt(variance[:, j])).pdf(z[:, [j]]).mean(axis=1) for j in (0, 1)]
    np.testing.assert_allclose(log_marginals(z, diagonal), np.log(np.transpose(each)))


@pytest.mark.slow
def test_rotation_changes_total_correlation_only(generator: np.random.Generator) -> None:
    """mathieu2019, Theorem 2: with full covariance the rest does not know the axes."""
    weights, variance = CASES["two latents"]
    codes = linear_gaussian(weights, variance, n=1000)
    turn = np.linalg.qr(generator.normal(size=(2, 2)))[0]
    covariance = np.tile(turn @ np.diag(variance) @ turn.T, (1000, 1, 1))
    mean = codes.mean @ turn.T
    turned = Codes(
        mean, np.diagonal(covariance, axis1=1, axis2=2).copy(), mean, covariance=covariance
    )
    before, after = mixture(codes, draws=2), mixture(turned, draws=2)
    assert after.index_code_information.value == pytest.approx(
        before.index_code_information.value, rel=0.01
    )
    assert after.kl_to_prior.value == pytest.approx(before.kl_to_prior.value, rel=0.02)
    aggregate = turn @ (weights @ weights.T + np.diag(variance)) @ turn.T
    assert after.total_correlation.value == pytest.approx(total_correlation(aggregate), rel=0.01)
    assert before.total_correlation.value != pytest.approx(total_correlation(aggregate), rel=0.1)


def test_posteriors_that_do_not_meet_tell_their_index() -> None:
    mean = 10.0 * np.arange(50.0)[:, None]
    result = mixture(Codes(mean, np.full((50, 1), 1e-12), mean))
    assert result.index_code_information.value == pytest.approx(np.log(50))


def test_posteriors_that_are_the_prior_tell_nothing() -> None:
    zeros = np.zeros((200, 3))
    result = mixture(Codes(zeros, np.ones((200, 3)), zeros))
    for estimate in (result.total_correlation, result.index_code_information, result.kl_to_prior):
        assert estimate.value == pytest.approx(0.0, abs=1e-9)


def test_a_conditional_prior_is_a_mixture_too(generator: np.random.Generator) -> None:
    """Posteriors that equal p(z|u) have the same aggregate as the prior."""
    mean = generator.normal(size=(300, 2))
    variance = np.full_like(mean, 0.2)
    codes = Codes(mean, variance, mean, prior=GaussianDensity(mean, variance))
    assert mixture(codes).kl_to_prior.value == pytest.approx(0.0, abs=1e-9)


def test_more_codes_than_asked_for_are_drawn_and_said(generator: np.random.Generator) -> None:
    mean = generator.normal(size=(300, 2))
    result = mixture(Codes(mean, np.full_like(mean, 0.5), mean), rows=100, seed=3)
    assert (result.n, result.of, result.seed) == (100, 300, 3)
    assert "100 of 300" in result.summary()
    json.dumps(result.to_dict(), allow_nan=False)


def test_point_posteriors_and_impossible_covariances_are_errors() -> None:
    zeros = np.zeros((4, 2))
    with pytest.raises(RangeError, match="no density"):
        mixture(Codes(zeros, zeros, zeros))
    singular = np.tile(np.ones((2, 2)), (4, 1, 1))
    with pytest.raises(RangeError, match="positive definite"):
        mixture(Codes(zeros, np.ones((4, 2)), zeros, covariance=singular))
