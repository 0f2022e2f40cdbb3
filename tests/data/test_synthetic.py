"""The two tasks of zietlow2022 section 3.3.1."""

import numpy as np
import torch

from vaescope.build import build_data
from vaescope.data.synthetic import principal_axes, synth_linear, synth_nonlinear
from vaescope.settings import from_command_line
from vaescope.specs import to_dict

FIRST_ROW = [1.103048, -3.590155, 3.312301, 7.009206, 3.439031, 1.139123]


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


def test_the_usual_initialisation_has_the_moments_of_torchs_own_layers() -> None:
    """zietlow2022: "a random initialization of a Multilayer Perceptron"; torch draws the other."""
    ours = [principal_axes(synth_nonlinear(
        n=2000, initialisation="fan-in", generator_seed=k).rows(np.arange(2000)))[0][:2]
        for k in range(60)]  # fmt: skip
    w = torch.rand(2000, 2, generator=torch.Generator().manual_seed(0))
    theirs = []
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        for _ in range(60):
            net = torch.nn.Sequential(
                torch.nn.Linear(2, 10), torch.nn.Tanh(), torch.nn.Linear(10, 6)
            )
            theirs.append(principal_axes(net(w).numpy())[0][:2])
    np.testing.assert_allclose(np.mean(ours, axis=0), np.mean(theirs, axis=0), rtol=0.25)


def test_with_it_beta_one_prunes_both_directions_and_the_thesis_beta_hardly_any() -> None:
    """A direction of variance lambda dies at beta = 2 lambda (squared error, summed): zietlow2022
    section 3.3.6 has over-pruning at beta 1 and Table 3.1 trains at 1e-3."""
    for kind, most, least in (("fan-in", 1.0, 1e-3), ("normal", np.inf, 1.0)):
        onsets = np.array([2.0 * principal_axes(synth_nonlinear(
            n=2000, initialisation=kind, generator_seed=k).rows(np.arange(2000)))[0][:2]
            for k in range(20)])  # fmt: skip
        assert onsets.max() < most
        assert (onsets[:, 1] > least).mean() >= 0.9


def test_the_normal_initialisation_is_left_out_of_specs_and_makes_the_rows_it_made() -> None:
    old = from_command_line("beta-vae", ["data.name=synth-nonlinear", "data.n=4"])
    assert "initialisation" not in to_dict(old)["data"]
    new = from_command_line(
        "beta-vae", ["data.name=synth-nonlinear", "data.n=4", "data.initialisation=fan-in"]
    )
    assert to_dict(new)["data"]["initialisation"] == "fan-in"
    # The first row of seed 0, from the release that had no such setting.
    first = build_data(old.data).rows(np.arange(1))[0]
    np.testing.assert_allclose(first, FIRST_ROW, rtol=1e-6)
    assert build_data(new.data).recipe == to_dict(new)["data"]
