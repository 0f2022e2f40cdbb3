import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest

from vaescope.codes import Codes
from vaescope.errors import RangeError
from vaescope.latents import delta_kl, polarised
from vaescope.latents.polarised import ks_distance
from vaescope.prior_density import GaussianDensity


@pytest.fixture
def synthetic(generator: np.random.Generator) -> Codes:
    """An active, a passive and a mixed latent, the last passive on 30% of 5,000 examples."""
    n = 5000
    on = np.arange(n) % 10 >= 3
    mean = np.zeros((n, 3))
    mean[:, 0] = generator.normal(size=n)
    mean[on, 2] = generator.uniform(-2, 2, size=on.sum())
    variance = np.tile([1e-4, 1.0, 1.0], (n, 1))
    variance[on, 2] = 1e-4
    sample = mean + np.sqrt(variance) * generator.normal(size=mean.shape)
    return Codes(mean, variance, sample)


def test_ks_distances_are_scipys(generator: np.random.Generator) -> None:
    a, b = generator.normal(size=700), generator.normal(0.3, 1.2, size=450)
    assert ks_distance(a, b) == pytest.approx(ks_2samp(a, b).statistic, abs=1e-12)
    mean = np.zeros((700, 1))
    result = polarised(Codes(mean, np.ones((700, 1)), a[:, None]))
    assert result.sample_to_prior[0] == pytest.approx(kstest(a, "norm").statistic, abs=1e-12)


def test_the_statements_hold_in_the_polarised_regime(synthetic: Codes) -> None:
    result = polarised(synthetic)
    assert result.types.names == ("active", "passive", "mixed")
    assert all(own.holds for own in result.statements)
    assert result.polarised_share == 1.0
    assert result.sample_to_mean[0] < 0.02 < 0.3 < result.sample_to_mean[1]
    assert result.sample_to_prior[1] < 0.03
    json.dumps(result.to_dict(), allow_nan=False)


def test_the_weight_of_a_mixed_latent_is_found_from_examples_and_from_samples(
    synthetic: Codes,
) -> None:
    """Theorem 5 (iii): c p(noise) + (1 - c) p(mean), c = 0.3."""
    result = polarised(synthetic)
    np.testing.assert_allclose(result.mixture_weight, [0.0, 1.0, 0.3])
    assert result.fitted_weight[2] == pytest.approx(0.3, abs=0.03)
    assert result.mixture_distance[2] < 0.02


def test_a_statement_fails_outside_the_polarised_regime(generator: np.random.Generator) -> None:
    """Means of +-1 with variance 0.4: on no example active or passive, and no mixture."""
    mean = generator.choice([-1.0, 1.0], size=(4000, 2))
    sample = mean + np.sqrt(0.4) * generator.normal(size=mean.shape)
    result = polarised(Codes(mean, np.full_like(mean, 0.4), sample))
    assert result.types.names == ("mixed", "mixed")
    assert result.polarised_share == 0.0
    known = {own.says: own.holds for own in result.statements if own.holds is not None}
    assert known == {"mixed samples follow a mixture of the two": False}


def test_passive_latents_of_a_conditional_prior_follow_that_prior(
    generator: np.random.Generator,
) -> None:
    """000, Theorem 2: prior variances of 0.001 and 0.01 by group, posterior the same."""
    prior = np.where(np.arange(4000)[:, None] % 2, 1e-3, 1e-2)
    sample = np.sqrt(prior) * generator.normal(size=prior.shape)
    zeros = np.zeros_like(prior)
    result = polarised(Codes(zeros, prior, sample, prior=GaussianDensity(zeros, prior)))
    assert result.types.names == ("passive",)
    assert result.sample_to_prior[0] < 0.04
    assert all(own.holds for own in result.statements if own.holds is not None)


def test_real_models_with_passive_latents_keep_all_statements(
    shared_data: Callable[[str], Path],
) -> None:
    for model in ("btcvae_dsprites", "betaB_dsprites"):
        result = polarised(Codes.load(shared_data(f"pretrained/codes/{model}_codes.npz")))
        assert all(own.holds for own in result.statements if own.holds is not None)
        assert result.summary().startswith("9 of 9")


def test_rows_beyond_ten_thousand_are_drawn_with_the_seed(generator: np.random.Generator) -> None:
    mean = generator.normal(size=(11_000, 1))
    codes = Codes(mean, np.full_like(mean, 0.01), mean)
    assert polarised(codes, seed=1).n == 10_000
    assert polarised(codes, seed=1).to_dict() == polarised(codes, seed=1).to_dict()


def test_delta_kl_is_the_closed_form() -> None:
    """One active latent (mean +-1, variance e^-4), one at the prior: eq. 3.5 drops its sigma^2."""
    mean = np.array([[1.0, 0.0], [-1.0, 0.0]])
    variance = np.tile([np.exp(-4.0), 1.0], (2, 1))
    result = delta_kl(Codes(mean, variance, mean))
    assert result.active == 1
    assert result.approximate_kl_nats == pytest.approx(0.5 * (1 + 4 - 1))
    assert result.kl_nats == pytest.approx(0.5 * (1 + np.exp(-4.0) + 4 - 1))
    assert result.delta == pytest.approx(0.5 * np.exp(-4.0) / result.kl_nats)


def test_delta_kl_depends_on_what_counts_as_active(shared_data: Callable[[str], Path]) -> None:
    """betaB has two active latents whose means spread by 0.42: 002's threshold is 0.5."""
    codes = Codes.load(shared_data("pretrained/codes/betaB_dsprites_codes.npz"))
    assert delta_kl(codes).delta > 0.3
    assert delta_kl(codes, criterion="001").delta < 0.03


def test_delta_kl_of_collapsed_codes_is_zero_and_of_points_an_error() -> None:
    zeros = np.zeros((5, 2))
    assert delta_kl(Codes(zeros, np.ones((5, 2)), zeros)).delta == 0.0
    with pytest.raises(RangeError, match="no finite KL"):
        delta_kl(Codes(zeros, zeros, zeros))
