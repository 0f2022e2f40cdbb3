"""What dropped means still told: known on codes that are made so."""

import numpy as np
import pytest
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.pruning.price import price_of


def codes(passive: NDArray[np.float64]) -> Codes:
    """Two used latents that hold a factor each, and one whose samples are noise."""
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(3000, 2))
    mean = np.column_stack([factors + 0.01 * rng.standard_normal((3000, 2)), passive])
    variance = np.tile([0.01, 0.01, 1.0], (3000, 1))
    return Codes(mean, variance, mean, factors=factors)


@pytest.mark.slow
def test_a_passive_mean_that_is_noise_costs_nothing() -> None:
    price = price_of(codes(0.01 * np.random.default_rng(1).standard_normal(3000)), [2])
    assert price is not None
    for loss in (price.linear, price.neighbours):
        assert loss.before > 0.99 and loss.after > 0.99 and not loss.matters
        assert loss.by_lot < 0.75  # without a used latent its factor is guessed
    assert price.advice().count("drop them") == 2
    assert (price.train, price.test) == (2000, 1000)


def test_a_passive_mean_that_alone_holds_a_factor_has_its_price() -> None:
    rng = np.random.default_rng(2)
    third = rng.integers(4, size=3000)
    made = codes(0.05 * third)
    factors = np.column_stack([made.factors, third])  # type: ignore[arg-type]
    price = price_of(Codes(made.mean, made.variance, made.mean, factors=factors), [2])
    assert price is not None and price.linear.matters and price.neighbours.matters
    # Two factors of three are right, and a quarter of the third.
    np.testing.assert_allclose(price.linear.after, 0.75, atol=0.03)
    assert price.advice().count("keep the passive means") == 2


def test_without_factors_there_is_no_price() -> None:
    made = codes(np.zeros(3000))
    assert price_of(Codes(made.mean, made.variance, made.mean), [2]) is None
