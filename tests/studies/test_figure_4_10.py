"""How alike restarts encode hue: profiles with known answers."""

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.studies.zietlow2022.figure_4_10 import alike, profile

CIRCLE = np.sqrt(2.0) * np.cos(2.0 * np.pi * np.arange(10) / 10.0)


def test_profiles_of_either_sign_are_alike_and_less_so_when_moved() -> None:
    same, moved = alike([CIRCLE, -CIRCLE, CIRCLE])
    assert same == pytest.approx(1.0)
    # A cosine and the same one moved by k tenths of the circle correlate by cos(2 pi k / 10).
    assert moved == pytest.approx(np.abs(np.cos(2.0 * np.pi * np.arange(1, 10) / 10.0)).mean())


def test_axes_at_a_right_angle_are_not_alike() -> None:
    same, _ = alike([CIRCLE, np.sqrt(2.0) * np.sin(2.0 * np.pi * np.arange(10) / 10.0)])
    assert same == pytest.approx(0.0, abs=1e-12)


def test_a_profile_is_that_of_the_latent_of_which_hue_explains_most() -> None:
    hues, orientations = (a.ravel() for a in np.meshgrid(np.arange(10), np.arange(15)))
    factors = np.stack([orientations, hues], axis=1)
    mean = np.stack([0.1 * orientations, 5.0 - 3.0 * hues], axis=1)
    codes = Codes(mean, np.ones_like(mean), mean, factors, ("orientation", "wall_hue"), (15, 10))
    straight = np.arange(10.0)
    np.testing.assert_allclose(profile(codes), -(straight - 4.5) / straight.std())
