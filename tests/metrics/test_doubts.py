"""Scores do not say what is not so: of factors that repeat, and of points that are no cloud."""

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.metrics import id_mle, id_two_nn, measure_metrics
from vaescope.types import Floats, Integers


def codes(mean: Floats, factors: Integers | None = None) -> Codes:
    variance = np.full(mean.shape, 0.01)
    return Codes(mean, variance=variance, sample=mean, factors=factors)


def said(mean: Floats, factors: Integers) -> list[str]:
    found = measure_metrics(codes(mean, factors), metrics=["mig"], on=("mean",))[0]["mean"]
    return list(found["mig"].validity)


def test_a_factor_that_another_determines_is_not_called_unknown() -> None:
    factors = np.random.default_rng(0).integers(0, 4, size=(2000, 3))
    factors[:, 2] = 3 - factors[:, 0]
    reasons = said(factors[:, :2].astype(np.float64), factors)
    assert any("explains 100% of" in reason for reason in reasons)
    assert not any("no single latent" in reason for reason in reasons)


def test_what_only_two_latents_together_encode_is_not_called_unknown() -> None:
    bits = np.random.default_rng(0).integers(0, 2, size=(2000, 2))
    reasons = said(bits.astype(np.float64), np.c_[bits[:, 0] ^ bits[:, 1], bits[:, 0]])
    assert any("no single latent encodes factor 0" in reason for reason in reasons)


def test_a_factor_that_is_half_told_by_another_is_called_unknown_beyond_that() -> None:
    rng = np.random.default_rng(0)
    first, kept = rng.integers(0, 4, size=2000), rng.uniform(size=2000) < 0.7
    second = np.where(kept, first, rng.integers(0, 4, size=2000))
    reasons = said(first[:, None] * np.array([1.0, 0.0]), np.c_[first, second])
    assert any("encodes factor 1 beyond what other factors reveal" in reason for reason in reasons)


@pytest.mark.parametrize("metric", [id_mle, id_two_nn], ids=["mle", "two_nn"])
def test_a_dimension_of_points_that_repeat_is_doubted_and_one_of_a_cloud_is_not(
    metric: object,
) -> None:
    assert callable(metric)
    rng = np.random.default_rng(0)
    grid = rng.integers(0, 9, size=(1000, 2)).astype(np.float64)
    assert "points differ: they are not a cloud" in " ".join(metric(codes(grid)).validity)
    assert metric(codes(rng.normal(size=(1000, 2)))).validity == ()


def test_more_dimensions_than_latents_are_doubted() -> None:
    steps = np.arange(1000, dtype=np.float64)[:, None]
    nearly = steps + 1e-3 * np.random.default_rng(0).normal(size=steps.shape)
    found = id_two_nn(codes(nearly))
    assert found.value > 1 and "more than there are latents (1)" in " ".join(found.validity)
