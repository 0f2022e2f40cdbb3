"""The axes of latents in the plane of a sheet."""

import numpy as np
import pytest

from vaescope.studies.zietlow2022.local_global import apart
from vaescope.studies.zietlow2022.trained_axes import RESTARTS, experiments, latent_axes

Z = np.random.default_rng(0).normal(size=(2000, 2))


def codes(degrees: float) -> np.ndarray:
    """Latents along these axes, the second one bent and of other sign."""
    a = np.radians(degrees)
    along = Z @ np.array([[np.cos(a), np.sin(a)], [np.sin(a), -np.cos(a)]]).T
    return along + 0.05 * along**3 + 0.1 * np.random.default_rng(1).normal(size=Z.shape)


@pytest.mark.parametrize("degrees", [0.0, 20.0, 44.0, 70.0, 160.0])
def test_axes_are_those_of_the_rotation_up_to_order_and_sign(degrees: float) -> None:
    for mean in (codes(degrees), -codes(degrees), codes(degrees)[:, ::-1]):
        found = latent_axes(mean, Z)
        assert found is not None and apart(found, degrees) < 1.0


def test_a_latent_that_is_not_used_has_no_axis() -> None:
    assert latent_axes(codes(20.0) * [1.0, 0.1], Z) is None


def test_a_cell_trains_models_of_its_own_noise_and_seeds() -> None:
    columns = {"seed": 3, "steps": 10}
    fine, coarse = (experiments({**columns, "arm": arm}) for arm in ("wave", "coarse"))
    assert [spec.seed for spec in fine] == [300 + k for k in range(RESTARTS)]
    scales = {spec.likelihood.scale for spec in fine}, {spec.likelihood.scale for spec in coarse}
    assert scales == ({0.15}, {0.6})
