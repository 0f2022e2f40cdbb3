from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents import stability


def with_passive(rho: float, generator: np.random.Generator) -> Codes:
    """An active latent, and a passive one whose tiny mean has correlation rho with it."""
    first, second, noise = generator.normal(size=(3, 4000))
    passive = 0.01 * (rho * first + np.sqrt(1 - rho * rho) * second)
    mean = np.column_stack([first, passive])
    target = first + noise
    return Codes(mean, np.tile([1e-4, 1.0], (4000, 1)), mean, factor_values=target[:, None])


def test_condition_number_and_spread_are_those_of_two_correlated_latents(
    generator: np.random.Generator,
) -> None:
    """(1 + rho) / (1 - rho), and a coefficient that varies 1 / sqrt(1 - rho^2) times as much."""
    result = stability(with_passive(0.95, generator), resamples=300)
    assert result.condition_number == pytest.approx(1.95 / 0.05, rel=0.1)
    assert result.condition_number_without_passive == pytest.approx(1.0)
    ratio = result.coefficient_spread / result.coefficient_spread_without_passive
    assert ratio == pytest.approx(1 / np.sqrt(1 - 0.95**2), rel=0.15)


def test_a_duplicated_passive_latent_gives_finite_numbers(generator: np.random.Generator) -> None:
    result = stability(with_passive(1.0, generator), resamples=20)
    assert 1e14 < result.condition_number < 1e17
    assert np.isfinite(result.coefficient_spread)


def test_passive_means_of_a_real_model_are_ill_conditioned_and_its_samples_are_not(
    shared_data: Callable[[str], Path],
) -> None:
    codes = Codes.load(shared_data("pretrained/codes/betaB_dsprites_codes.npz"))
    mean, sample = (stability(codes, on=on, resamples=50) for on in ("mean", "sample"))
    assert mean.condition_number > 500
    assert mean.condition_number_without_passive < 2
    assert sample.condition_number < 2
    assert mean.coefficient_spread > 1.3 * mean.coefficient_spread_without_passive
    assert sample.coefficient_spread == pytest.approx(
        sample.coefficient_spread_without_passive, rel=0.05
    )


def test_a_collapsed_model_is_an_error(generator: np.random.Generator) -> None:
    mean = np.zeros((50, 2))
    codes = Codes(mean, np.ones((50, 2)), mean, factors=generator.integers(3, size=(50, 1)))
    with pytest.raises(ShapeError, match="has not collapsed"):
        stability(codes)
