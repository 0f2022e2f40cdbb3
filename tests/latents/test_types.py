from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import UsageError
from vaescope.latent_types import types_of
from vaescope.latents import types
from vaescope.prior_density import GaussianDensity

#: Of the third-party models, by their README: passive and mixed latents on the 10,000 codes.
KNOWN = {
    "btcvae_dsprites": ([0, 1, 5, 7, 9], []),
    "btcvae_dsprites_a0": ([1, 3, 5, 7, 9], []),
    "betaB_dsprites": ([0, 1, 2, 3, 4, 8], []),
    "VAE_dsprites": ([], [6, 7, 9]),
    "betaH_dsprites": ([], [3, 5, 6, 7, 9]),
}


@pytest.mark.parametrize("model", KNOWN)
def test_latents_of_third_party_models_have_their_known_types(
    model: str, shared_data: Callable[[str], Path]
) -> None:
    kinds = types(Codes.load(shared_data(f"pretrained/codes/{model}_codes.npz")))
    passive, mixed = KNOWN[model]
    assert kinds.passive.tolist() == passive
    assert kinds.mixed.tolist() == mixed


def test_the_rule_at_its_edges() -> None:
    """Low spread: mean up to 0.1 is active, 0.9 to 1.1 passive, anything else mixed."""
    means = np.array([0.0, 0.1, 0.1001, 0.5, 0.8999, 0.9, 1.1, 1.1001])
    assert types_of(means, np.zeros(8)) == [
        "active", "active", "mixed", "mixed", "mixed", "passive", "passive", "mixed",
    ]  # fmt: skip
    assert types_of(np.array([0.05, 1.0]), np.array([0.1, 0.1])) == ["mixed", "mixed"]


def test_a_latent_that_is_passive_on_half_of_the_data_is_mixed() -> None:
    variance = np.repeat([[0.0], [1.0]], 25, axis=0)
    assert types(Codes(variance, variance, variance)).names == ("mixed",)


def test_the_summary_names_the_latents() -> None:
    codes = Codes(np.zeros((5, 2)), np.tile([0.01, 1.0], (5, 1)), np.zeros((5, 2)))
    assert types(codes).summary() == "1 active (0), 0 mixed, 1 passive (1)"


@pytest.mark.parametrize("model", KNOWN)
def test_the_rule_by_kl_gives_the_same_types_on_third_party_models(
    model: str, shared_data: Callable[[str], Path]
) -> None:
    codes = Codes.load(shared_data(f"pretrained/codes/{model}_codes.npz"))
    assert types(codes, criterion="kl").names == types(codes).names


def conditional(
    prior_variance: float, posterior_variance: float, spread: float, generator: np.random.Generator
) -> Codes:
    """One latent of an iVAE: prior N(0, prior_variance), posterior means with that spread."""
    mean = spread * generator.normal(size=(500, 1))
    variance = np.full((500, 1), posterior_variance)
    prior = np.full((500, 1), prior_variance)
    return Codes(mean, variance, mean, prior=GaussianDensity(np.zeros_like(mean), prior))


def test_a_latent_that_equals_its_narrow_prior_is_passive(generator: np.random.Generator) -> None:
    """grzes2023: prior variances of passive latents go to 0, which bonheme2023's rule takes for
    active."""
    codes = conditional(1e-3, 1e-3, 1e-4, generator)
    assert types(codes).criterion == "unused"
    assert types(codes).names == types(codes, criterion="kl").names == ("passive",)
    assert types(codes, criterion="bonheme2023").names == ("active",)
    assert types(conditional(1.0, 1e-3, 1.0, generator)).names == ("active",)
    assert types(conditional(1.0, 0.5, 0.7, generator)).names == ("mixed",)
    wide = conditional(100.0, 5.0, 10.0, generator)  # a twentieth of the prior's variance
    assert types(wide).names == ("active",)


def test_a_standard_prior_that_is_given_changes_nothing(generator: np.random.Generator) -> None:
    given = conditional(1.0, 0.5, 0.7, generator)
    assumed = Codes(given.mean, given.variance, given.sample)
    assert assumed.prior_assumed and not given.prior_assumed
    assert types(given).to_dict() == types(assumed).to_dict()


def test_full_covariance_is_typed_by_its_marginals() -> None:
    mean = np.zeros((4, 2))
    covariance = np.tile(np.eye(2), (4, 1, 1))
    kinds = types(Codes(mean, np.ones((4, 2)), mean, covariance=covariance))
    assert kinds.names == ("passive", "passive")


def test_the_papers_criteria_at_their_thresholds(generator: np.random.Generator) -> None:
    """Means of standard deviation 0.05, 0.2 and 0.6; variances 0.9, 0.79 and 0.3."""
    noise = generator.normal(size=(4000, 3))
    mean = noise / noise.std(axis=0) * [0.05, 0.2, 0.6]
    codes = Codes(mean, np.tile([0.9, 0.79, 0.3], (4000, 1)), mean)
    assert types(codes, criterion="zietlow2022-chapter-3").active.tolist() == [2]
    assert types(codes, criterion="zietlow2022-chapter-4").active.tolist() == [1, 2]
    assert types(codes, criterion="bhowal2024").active.tolist() == [1, 2]
    assert types(codes).mixed.tolist() == [1, 2]


def test_a_criterion_that_does_not_exist_lists_those_that_do() -> None:
    codes = Codes(np.zeros((2, 1)), np.ones((2, 1)), np.zeros((2, 1)))
    with pytest.raises(UsageError, match="zietlow2022-chapter-3"):
        types(codes, criterion="zietlow2022")


def test_definition_2_counts_the_examples_on_which_a_latent_is_passive() -> None:
    """Passive on 95 of 100 examples: bonheme2023's thresholds call it passive, its Definition 2 and
    our rule, by the five means that move, mixed."""
    variance = np.repeat([[1.0], [0.001]], [95, 5], axis=0)
    mean = np.repeat([[0.0], [1.5]], [95, 5], axis=0)
    kinds = types(Codes(mean, variance, mean))
    assert types(Codes(mean, variance, mean), criterion="bonheme2023").names == ("passive",)
    assert kinds.names == ("mixed",)
    assert kinds.kind_of_mixed == ("used for some examples only",)
    assert kinds.passive_fraction.tolist() == [0.95]


def test_the_dictionary_has_the_keys_of_the_interface_and_no_infinity() -> None:
    codes = Codes(np.zeros((5, 2)), np.tile([0.0, 1.0], (5, 1)), np.zeros((5, 2)))
    row = types(codes).to_dict()
    assert {
        "types", "mean_variance", "variance_of_variance", "kl", "variance_of_mean",
        "passive_fraction",
    } <= set(row)  # fmt: skip
    assert row["kl"] == [None, 0.0]
    assert row["types"] == ["active", "passive"]


def test_statistics_in_chunks_are_those_of_the_whole(generator: np.random.Generator) -> None:
    variance = generator.random((40_000, 2)).astype(np.float32)
    kinds = types(Codes(variance, variance, variance))
    np.testing.assert_allclose(kinds.mean_variance, variance.mean(axis=0, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(
        kinds.variance_of_variance, variance.astype(float).var(axis=0), rtol=1e-12
    )
