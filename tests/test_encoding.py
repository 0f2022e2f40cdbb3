"""`encode`: what is not covered by the tests of runs and of the command line."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vaescope.build import build_vae
from vaescope.codes import Codes
from vaescope.data.in_memory import from_arrays
from vaescope.errors import RangeError
from vaescope.opening import encode
from vaescope.settings import from_command_line
from vaescope.vae import VAE

DATA = from_arrays(np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32))


def narrow(last: float) -> VAE:
    """Posteriors N(0, L L') with L = [[1, 0], [1, last]] for every row."""
    spec = from_command_line(
        "vae", ["data.name=synth-linear", "net.name=mlp", "posterior.name=full", "latent=2"]
    )
    vae = build_vae(spec)
    with torch.no_grad():
        vae.encoder.posterior.head.weight.zero_()
        vae.encoder.posterior.head.bias.copy_(
            torch.tensor([0.0, 0.0, 0.0, 1.0, float(np.log(last))])
        )
    return vae


def test_arrays_and_tensors_are_encoded_as_the_dataset_of_them_is() -> None:
    rows = DATA.rows(np.arange(len(DATA)))
    expected = encode(narrow(0.1), DATA).mean
    np.testing.assert_array_equal(encode(narrow(0.1), rows).mean, expected)
    np.testing.assert_array_equal(encode(narrow(0.1), torch.from_numpy(rows)).mean, expected)


def test_posteriors_too_narrow_for_float32_are_encoded_as_they_are(tmp_path: Path) -> None:
    """1 + last^2 is 1 in float32: the covariance would be singular, and its factor an error."""
    codes = encode(narrow(1e-5), DATA)
    assert codes.covariance is not None
    np.testing.assert_allclose(np.linalg.det(codes.covariance), 1e-10, rtol=1e-3)
    apart = codes.sample[:, 1].astype(float) - codes.sample[:, 0]
    assert 0 < np.abs(apart).max() < 1e-4 < codes.sample[:, 0].std()
    codes.save(tmp_path / "codes.npz")
    np.testing.assert_array_equal(Codes.load(tmp_path / "codes.npz").covariance, codes.covariance)


def test_posteriors_too_narrow_for_float64_are_a_named_error() -> None:
    with pytest.raises(RangeError, match=r"row \d+ range from .* posterior.name=diagonal"):
        encode(narrow(1e-9), DATA)


def test_a_file_without_its_samples_gets_the_encoders_again(tmp_path: Path) -> None:
    codes = encode(narrow(0.5), DATA, seed=3)
    np.savez(tmp_path / "c.npz", mean=codes.mean, variance=codes.variance,
             covariance=np.asarray(codes.covariance))  # fmt: skip
    np.testing.assert_array_equal(Codes.load(tmp_path / "c.npz", seed=3).sample, codes.sample)
