"""Noise of synth-linear."""

import numpy as np

from vaescope.build import build_data
from vaescope.data.synthetic import principal_axes, synth_linear
from vaescope.settings import from_command_line
from vaescope.specs import to_dict


def test_noise_adds_its_variance_to_every_eigenvalue_and_leaves_the_sources() -> None:
    clean, noisy = synth_linear(n=20_000), synth_linear(n=20_000, noise=0.05)
    every = np.arange(20_000)
    before, after = (principal_axes(data.rows(every))[0] for data in (clean, noisy))
    np.testing.assert_allclose(after - before, 0.05, rtol=0.1)
    np.testing.assert_array_equal(clean.sources, noisy.sources)


def test_without_noise_specs_are_as_before_there_was_any() -> None:
    clean = from_command_line("beta-vae", ["data.name=synth-linear", "data.noise=0"])
    assert "noise" not in to_dict(clean)["data"]
    noisy = from_command_line("beta-vae", ["data.name=synth-linear", "data.noise=0.01"])
    assert to_dict(noisy)["data"]["noise"] == 0.01
    assert build_data(noisy.data).recipe == to_dict(noisy)["data"]
