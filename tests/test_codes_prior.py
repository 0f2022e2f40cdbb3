"""The prior travels in codes and their files."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.build import build_vae
from vaescope.codes import Codes
from vaescope.data.in_memory import from_arrays
from vaescope.errors import DataError, ShapeError
from vaescope.latents import types
from vaescope.prior_density import (
    GaussianDensity,
    LaplaceDensity,
    MixtureDensity,
    PriorDensity,
    SparseDensity,
    StudentTDensity,
    SubspacesDensity,
    standard_normal,
)
from vaescope.settings import from_command_line

N, D = 20, 2
ZEROS, ONES = np.zeros((N, D)), np.ones((N, D))
PRIORS: dict[str, PriorDensity] = {
    "normal": standard_normal(D),
    "gaussian": GaussianDensity(np.array([0.5, -1.0]), np.array([0.3, 4.0])),
    "per row": GaussianDensity(np.arange(N * D, dtype=np.float32).reshape(N, D), ONES),
    "student-t": StudentTDensity(3.0, np.array([0.2, 0.0]), np.array([0.5, 2.0])),
    "sparse": SparseDensity(0.8, 0.05, np.zeros(D), 2.0),
    "mixture": MixtureDensity(np.array([0.3, 0.7]), np.eye(2), np.full((2, 2), 0.03)),
    "laplace": LaplaceDensity(np.zeros(D), np.ones(D)),
    "subspaces": SubspacesDensity(3.0, np.zeros(D), np.ones(D), np.array([0, 0])),
}


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_that_is_saved_is_loaded(
    name: str, tmp_path: Path, generator: np.random.Generator
) -> None:
    codes = Codes(ZEROS, ONES, ZEROS, prior=PRIORS[name])
    codes.save(tmp_path / "c.npz")
    back = Codes.load(tmp_path / "c.npz")
    z = generator.normal(size=(N, D))
    assert type(back.prior) is type(codes.prior) and not back.prior_assumed
    np.testing.assert_array_equal(back.prior.log_prob(z), codes.prior.log_prob(z))
    with np.load(tmp_path / "c.npz") as file:
        assert json.loads(str(file["prior"]))["name"] == codes.prior.name
        assert ("prior_mean" in file) == (name == "per row")


def test_a_prior_that_nobody_said_is_the_standard_normal_and_stays_assumed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    codes = Codes(ZEROS, ONES, ZEROS)
    assert codes.prior.standard and codes.prior_assumed
    codes.save(tmp_path / "c.npz")
    with caplog.at_level(logging.INFO, logger="vaescope"):
        assert Codes.load(tmp_path / "c.npz").prior_assumed
    assert "N(0, I) is assumed" in caplog.text


def test_what_an_unused_latent_has_is_saved_with_its_reason(tmp_path: Path) -> None:
    unused = np.array([4.0, np.nan])
    codes = Codes(ZEROS, 4.0 * ONES, ZEROS, unused=unused, unused_why="DIP-VAE I leaves it open")
    codes.save(tmp_path / "c.npz")
    back = Codes.load(tmp_path / "c.npz")
    np.testing.assert_array_equal(back.unused_variance, unused)
    found = types(back)
    assert found.names == ("passive", "mixed")
    assert "types cannot tell whether 1 ignores x: DIP-VAE I leaves it open" in found.why
    assert found.to_dict()["why"] == found.why and found.why in found.summary()
    assert types(Codes(ZEROS, 4.0 * ONES, ZEROS)).names == ("mixed", "mixed")


def test_files_of_the_first_round_are_read_as_before(tmp_path: Path) -> None:
    """prior_mean and prior_variance, each or both, are a Gaussian for each row."""
    mean, variance = ONES * 3.0, ONES * 0.5
    given: list[dict[str, Any]] = [
        {"prior_mean": mean, "prior_variance": variance},
        {"prior_variance": variance},
        {"prior_mean": mean, "prior_variance": variance, "prior_nearest": True},
    ]
    for arrays in given:
        np.savez(tmp_path / "c.npz", mean=ZEROS, variance=ONES, **arrays)
        codes = Codes.load(tmp_path / "c.npz")
        assert isinstance(codes.prior, GaussianDensity) and not codes.prior_assumed
        np.testing.assert_array_equal(codes.prior_mean, arrays.get("prior_mean", ZEROS))
        np.testing.assert_array_equal(codes.prior_variance, variance)


def test_prior_means_and_variances_can_be_read_of_gaussians_only() -> None:
    gaussian = Codes(ZEROS, ONES, ZEROS, prior=PRIORS["gaussian"])
    np.testing.assert_array_equal(gaussian.prior_variance, np.tile([0.3, 4.0], (N, 1)))
    for name in ("normal", "student-t", "mixture"):
        codes = Codes(ZEROS, ONES, ZEROS, prior=PRIORS[name])
        assert codes.prior_mean is None and codes.prior_variance is None


@pytest.mark.parametrize(
    ("arrays", "error", "says"),
    [
        ({"prior": '{"name": "gaussian", '}, DataError, "`prior` is not JSON"),
        ({"prior": '{"name": "cauchy"}'}, DataError, "'cauchy'; there are gaussian"),
        ({"prior": np.ones(3)}, DataError, "wanted a text"),
        ({"prior": standard_normal(3).to_json()}, ShapeError, "prior has parameters"),
        ({"prior": PRIORS["per row"].to_json()}, DataError, "no prior_mean"),
        ({"prior_mean": np.zeros((N, 3))}, ShapeError, "prior_mean has shape"),
        ({"unused": np.ones(3)}, ShapeError, "unused has shape"),
        ({"unused": np.array([1.0, -1.0])}, ShapeError, "positive variances"),
    ],
)
def test_damaged_priors_are_refused_by_name(
    arrays: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "c.npz", mean=ZEROS, variance=ONES, **arrays)
    with pytest.raises(error, match=says):
        Codes.load(tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["prior.name=normal"], "N(0, I)"),
        (["prior.name=student-t", "prior.df=5"], "Student-t with 5 degrees of freedom"),
        (["prior.name=sparse", "prior.gamma=0.8"], "spike and slab with 0.8 in the spike"),
        (
            ["prior.name=subspaces", "prior.df=5"],
            "one subspace of 2 latents, Student-t with 5 degrees of freedom",
        ),
        (["prior.name=mixture"], "a mixture of 4 Gaussians"),
        (["prior.name=anisotropic"], "a diagonal Gaussian"),
    ],
)
def test_encoding_gives_codes_the_prior_of_the_model(settings: list[str], says: str) -> None:
    data = from_arrays(np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32))
    chosen = ["data.name=synth-linear", "net.name=mlp", "latent=2", *settings]
    vae = build_vae(from_command_line("vae", chosen))
    if "prior.name=anisotropic" in settings:
        with torch.no_grad():
            vae.prior.log_shares.copy_(torch.tensor([0.0, 1.0]))
    codes = vs.encode(vae, data)
    assert codes.prior.says == says and not codes.prior_assumed
    z = torch.randn(9, 2, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        wanted = vae.prior().log_prob(z).numpy()
    np.testing.assert_allclose(codes.prior.log_prob(z.numpy()), wanted, rtol=1e-4)
