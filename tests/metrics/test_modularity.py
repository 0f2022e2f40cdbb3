from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics import modularity
from vaescope.metrics.modularity import per_latent

FIVE = 5.0 * np.eye(5)


@pytest.mark.parametrize(
    ("information", "expected"),
    [
        (FIVE, 1.0),
        (np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), 2 / 3),
        (np.zeros((10, 10)), 0.0),
        (np.vstack([FIVE, FIVE]), 1.0),
        (FIVE[:2], 1.0),
        (np.hstack([FIVE, FIVE]), 1 - 1 / 9),
    ],
)
def test_vectors_of_disentanglement_lib(information: np.ndarray, expected: float) -> None:
    assert per_latent(information).mean() == pytest.approx(expected)


def test_ranges_of_disentanglement_lib(
    perfect: Codes, constant: Codes, duplicated: Codes, shuffled: Codes
) -> None:
    for adjusted in (True, False):
        assert modularity(perfect, adjusted=adjusted).value > 0.99
        assert modularity(duplicated, adjusted=adjusted).value > 0.99
        assert modularity(constant, adjusted=adjusted).value == 0.0
        assert modularity(shuffled, adjusted=adjusted).value < 0.3


def test_dead_latents_lower_only_disentanglement_libs(make: Any, factors: np.ndarray) -> None:
    codes = make(np.hstack([factors, np.zeros((3000, 5))]), factors)
    assert modularity(codes).value > 0.99
    assert modularity(codes, adjusted=False).value == pytest.approx(0.5, abs=0.01)


def test_modularity_needs_two_factors(make: Any, factors: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="2 factors"):
        modularity(make(factors, factors[:, :1]))


@pytest.mark.slow
def test_modularity_equals_disentanglement_lib_on_real_codes(
    real: tuple[Codes, dict[str, Any]],
) -> None:
    codes, oracle = real
    value = modularity(codes, adjusted=False).value
    assert value == pytest.approx(oracle["modularity"], abs=1e-6)
