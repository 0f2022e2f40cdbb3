import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from vaescope.geometry import grams_of, ima_contrast, ima_contrast_of, jacobians


def polar(z: Tensor) -> Tensor:
    return torch.stack([z[:, 0] * z[:, 1].cos(), z[:, 0] * z[:, 1].sin()], 1)


def test_the_contrast_is_averaged_and_not_the_jacobians() -> None:
    """Polar coordinates are orthogonal everywhere, their mean Jacobian nowhere near."""
    angle = torch.linspace(0.0, 3.0, 50)
    points = torch.stack([0.1 + angle**2, angle], 1)
    assert ima_contrast(polar, points).value < 1e-6
    mean = jacobians(polar, points).values.mean(axis=0, keepdims=True)
    assert ima_contrast_of(grams_of(mean)).value > 0.1


def test_the_contrast_of_two_columns_is_that_of_their_angle() -> None:
    """-log sin of the angle."""
    for degrees in (90.0, 60.0, 20.0):
        t = math.radians(degrees)
        found = ima_contrast_of(
            grams_of(np.array([[[2.0, 3 * math.cos(t)], [0, 3 * math.sin(t)]]]))
        )
        assert found.value == pytest.approx(-math.log(math.sin(t)), abs=1e-9)


def test_points_without_full_rank_are_left_out_and_counted() -> None:
    good, bad = np.eye(3, 2), np.ones((3, 2))
    found = ima_contrast_of(grams_of(np.array([good, bad, good])))
    assert (found.n, found.deficient) == (2, 1)
    assert "1 points without full rank" in found.summary()
    nothing = ima_contrast_of(grams_of(bad[None]))
    assert math.isnan(nothing.value) and nothing.to_dict()["value"] is None


def test_rounding_of_a_singular_jacobian_is_no_contrast() -> None:
    """Six latents that a decoder sees through five numbers: no point has full rank, though sums in
    float32 give J'J smallest eigenvalues of either sign."""
    rng = np.random.default_rng(0)
    matrices = (rng.normal(size=(200, 40, 5)) @ rng.normal(size=(200, 5, 6))).astype(np.float32)
    products = (matrices.mT @ matrices).astype(np.float64)
    assert 20 < (np.linalg.eigvalsh(products)[:, 0] > 0.0).sum() < 180
    found = ima_contrast_of(replace(grams_of(matrices), values=products))
    assert (found.n, found.deficient) == (0, 200)


def test_units_of_latents_change_neither_rank_nor_contrast() -> None:
    found = grams_of(np.random.default_rng(1).normal(size=(20, 40, 6)))
    short = found.in_units(np.array([1.0, 1e-7, 30.0, 1.0, 0.1, 1.0]))
    assert ima_contrast_of(short).n == 20
    assert ima_contrast_of(short).value == pytest.approx(ima_contrast_of(found).value, rel=1e-6)
