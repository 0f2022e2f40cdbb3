import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import RangeError
from vaescope.latents import kl, kl_of_rows
from vaescope.prior_density import GaussianDensity


def test_kl_against_a_standard_normal_is_the_closed_form() -> None:
    mean, variance = np.array([[0.0, 2.0], [1.0, 0.0]]), np.array([[1.0, 0.5], [1.0, 2.0]])
    expected = [[0.0, 0.5 * (4 + 0.5 - 1 + np.log(2))], [0.5, 0.5 * (2 - 1 - np.log(2))]]
    codes = Codes(mean, variance, mean)
    np.testing.assert_allclose(kl_of_rows(codes), expected)
    np.testing.assert_allclose(kl(codes).nats, np.mean(expected, axis=0))


def test_kl_does_not_change_when_latents_and_prior_are_moved_and_stretched(
    generator: np.random.Generator,
) -> None:
    mean, variance = generator.normal(size=(50, 3)), generator.random((50, 3)) + 0.1
    plain = Codes(mean, variance, mean)
    moved = Codes(
        3.0 * mean + 1.0,
        9.0 * variance,
        mean,
        prior=GaussianDensity(np.ones_like(mean), np.full_like(mean, 9.0)),
    )
    np.testing.assert_allclose(kl_of_rows(moved), kl_of_rows(plain))
    assert kl(plain).prior == "N(0, 1)"
    assert kl(moved).prior != "N(0, 1)"


def test_kl_is_zero_where_the_posterior_is_the_conditional_prior() -> None:
    mean, variance = np.array([[3.0, -1.0]]), np.array([[0.25, 4.0]])
    codes = Codes(mean, variance, mean, prior=GaussianDensity(mean, variance))
    np.testing.assert_allclose(kl_of_rows(codes), 0.0, atol=1e-12)


def test_the_marginals_of_a_full_covariance_say_that_they_are_marginals() -> None:
    """Correlation 0.9 between two latents costs 0.83 nats that no marginal knows of."""
    covariance = np.tile([[1.0, 0.9], [0.9, 1.0]], (3, 1, 1))
    result = kl(Codes(np.zeros((3, 2)), np.ones((3, 2)), np.zeros((3, 2)), covariance=covariance))
    assert result.marginal
    assert "marginals" in result.summary()
    np.testing.assert_array_equal(result.nats, [0.0, 0.0])


def test_a_point_posterior_has_infinite_kl_and_none_in_json() -> None:
    result = kl(Codes(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1))))
    assert result.nats.tolist() == [np.inf]
    assert result.to_dict()["kl"] == [None]


def test_a_prior_without_width_is_an_error() -> None:
    zeros = np.zeros((3, 1))
    with pytest.raises(RangeError, match="variance of a gaussian prior has the value 0"):
        GaussianDensity(zeros, zeros)
