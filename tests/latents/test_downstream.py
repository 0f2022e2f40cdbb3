import json

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents import downstream
from vaescope.metrics.logistic import standardised_multinomial


@pytest.fixture
def codes(generator: np.random.Generator) -> Codes:
    """Two active latents that know a factor each, and a passive one whose tiny mean knows one."""
    factors = generator.integers(4, size=(1500, 2))
    mean = np.hstack([factors - 1.5, 0.01 * (factors[:, [0]] - 1.5)])
    variance = np.tile([1e-4, 1e-4, 1.0], (1500, 1))
    sample = mean + np.sqrt(variance) * generator.normal(size=mean.shape)
    return Codes(mean, variance, sample, factors=factors, factor_names=("shape", "scale"))


def test_passive_means_know_what_passive_samples_do_not(codes: Codes) -> None:
    """bonheme2023, Figure 6: from samples passive latents are at chance, from means above it."""
    result = downstream(codes)
    np.testing.assert_allclose(result.chance, [0.25, 0.25])
    assert (result.train, result.test) == (1000, 500)
    accuracy = result.to_dict()["accuracy"]
    assert accuracy["mean_active"] > 0.98
    assert accuracy["mean_passive"] == pytest.approx((1.0 + 0.25) / 2, abs=0.04)
    assert accuracy["sample_passive"] == pytest.approx(0.25, abs=0.05)
    assert accuracy["sample_without_passive"] == accuracy["sample_active"]
    assert result.accuracy["mean_mixed"] is None
    json.dumps(result.to_dict(), allow_nan=False)
    assert "chance 0.25" in result.summary()


def test_controls_are_chance_and_what_other_latents_cost(codes: Codes) -> None:
    """Passive means tell nothing of other rows' factors; dropping the passive latent costs nothing,
    dropping one by lot costs a factor in two of three lots or so."""
    result = downstream(codes, train=400, test=200, controls=True)
    assert result.controls["passive_relabelled"] == pytest.approx(0.25, abs=0.08)
    whole, lot = result.to_dict()["accuracy"]["sample"], result.controls["sample_lot"]
    assert lot is not None and 0.6 < lot < whole - 0.05
    assert result.to_dict()["accuracy"]["sample_without_passive"] == pytest.approx(whole, abs=0.02)
    assert result.to_dict()["controls"] == dict(result.controls)
    assert "at random" in result.summary() and not downstream(codes, train=90, test=60).controls


@pytest.mark.slow
def test_the_papers_own_classifier_is_an_option(codes: Codes) -> None:
    result = downstream(codes, train=150, test=100, as_paper=True)
    assert "cross-validated" in result.engine
    assert result.to_dict()["accuracy"]["mean"] > 0.9


def test_an_encoder_that_saw_the_factors_is_said_to_have(codes: Codes) -> None:
    seen = Codes(codes.mean, codes.variance, codes.sample, factors=codes.factors, supervised=True)
    assert "saw the factors" in downstream(seen, train=200, test=100).summary()


def test_codes_without_factors_are_an_error() -> None:
    with pytest.raises(ShapeError, match="needs integer factors"):
        downstream(Codes(np.zeros((9, 2)), np.ones((9, 2)), np.zeros((9, 2))))


def test_the_docstring_names_the_penalty_that_is_used() -> None:
    x = np.arange(40.0).reshape(-1, 1)
    fitted = standardised_multinomial(x, (np.arange(40) // 20).astype(np.int64))
    assert fitted.model.C == 10_000
    assert downstream.__doc__ is not None and f"C = {fitted.model.C:,.0f}" in downstream.__doc__
