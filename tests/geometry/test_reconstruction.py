import numpy as np
import pytest
import torch
from torch import Tensor

from vaescope.errors import ShapeError
from vaescope.geometry import reconstruction_parts

MEAN = np.zeros((40, 2), np.float32)
VARIANCE = np.full((40, 2), 0.09, np.float32)


def bowl(z: Tensor) -> Tensor:
    return torch.cat([z, z**2], 1)


def test_parts_add_up_to_the_total() -> None:
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    found = reconstruction_parts(bowl, x, MEAN, VARIANCE)
    parts = found.deterministic.value + found.stochastic.value + found.cross.value
    assert parts == pytest.approx(found.total.value, rel=1e-9)
    assert found.value == pytest.approx(found.cross.value / found.total.value)


def test_a_linear_decoder_is_unbiased() -> None:
    x = np.ones((40, 2), np.float32)
    found = reconstruction_parts(lambda z: 2.0 * z, x, MEAN, VARIANCE, draws=2000)
    assert found.interval is not None
    assert found.interval[0] < 0.0 < found.interval[1] or abs(found.value) < 0.01
    assert found.deterministic.value == pytest.approx(2.0)
    assert found.stochastic.value == pytest.approx(4 * 0.18, rel=0.02)


def test_curvature_makes_a_cross_term_that_is_not_zero() -> None:
    """2 <E[eps^2], Dec(mu) - x> with x = -1 in the two squares: 2 * 2 * 0.09."""
    x = np.tile(np.array([0.0, 0.0, -1.0, -1.0], np.float32), (40, 1))
    found = reconstruction_parts(bowl, x, MEAN, VARIANCE, draws=2000)
    assert found.cross.value == pytest.approx(0.36, rel=0.03)
    assert found.interval is not None and found.interval[0] > 0.1
    assert "cross" in found.summary()


def test_examples_and_codes_must_match() -> None:
    with pytest.raises(ShapeError, match="40 means"):
        reconstruction_parts(bowl, np.zeros((39, 4)), MEAN, VARIANCE)
