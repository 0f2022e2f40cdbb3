"""Where to look for the strengths that matter."""

import numpy as np
import pytest

from vaescope.data import Dataset
from vaescope.data.in_memory import from_arrays
from vaescope.data.synthetic import linear_gaussian, principal_axes
from vaescope.errors import DataError
from vaescope.settings import from_command_line
from vaescope.tuning.scale import collapse_scale


@pytest.mark.parametrize(
    ("likelihood", "variance"),
    [
        (["likelihood.name=squared-error"], 0.5),
        (["likelihood.name=gaussian", "likelihood.scale=0.5"], 0.25),
        (["likelihood.name=laplace", "likelihood.scale=2"], 4.0),
    ],
)
def test_it_is_the_greatest_eigenvalue_in_units_of_the_noise(
    likelihood: list[str], variance: float
) -> None:
    data = linear_gaussian(n=1000)
    spec = from_command_line("beta-vae", ["data.name=linear-gaussian", *likelihood])
    greatest = principal_axes(data.rows(np.arange(1000)))[0][0]
    assert collapse_scale(spec, data) == pytest.approx(greatest / variance, rel=1e-4)


def test_for_pixels_it_is_in_units_of_their_own_variance(small_sprites: Dataset) -> None:
    """Two independent pixels, one always on or off: both have eigenvalue 1 in these units."""
    fair = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25, dtype=np.float32)
    spec = from_command_line("beta-vae", ["data.name=dsprites", "data.size=32"])
    assert collapse_scale(spec, from_arrays(fair)) == pytest.approx(1.0)
    assert 1.0 < collapse_scale(spec, small_sprites) < 32 * 32


def test_constant_data_are_refused() -> None:
    spec = from_command_line("beta-vae", ["data.name=linear-gaussian"])
    with pytest.raises(DataError, match="are the same"):
        collapse_scale(spec, from_arrays(np.ones((10, 8), dtype=np.float32)))
