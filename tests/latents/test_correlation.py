import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents import (
    effective_rank,
    mean_against_sample,
    shuffled_information,
    total_correlation,
)
from vaescope.latents.correlation import Correlation, left_by_lot
from vaescope.latents.pairwise import pairwise

MODELS = [
    "btcvae_dsprites",
    "betaB_dsprites",
    "VAE_dsprites",
    "betaH_dsprites",
    "btcvae_dsprites_a0",
]


def of_samples(z: np.ndarray, passive: int = 0) -> Codes:
    """Active latents with their passive ones last."""
    variance = np.full(z.shape, 1e-4)
    variance[:, z.shape[1] - passive :] = 1.0
    mean = z.copy()
    mean[:, z.shape[1] - passive :] *= 0.1  # passive means hardly move
    return Codes(mean, variance, z)


def measured(codes: Codes, key: str) -> Correlation:
    result = mean_against_sample(codes)[key]
    assert result is not None
    return result


def test_total_correlation_of_disentanglement_libs_tests() -> None:
    assert total_correlation(np.eye(5)) == 0.0
    assert total_correlation(np.array([[1.0, 0.9], [0.9, 1.0]])) == pytest.approx(
        -0.5 * np.log(0.19), abs=1e-12
    )


@pytest.mark.parametrize("model", MODELS)
def test_total_correlation_of_means_equals_disentanglement_lib_on_real_codes(
    model: str, shared_data: Callable[[str], Path]
) -> None:
    oracle = json.loads(shared_data("pretrained/oracle.json").read_text())[model]
    codes = Codes.load(shared_data(f"pretrained/codes/{model}_codes.npz"))
    value = measured(codes, "mean").total_correlation
    assert value == pytest.approx(oracle["gaussian_TC_mean_all"], abs=1e-6)


def test_passive_latents_raise_the_correlation_of_means_not_of_samples_on_real_codes(
    shared_data: Callable[[str], Path],
) -> None:
    """bonheme2023, Figures 8 to 10, on a model with 6 passive of 10 latents."""
    codes = Codes.load(shared_data("pretrained/codes/betaB_dsprites_codes.npz"))
    result = mean_against_sample(codes)
    mean, sample = result["mean"], result["sample"]
    kept, kept_sample = result["mean_without_passive"], result["sample_without_passive"]
    assert mean and sample and kept and kept_sample
    assert mean.total_correlation > 100 * sample.total_correlation
    assert kept.total_correlation == pytest.approx(kept_sample.total_correlation, abs=0.001)
    assert mean.effective_rank == pytest.approx(4, abs=0.7)  # d - passive
    assert sample.effective_rank > 8.5  # near d, but for active latents of variance 0.2
    assert sample.effective_rank_correlation == pytest.approx(10, abs=0.05)
    assert mean.effective_rank_correlation < 5  # so the passive means are truly correlated


def test_theorem_7_passive_samples_leave_total_correlation_unchanged(
    generator: np.random.Generator,
) -> None:
    """Three correlated latents, and 0 to 7 passive ones; what shuffled columns give is bias."""
    mixing = np.array([[1.0, 0.0, 0.0], [0.7, 0.7, 0.0], [0.3, -0.4, 0.8]])
    active = generator.normal(size=(20_000, 3)) @ mixing.T
    known = total_correlation(mixing @ mixing.T)
    for passive in (0, 2, 7):
        z = np.hstack([active, generator.normal(size=(20_000, passive))])
        bias = total_correlation(np.cov(generator.permuted(z, axis=0).T))
        value = measured(of_samples(z, passive), "sample").total_correlation
        assert bias < 0.002
        assert value - bias == pytest.approx(known, abs=0.015)


def test_theorem_8_passive_samples_dilute_averaged_information(
    generator: np.random.Generator,
) -> None:
    """2c / (n^2 - n) for two active latents of information c among n, less the plug-in bias."""
    active = generator.normal(size=(20_000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])

    def above_chance(z: np.ndarray) -> float:
        value = measured(of_samples(z, z.shape[1] - 2), "sample").mutual_information
        return value - shuffled_information(z, rng=generator)

    c = above_chance(active)
    assert c > 0.4
    for n in (3, 5, 10):
        z = np.hstack([active, generator.normal(size=(20_000, n - 2))])
        assert above_chance(z) == pytest.approx(2 * c / (n * n - n), abs=0.003)


def test_chance_gives_the_known_plug_in_bias(generator: np.random.Generator) -> None:
    """19^2 / 2n = 0.01805 nats for 10,000 independent uniform latents (papers.md 3.2 measured
    0.0178); less for Gaussian ones (0.0157), whose outer bins are empty."""
    uniform = shuffled_information(generator.random((10_000, 10)), rng=generator)
    gaussian = shuffled_information(generator.normal(size=(10_000, 10)), rng=generator)
    assert uniform == pytest.approx(0.01805, abs=0.0005)
    assert gaussian == pytest.approx(0.0157, abs=0.0015)


def test_the_rank_of_the_covariance_counts_large_latents_and_of_correlation_free_ones(
    generator: np.random.Generator,
) -> None:
    """papers.md 12.2: 4.01 and 9.99 for six tiny latents that are uncorrelated, 4.00 and 2.66 if
    they follow an active one."""
    free = generator.normal(size=(10_000, 10)) * [1, 1, 1, 1, *[0.01] * 6]
    ranks = measured(of_samples(free), "mean")
    assert ranks.effective_rank == pytest.approx(4.01, abs=0.01)
    assert ranks.effective_rank_correlation == pytest.approx(9.99, abs=0.01)
    bound = free.copy()
    bound[:, 4:] = 0.01 * free[:, [0]] + 0.001 * generator.normal(size=(10_000, 6))
    ranks = measured(of_samples(bound), "mean")
    assert ranks.effective_rank == pytest.approx(4.00, abs=0.01)
    assert ranks.effective_rank_correlation == pytest.approx(2.66, abs=0.01)


def test_effective_rank_is_the_exponential_of_the_spectral_entropy() -> None:
    assert effective_rank(np.eye(7)) == pytest.approx(7.0)
    assert effective_rank(np.ones((5, 5))) == pytest.approx(1.0)
    assert effective_rank(np.diag([0.5, 0.25, 0.25])) == pytest.approx(np.exp(1.5 * np.log(2)))
    assert effective_rank(np.zeros((3, 3))) == 0.0


def test_duplicated_latents_give_large_finite_numbers(generator: np.random.Generator) -> None:
    """Six copies and three free latents: correlation has eigenvalues 7, 1, 1, 1 and zeros."""
    z = generator.normal(size=(4000, 4))
    ranks = measured(of_samples(np.hstack([z, *[z[:, [0]]] * 6])), "mean")
    share = np.array([0.7, 0.1, 0.1, 0.1])
    entropy = -(share * np.log(share)).sum()
    assert ranks.effective_rank_correlation == pytest.approx(np.exp(entropy), abs=0.02)
    for value in (ranks.total_correlation, ranks.total_correlation_rank):
        assert 50 < value < 150


def test_constant_latents_change_nothing_but_the_mean_over_pairs(
    generator: np.random.Generator,
) -> None:
    z = generator.normal(size=(3000, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    with_constant = measured(of_samples(np.hstack([z, np.full((3000, 1), 0.3)])), "mean")
    without = measured(of_samples(z), "mean")
    assert with_constant.total_correlation == pytest.approx(without.total_correlation)
    assert with_constant.total_correlation_rank == pytest.approx(without.total_correlation_rank)
    assert with_constant.effective_rank == pytest.approx(without.effective_rank)
    assert with_constant.mutual_information == pytest.approx(without.mutual_information / 3)


def test_codes_without_any_variation_have_no_correlation() -> None:
    nothing = measured(of_samples(np.full((50, 3), 0.7)), "mean")
    assert nothing == Correlation(0.0, 0.0, 0.0, 0.0, 0.0)


def test_subsets_with_fewer_than_two_latents_are_none(generator: np.random.Generator) -> None:
    result = mean_against_sample(of_samples(generator.normal(size=(100, 3)), passive=1))
    assert result["mean_passive"] is result["sample_mixed"] is None
    assert result["mean_active"] == result["mean_without_passive"]
    assert mean_against_sample(of_samples(generator.normal(size=(100, 1))))["mean"] is None
    assert "fewer than two" in mean_against_sample(of_samples(np.ones((9, 1)))).summary()
    with pytest.raises(ShapeError, match="two examples"):
        mean_against_sample(of_samples(np.ones((1, 3))))


def test_each_subset_holds_its_types_and_no_others(generator: np.random.Generator) -> None:
    """Six uncorrelated latents, two of each type: the rank of the correlation counts them."""
    z = generator.normal(size=(5000, 6))
    mean = z * [1.0, 1.0, 1.0, 1.0, 0.1, 0.1]
    codes = Codes(mean, np.tile([1e-3, 1e-3, 0.5, 0.5, 1.0, 1.0], (5000, 1)), z)
    sizes = {"": 6, "_active": 2, "_mixed": 2, "_passive": 2}
    sizes |= {"_without_passive": 4, "_without_mixed": 4, "_without_active": 4}
    result = mean_against_sample(codes)
    for suffix, size in sizes.items():
        for name in ("mean", "sample"):
            own = result[f"{name}{suffix}"]
            assert own is not None
            assert own.effective_rank_correlation == pytest.approx(size, abs=0.02)
    assert result["mean_active"] != result["mean_passive"] != result["mean_mixed"]


def test_the_dictionary_has_the_keys_of_the_interface(generator: np.random.Generator) -> None:
    codes = of_samples(generator.normal(size=(100, 4)), passive=2)
    row = mean_against_sample(codes).to_dict()
    assert {
        "mean", "sample", "mean_without_passive", "sample_without_passive", "mean_active",
        "sample_active",
    } <= set(row)  # fmt: skip
    assert set(row["mean"]) == {
        "total_correlation", "total_correlation_rank", "mutual_information", "effective_rank",
        "effective_rank_correlation",
    }  # fmt: skip
    json.dumps(row, allow_nan=False)


def test_measures_do_not_depend_on_order_sign_or_scale(generator: np.random.Generator) -> None:
    z = generator.normal(size=(2000, 3)) @ generator.normal(size=(3, 3))
    moved = z[:, [2, 0, 1]] * [-2.0, 0.5, -4.0]
    a, b = measured(of_samples(z), "mean"), measured(of_samples(moved), "mean")
    assert b.total_correlation == pytest.approx(a.total_correlation)
    assert b.total_correlation_rank == pytest.approx(a.total_correlation_rank)
    assert b.effective_rank_correlation == pytest.approx(a.effective_rank_correlation)


@pytest.mark.slow
def test_intervals_narrow_with_more_examples(generator: np.random.Generator) -> None:
    codes = of_samples(generator.normal(size=(500, 4)), passive=1)
    result = mean_against_sample(codes, resamples=30, seed=1)
    more = of_samples(generator.normal(size=(8000, 4)), passive=1)
    narrow = mean_against_sample(more, resamples=30, seed=1)
    assert "mean_passive" not in result.intervals
    for key, ends in result.intervals.items():
        for name, (low, high) in ends.items():
            least, most = narrow.intervals[key][name]
            assert most - least < high - low, (key, name)
    row = mean_against_sample(codes, resamples=30, seed=1).to_dict()
    assert row["mean"]["intervals"]["total_correlation"] == list(
        result.intervals["mean"]["total_correlation"]
    )


def test_float32_and_float64_codes_agree(generator: np.random.Generator) -> None:
    z = generator.normal(size=(5000, 3)).astype(np.float32)
    single, double = pairwise(z), pairwise(z.astype(np.float64))
    np.testing.assert_allclose(single.covariance, double.covariance, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(single.rank_correlation, double.rank_correlation, atol=1e-12)
    np.testing.assert_allclose(single.mutual_information, double.mutual_information, atol=1e-12)


def test_ranks_of_many_rows_are_of_a_drawn_part_and_said(generator: np.random.Generator) -> None:
    """Rows in the order of a grid: the part is drawn, not the first."""
    x = np.sort(generator.normal(size=220_000)).astype(np.float32)
    z = np.column_stack([x, 0.8 * x + 0.6 * generator.normal(size=len(x)).astype(np.float32)])
    result = mean_against_sample(of_samples(z), seed=3)
    assert result.protocol() == {
        "n": 220_000, "rank_rows": 200_000, "bins": 20, "types": "unused", "seed": 3,
    }  # fmt: skip
    own = result["mean"]
    assert own is not None
    known = -0.5 * np.log(1 - 0.8**2)
    assert own.total_correlation == pytest.approx(known, abs=0.01)
    assert own.total_correlation_rank == pytest.approx(known, abs=0.01)


def test_effective_rank_is_the_released_codes_and_lower_than_the_papers_definition(
    generator: np.random.Generator,
) -> None:
    """bonheme2023 section 4.2.3 has singular values of the codes, its code those of their
    covariance; by hand from the singular values of one matrix."""
    z = generator.normal(size=(5000, 4)) * [2.0, 1.0, 0.5, 0.3]
    singular = np.linalg.svd(z - z.mean(axis=0), compute_uv=False)

    def by_hand(values: np.ndarray) -> float:
        share = values / values.sum()
        return float(np.exp(-(share * np.log(share)).sum()))

    found = effective_rank(np.cov(z, rowvar=False))
    assert found == pytest.approx(by_hand(singular**2))
    assert found < by_hand(singular) - 0.5
    assert effective_rank.__doc__ is not None and "released code" in effective_rank.__doc__


def test_what_lots_leave_is_the_mean_over_sets_of_that_size(generator: np.random.Generator) -> None:
    """Two copies of one latent and two of noise: by lot a pair has the copies in 1 of 6 draws."""
    z = generator.normal(size=(4000, 4))
    z[:, 1] = 0.8 * z[:, 0] + 0.6 * z[:, 1]
    pairs = pairwise(z)
    found = left_by_lot(pairs, 2, lots=600)
    assert found is not None
    whole = total_correlation(pairs.covariance)
    assert found.total_correlation == pytest.approx(whole / 6, rel=0.2)
    assert left_by_lot(pairs, 0) is None and left_by_lot(pairs, 3) is None
