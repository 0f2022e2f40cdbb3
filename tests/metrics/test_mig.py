from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics import mig


def test_mig_is_one_for_perfect_codes(perfect: Codes) -> None:
    assert mig(perfect).value > 0.99


def test_mig_is_zero_for_constant_and_duplicated_codes(constant: Codes, duplicated: Codes) -> None:
    assert mig(constant).value == 0.0
    assert mig(duplicated).value == 0.0


def test_mig_is_small_for_shuffled_codes(shuffled: Codes) -> None:
    assert mig(shuffled).value < 0.05


def test_mig_of_the_sample_is_not_that_of_the_mean(make: Any, factors: np.ndarray) -> None:
    codes = make(factors, factors, sample=np.zeros(factors.shape))
    assert mig(codes, on="sample").value == 0.0 < mig(codes).value
    assert mig(codes, on="sample").protocol.representation == "sample"


def test_mig_needs_two_latents_and_factors_that_vary(make: Any, factors: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="2 latents"):
        mig(make(factors[:, :1], factors))
    with pytest.raises(ShapeError, match="constant"):
        mig(make(factors, np.zeros_like(factors)))
    with pytest.raises(ShapeError, match="needs integer factors"):
        mig(make(factors))


def test_constant_factors_are_left_out_but_keep_their_column(
    make: Any, factors: np.ndarray
) -> None:
    with_constant = np.hstack([factors, np.full((3000, 1), 4)])
    score = mig(make(factors, with_constant))
    assert score.value == mig(make(factors, factors)).value
    assert score.details["mutual_information"].shape == (5, 6)
    assert score.details["entropy"][5] == 0.0


@pytest.mark.slow
def test_mig_equals_disentanglement_lib_on_real_codes(real: tuple[Codes, dict[str, Any]]) -> None:
    codes, oracle = real
    score = mig(codes)
    assert score.value == pytest.approx(oracle["MIG_20bins_10000"], abs=1e-6)
    np.testing.assert_allclose(
        score.details["mutual_information"], oracle["MI_matrix_nats_latent_by_factor"], atol=1e-6
    )


@pytest.mark.slow
def test_intervals_contain_the_true_value_about_as_often_as_they_say(make: Any) -> None:
    def draw(n: int, seed: int) -> Codes:
        rng = np.random.default_rng(seed)
        v = rng.integers(4, size=(n, 2))
        return make(v + rng.normal(size=v.shape), v)

    # Bins follow the range, and so n: the truth is taken at the same n, as a mean over many sets.
    truth = np.mean([mig(draw(1000, 1000 + s), resamples=0).value for s in range(300)])
    hits = [
        low <= truth <= high
        for low, high in (mig(draw(1000, s)).interval or (0.0, 0.0) for s in range(60))
    ]
    assert 0.85 <= np.mean(hits) <= 1.0


def few_images(rng: np.random.Generator, noise: int) -> tuple[np.ndarray, np.ndarray]:
    """288 images, all combinations of 3 x 6 x 16 values, a latent for each and noise."""
    grid = np.stack(np.meshgrid(*map(np.arange, (3, 6, 16)), indexing="ij"), -1).reshape(-1, 3)
    return np.hstack([grid, rng.normal(size=(288, noise))]), grid


def test_perfect_codes_among_noise_score_the_ceiling_and_not_one(make: Any) -> None:
    rng = np.random.default_rng(0)
    scores = [mig(make(*few_images(rng, 7)), resamples=0) for _ in range(20)]
    value = np.mean([score.value for score in scores])
    assert value == pytest.approx(0.87, abs=0.01)
    assert scores[0].details["ceiling"] == pytest.approx(value, abs=0.01)
    fewer = mig(make(*few_images(rng, 1)), resamples=0)
    assert fewer.details["ceiling"] > scores[0].details["ceiling"] + 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("n", "noise"), [(288, 7), (288, 1), (3000, 5)])
def test_chance_is_what_permuted_factors_score(make: Any, n: int, noise: int) -> None:
    rng = np.random.default_rng(1)
    z, v = few_images(rng, noise)
    rows = rng.integers(len(z), size=n)
    z, v = z[rows] + 0.3 * rng.normal(size=(n, z.shape[1])), v[rows]
    permuted = [mig(make(z, rng.permutation(v)), resamples=0).value for _ in range(60)]
    score = mig(make(z, v))
    assert score.chance == pytest.approx(np.mean(permuted), rel=0.15)
    assert score.to_dict()["chance"] == score.chance
    assert "by chance" in score.summary()
    assert score.value > 5.0 * score.chance


def test_the_same_codes_have_the_same_chance_and_a_permutation_of_latents_keeps_it(
    make: Any,
) -> None:
    z, v = few_images(np.random.default_rng(0), 7)
    one, again = (mig(make(z, v), resamples=0) for _ in range(2))
    assert one.chance == again.chance
    reversed_ = mig(make(z[:, ::-1], v), resamples=0)
    assert reversed_.chance == pytest.approx(one.chance, rel=0.1)
