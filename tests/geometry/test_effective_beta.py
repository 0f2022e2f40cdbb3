"""The weight of the rate that a model obeys, against closed forms."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.adapters.pretrained import many_images, rebuilt
from tests.objectives.test_linear_vae import set_to_ppca
from torch import Tensor, nn

import vaescope as vs
from vaescope.build import build_vae
from vaescope.data import Dataset
from vaescope.data.synthetic import linear_gaussian, principal_axes
from vaescope.settings import from_command_line
from vaescope.vae import VAE

Find = Callable[[str], Path]


def at_its_optimum(beta: float) -> tuple[VAE, Dataset]:
    """A linear beta-VAE with squared error, pixel variance 1/2, where its loss is least: that of a
    VAE with pixel variance beta / 2 (Tipping and Bishop 1999)."""
    eigenvalues = (9.0, 5.0, 3.0)
    data = linear_gaussian(eigenvalues=eigenvalues, dimension=5, noise=0.01, n=2000)
    values, axes = principal_axes(data.rows(np.arange(len(data))).astype(np.float64))
    d = len(eigenvalues)
    settings = ["data.name=linear-gaussian", "data.dimension=5", "net.name=linear", f"latent={d}"]
    vae = build_vae(from_command_line("beta-vae", [*settings, "likelihood.name=squared-error"]))
    mean = data.rows(np.arange(len(data))).mean(0).astype(np.float64)
    set_to_ppca(vae, mean, values[:d], axes[:, :d], beta / 2)
    return vae, data


@pytest.mark.parametrize("beta", [0.02, 0.5, 1.0, 2.0])
def test_the_weight_of_a_linear_model_at_its_optimum_is_found(beta: float) -> None:
    vae, data = at_its_optimum(beta)
    found = vs.effective_beta(vae, data)
    assert found.value == pytest.approx(beta, rel=0.05)
    assert found.interval[0] < beta < found.interval[1]
    assert found.single_weight is True
    error = _squared_error(vae, data)
    assert found.pixel_variance_ratio == pytest.approx(found.value / 2 / error, rel=1e-3)


def _squared_error(vae: VAE, data: Dataset) -> float:
    places = np.unique(np.linspace(0, len(data) - 1, 500).astype(np.int64))
    x = torch.from_numpy(data.rows(data.sample(10_000, seed=0)[places]))
    with torch.no_grad():
        return float((vae.decoder(vae.encoder(x).mean).mean - x).square().mean())


def test_another_weight_for_one_latent_is_seen() -> None:
    """The posterior of one latent is set to the width that four times the weight would give."""
    vae, data = at_its_optimum(0.5)
    d = 3
    with torch.no_grad():
        vae.encoder.posterior.head.bias[d] += math.log(4.0)
    found = vs.effective_beta(vae, data)
    assert found.single_weight is False
    assert found.per_latent[0] / found.per_latent[1] == pytest.approx(4.0, rel=0.25)
    assert "No single weight" in found.summary()


def test_a_collapsed_model_is_not_readable() -> None:
    vae, data = at_its_optimum(1.0)
    with torch.no_grad():
        vae.encoder.posterior.head.weight.zero_()
        vae.encoder.posterior.head.bias.zero_()
        vae.decoder.body[0].weight.zero_()
    found = vs.effective_beta(vae, data)
    assert found.value is None
    assert "no latent is used" in found.summary()
    assert found.to_dict()["value"] is None


def test_a_mean_over_pixels_explains_its_factor() -> None:
    """Written: beta times the rate beside a mean over 5 numbers; acting: 5 times as much."""
    vae, data = at_its_optimum(0.5)
    assert "a mean over the 5 pixels" in vs.effective_beta(vae, data, nominal=0.1).summary()
    assert "sums over pixels" in vs.effective_beta(vae, data, nominal=0.5).summary()
    assert "no usual reduction" in vs.effective_beta(vae, data, nominal=0.02).summary()


def test_codes_without_noise_are_not_readable() -> None:
    class Plain(nn.Module):
        def encode(self, x: Tensor) -> Tensor:
            return x[:, :2]

        def decode(self, z: Tensor) -> Tensor:
            return torch.cat([z, z, z[:, :1]], 1)

    data = linear_gaussian(eigenvalues=(2.0, 1.0), dimension=5, noise=0.1, n=200)
    model = Plain()
    rows = data.rows(np.arange(200))
    found = vs.effective_beta(
        None, rows, encode=model.encode, decode=model.decode, posterior="mean"
    )
    assert found.value is None and "noise" in found.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "beta"), [("VAE_mnist", 1.0), ("betaH_mnist", 4.0), ("VAE_dsprites", 1.0)]
)
def test_the_weight_of_models_of_others_is_found(name: str, beta: float, shared_data: Find) -> None:
    found = vs.effective_beta(
        rebuilt(name, shared_data), many_images(name, shared_data, 600), rows=600
    )
    assert found.value == pytest.approx(beta, rel=0.1)
    assert found.single_weight is True


@pytest.mark.slow
def test_a_penalty_on_total_correlation_is_not_one_weight(shared_data: Find) -> None:
    """btcvae_mnist: rate 1, total correlation 6."""
    name = "btcvae_mnist"
    found = vs.effective_beta(
        rebuilt(name, shared_data), many_images(name, shared_data, 600), rows=600
    )
    assert found.single_weight is False
