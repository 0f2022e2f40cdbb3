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
    assert known == {
        "mixed samples follow a mixture of the two": False,
        "mixed latents are passive on some examples, 0 < c < 1": False,
    }


def test_a_latent_that_is_never_passive_is_no_mixture(generator: np.random.Generator) -> None:
    """Theorem 5 (iii) wants 0 < c < 1: at c = 0 samples that follow their means would do."""
    mean = 4.0 * generator.normal(size=(4000, 1))
    variance = np.where(np.arange(4000)[:, None] % 2, 0.5, 0.01)
    result = polarised(Codes(mean, variance, mean))
    assert result.types.names == ("mixed",)
    share = {own.says: own for own in result.statements}
    assert share["mixed samples follow a mixture of the two"].holds is True
    assert share["mixed latents are passive on some examples, 0 < c < 1"].holds is False


def test_the_papers_lines_stand_as_printed_and_in_units_that_no_scale_changes(
    generator: np.random.Generator,
) -> None:
    """An iVAE's latents times 30: sigma of the active one is 0.9, no longer far below 1, and means
    of the passive one, which copy a learnt prior mean, vary by 3,600 as the prior's do."""
    u = generator.normal(size=(4000, 2))
    noise = generator.normal(size=(4000, 2))
    found = {}
    for c in (1.0, 30.0):
        prior = GaussianDensity(
            c * np.stack([0.0 * u[:, 0], 2.0 * u[:, 1]], 1), np.full((4000, 2), c**2)
        )
        mean = c * np.stack([u[:, 0], 2.0 * u[:, 1]], 1)
        variance = c**2 * np.tile([0.001, 1.0], (4000, 1))
        result = polarised(Codes(mean, variance, mean + np.sqrt(variance) * noise, prior=prior))
        assert result.types.names == ("active", "passive")
        found[c] = {(own.where, own.says): own for own in result.statements}
    for key, own in found[1.0].items():
        if own.units == "invariant" and own.value is not None:
            assert own.value == pytest.approx(found[30.0][key].value, rel=1e-6)
    printed = [key for key, own in found[30.0].items() if own.units == "as printed"]
    assert {where for where, _ in printed} == {"grzes2023 Prop. 2 (i)", "grzes2023 Prop. 3 (ii)"}
    sigma = ("grzes2023 Prop. 3 (ii)", "active variances are far below 1")
    assert found[1.0][sigma].holds and not found[30.0][sigma].holds
    assert found[30.0][
        "grzes2023 Prop. 2 (i)", "Var(mu) of passive latents is the prior mean's"
    ].holds


def test_each_statement_is_cited_for_the_paper_that_makes_it(synthetic: Codes) -> None:
    """grzes2023 has no line on mixed variances, nor that active means vary more than passive."""
    cited = {own.says: own.where for own in polarised(synthetic).statements}
    assert cited["active means vary more than passive ones"] == "bonheme2023 Prop. 3 (ii)"
    assert cited["mixed variances vary more than others"] == "bonheme2023 Prop. 4 (iii)"
    assert cited["Var(mu) of passive latents is far below 1"] == "grzes2023 Prop. 2 (ii)"


def test_passive_latents_of_a_conditional_prior_follow_that_prior(
    generator: np.random.Generator,
) -> None:
    """grzes2023, Theorem 2: prior variances of 0.001 and 0.01 by group, posterior the same."""
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
    """betaB has two active latents whose means spread by 0.42: zietlow2022's threshold is 0.5."""
    codes = Codes.load(shared_data("pretrained/codes/betaB_dsprites_codes.npz"))
    assert delta_kl(codes).delta > 0.3
    assert delta_kl(codes, criterion="bonheme2023").delta < 0.03


def test_delta_kl_of_collapsed_codes_is_zero_and_of_points_an_error() -> None:
    zeros = np.zeros((5, 2))
    assert delta_kl(Codes(zeros, np.ones((5, 2)), zeros)).delta == 0.0
    with pytest.raises(RangeError, match="no finite KL"):
        delta_kl(Codes(zeros, zeros, zeros))
