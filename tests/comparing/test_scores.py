"""Numbers of codes on resampled images: paired between models, and as spread as theory says."""

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.comparing.scores import QUICK, numbers_of, wanted
from vaescope.errors import UsageError
from vaescope.estimates import bootstrap_interval
from vaescope.latents import types
from vaescope.metrics import mcc, mig, mig_sup, modularity, sap_continuous

N = 1500


def codes_of(mean: np.ndarray, factors: np.ndarray | None) -> Codes:
    mean = mean.astype(np.float32)
    return Codes(mean, np.full(mean.shape, 0.05, np.float32), mean, factors=factors)


@pytest.fixture
def codes(generator: np.random.Generator) -> Codes:
    factors = generator.integers(0, 5, (N, 3))
    noise = generator.standard_normal((N, 4))
    mean = noise + np.column_stack([factors, factors[:, 0]])
    return codes_of(mean, factors)


def test_values_are_those_of_the_metrics(codes: Codes) -> None:
    found, skipped = numbers_of(codes, types(codes), QUICK)
    assert not skipped
    for metric in (mig, mig_sup, modularity, sap_continuous, mcc):
        assert found[metric.__name__].value == metric(codes).value
    assert (found["active"].value, found["mixed"].value, found["passive"].value) == (4, 0, 0)


@pytest.mark.slow
def test_the_same_latents_in_another_order_have_the_same_replicates(codes: Codes) -> None:
    """So that a difference between them has an interval of no width."""
    other = codes_of(codes.mean[:, [3, 1, 0, 2]] * np.array([1, -1, 1, -1]), codes.factors)
    first, _ = numbers_of(codes, types(codes), QUICK)
    second, _ = numbers_of(other, types(other), QUICK)
    for name in (*QUICK, "total_correlation_mean"):
        np.testing.assert_allclose(second[name].value, first[name].value, atol=1e-6)
        drawn = first[name].replicates
        assert drawn is not None and drawn.std() > 0
        np.testing.assert_allclose(second[name].replicates, drawn, atol=1e-6)


def test_replicates_give_the_interval_that_the_metric_has_itself(codes: Codes) -> None:
    found, _ = numbers_of(codes, types(codes), QUICK)
    for metric in (mig, mig_sup, modularity):
        number = found[metric.__name__]
        assert number.replicates is not None
        np.testing.assert_allclose(
            bootstrap_interval(number.value, number.replicates, least=0.0, most=1.0),
            metric(codes).interval,
            rtol=1e-9,
        )


@pytest.mark.parametrize("r", [0.3, 0.8])
def test_total_correlation_spreads_as_theory_says(r: float, generator: np.random.Generator) -> None:
    """TC = -log(1 - r^2) / 2 and sd(r) = (1 - r^2) / sqrt(n), so sd(TC) = r / sqrt(n)."""
    a, b = generator.standard_normal((2, 4000))
    mean = np.column_stack([a, r * a + np.sqrt(1 - r**2) * b])
    codes = codes_of(mean, None)
    number = numbers_of(codes, types(codes), ())[0]["total_correlation_mean"]
    assert number.replicates is not None
    assert number.value == pytest.approx(-0.5 * np.log(1 - r**2), abs=4 * r / np.sqrt(4000))
    assert number.replicates.std() == pytest.approx(r / np.sqrt(4000), rel=0.2)  # 200 of them: 5%


def test_what_codes_do_not_allow_is_left_out_with_its_reason(
    generator: np.random.Generator,
) -> None:
    bare = codes_of(generator.standard_normal((50, 3)), None)
    found, skipped = numbers_of(bare, types(bare), QUICK)
    assert set(skipped) == set(QUICK) and not set(found) & set(QUICK)
    single = codes_of(generator.standard_normal((50, 1)), generator.integers(0, 3, (50, 2)))
    found, skipped = numbers_of(single, types(single), QUICK)
    assert "mig" in skipped and "mcc" in found
    assert found["total_correlation_mean"].value == 0


def test_metrics_that_learn_have_no_replicates(codes: Codes) -> None:
    found, _ = numbers_of(codes, types(codes), wanted(["sap", "mig"]))
    assert found["sap"].replicates is None and found["mig"].replicates is not None
    with pytest.raises(UsageError, match="no metric migs"):
        wanted(["migs"])
