import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch

from vaescope.errors import ShapeError
from vaescope.geometry import bernoulli_of_means, predicted_variance, variance_law
from vaescope.nets import GaussianLikelihood, SquaredErrorLikelihood


def test_the_closed_form_of_a_linear_vae_obeys_the_law() -> None:
    """Summed squared error and beta: sigma_j^2 = s / lambda_j and ||c_j||^2 = lambda_j - s with
    s = beta / 2 (papers.md section 4.4)."""
    beta, eigenvalues = 0.04, np.array([4.0, 1.0, 0.25, 0.05])
    s = beta / 2
    matrix = torch.diag(torch.from_numpy(np.sqrt(eigenvalues - s)).float())
    variance = np.tile(s / eigenvalues, (10, 1))
    found = variance_law(
        lambda z: z @ matrix, np.zeros((10, 4)), variance, weight=beta,
        likelihood=SquaredErrorLikelihood(),
    )  # fmt: skip
    assert found.ratio == pytest.approx(1.0, rel=1e-5)
    assert found.law_slope == pytest.approx(1.0, rel=1e-5)
    assert found.value == pytest.approx(-1.0, abs=0.12)  # flatter at 0.05, which is near s


def test_latents_that_the_decoder_ignores_keep_the_priors_variance() -> None:
    np.testing.assert_allclose(
        predicted_variance(np.array([0.0, 1e9]), weight=1.0, prior_variance=3.0), [3.0, 1e-9]
    )


def test_variance_is_proportional_to_the_decoder_variance_over_four_decades() -> None:
    """grzes2023 Theorem 1, by the law: G = J'J / gamma."""
    columns = np.array([[2.0, 0.5]])
    per_gamma = []
    for gamma in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        found = variance_law(
            lambda z: z * z.new_tensor(columns[0]), np.zeros((3, 2)), np.ones((3, 2)), weight=1.0,
            likelihood=GaussianLikelihood(np.sqrt(gamma)),
        )  # fmt: skip
        assert found.predicted is not None
        per_gamma.append(found.predicted)
    ratios = np.array(per_gamma[1:-1]) / np.array(per_gamma[2:])
    np.testing.assert_allclose(ratios, 10.0, rtol=0.05)


@pytest.mark.slow
def test_a_trained_vae_follows_the_law(third_party: Callable[[str], object]) -> None:
    """beta 1, nobody here trained it."""
    model = third_party("VAE_dsprites")
    found = variance_law(
        model.decode, model.mean[:100], model.variance[:100], weight=1.0,
        likelihood=bernoulli_of_means,
    )  # fmt: skip
    assert found.space == "likelihood"
    assert found.ratio == pytest.approx(1.0, abs=0.15)
    assert found.value == pytest.approx(-0.9, abs=0.1)
    assert found.interval is not None and found.interval[1] - found.interval[0] < 0.2


def test_without_beta_or_likelihood_only_the_slope_is_given() -> None:
    decode = lambda z: z * z.new_tensor([1.0, 2.0, 4.0])  # noqa: E731
    variance = np.tile(1e-4 / np.array([1.0, 4.0, 16.0]), (5, 1))
    found = variance_law(decode, np.zeros((5, 3)), variance)
    assert found.value == pytest.approx(-1.0)
    assert found.ratio is None and found.predicted is None
    assert found.to_dict()["ratio"] is None


def test_equal_columns_have_no_slope_and_point_posteriors_no_law() -> None:
    found = variance_law(torch.sin, np.zeros((4, 2)), np.ones((4, 2)))
    assert np.isnan(found.value) and found.to_dict()["value"] is None
    with pytest.raises(ShapeError, match="a point without noise"):
        variance_law(torch.sin, np.zeros((4, 2)), np.zeros((4, 2)))
    with pytest.raises(ShapeError, match="shape"):
        variance_law(torch.sin, np.zeros((4, 2)), np.ones((3, 2)))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"weight": 0.0}, "the weight of the rate is 0"),
        ({"weight": None, "reason": "there is no rate"}, "there is no rate"),
        ({"weight": 1.0, "prior_variance": np.full(3, np.nan)}, "ignores x becomes is not known"),
    ],
)
def test_where_no_law_holds_its_numbers_are_null_with_the_reason_and_nothing_is_warned_of(
    given: dict[str, object], reason: str
) -> None:
    decode = lambda z: z * z.new_tensor([1.0, 2.0, 4.0])  # noqa: E731
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        found = variance_law(
            decode, np.zeros((5, 3)), np.full((5, 3), 0.1), likelihood=GaussianLikelihood(1.0),
            **given,
        )  # fmt: skip
    plain = found.to_dict()
    assert plain["ratio"] is None and plain["predicted"] is None and plain["law_slope"] is None
    assert reason in plain["reason"] and reason in found.summary()


def test_the_law_takes_a_prior_variance_per_latent_and_per_example() -> None:
    """1 / v = 1 / s + G / weight, solved by hand: G = 1, 4, 16 (columns 1, 2, 4, unit noise)."""
    columns, metric = np.array([1.0, 2.0, 4.0]), np.array([1.0, 4.0, 16.0])
    prior = np.array([[0.5, 1.0, 2.0], [3.0, 0.1, 1.0]])
    variance = 1.0 / (1.0 / prior + metric / 4.0)
    for given, s in ((prior, variance), (prior[0], variance[[0, 0]])):
        found = variance_law(
            lambda z: z * z.new_tensor(columns), np.zeros((2, 3)), s, weight=4.0,
            prior_variance=given, likelihood=GaussianLikelihood(1.0),
        )  # fmt: skip
        assert found.ratio == pytest.approx(1.0, rel=1e-5)
    assert found.reason == ""
