"""Models of pythae and diffusers, with nothing said about them."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.forms import adapt
from tests.adapters.test_forms import read
from torch import Tensor

import vaescope as vs
from vaescope.models import OpenModel


def seeded(make: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["VAE", "BetaVAE"])
def test_a_model_of_pythae_is_read(name: str, digits: Tensor) -> None:
    models = pytest.importorskip("pythae.models", reason="pythae is not installed")
    config = getattr(models, f"{name}Config")(input_dim=(1, 8, 8), latent_dim=6)
    vae = seeded(lambda: getattr(models, name)(config))
    optimiser = torch.optim.Adam(vae.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(100):
        x = digits[torch.randint(len(digits), (64,), generator=generator)]
        optimiser.zero_grad()
        vae({"data": x}).loss.backward()
        optimiser.step()
    model = adapt(vae, digits)
    assert (read(model, "posterior"), read(model, "output")) == ("named,logvar", "probabilities")
    assert_is(model, digits, vae.eval().encoder)
    with model.evaluating():
        z = model.encode(digits).mean
        np.testing.assert_allclose(
            model.decode(z).mean, vae.decoder(z)["reconstruction"], atol=1e-5
        )


def assert_is(model: OpenModel, x: Tensor, encoder: Any) -> None:
    with model.evaluating():
        wanted, posterior = encoder(x), model.encode(x)
    np.testing.assert_allclose(posterior.mean, wanted.embedding, rtol=1e-5)
    np.testing.assert_allclose(posterior.variance, wanted.log_covariance.exp(), rtol=1e-5)


def test_an_autoencoder_of_pythae_has_no_spread(digits: Tensor) -> None:
    models = pytest.importorskip("pythae.models", reason="pythae is not installed")
    model = adapt(
        seeded(lambda: models.AE(models.AEConfig(input_dim=(1, 8, 8), latent_dim=6))), digits
    )
    assert float(model.encode(digits).variance.max()) == 0


@pytest.mark.slow
def test_an_untrained_autoencoderkl_is_read_with_its_maps_and_scale() -> None:
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    kl = seeded(
        lambda: diffusers.AutoencoderKL(
            in_channels=3, out_channels=3, latent_channels=4, sample_size=32, norm_num_groups=8,
            block_out_channels=(16, 16),
            down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        )
    )  # fmt: skip
    x = torch.from_numpy(np.random.default_rng(0).random((8, 3, 32, 32), np.float32))
    model = adapt(kl, x)
    assert model.scaling == pytest.approx(0.18215)
    assert (read(model, "posterior"), read(model, "value_range")) == ("named,logvar", "-1,1")
    assert read(model, "output") == "pixels"
    with model.evaluating():
        wanted = kl.encode(2 * x - 1).latent_dist
        posterior = model.encode(x)
        image = model.decode(posterior.mean).mean
        assert posterior.mean.shape == (8, 4, 16, 16)
        np.testing.assert_allclose(posterior.mean, wanted.mean, rtol=1e-5)
        np.testing.assert_allclose(posterior.variance, wanted.var, rtol=1e-5)
        np.testing.assert_allclose(image, (kl.decode(wanted.mean).sample + 1) / 2, atol=1e-5)


def tiny(name: str) -> Any:
    """A small one of diffusers' autoencoders, with random weights."""
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    down, up = ("DownEncoderBlock2D",) * 2, ("UpDecoderBlock2D",) * 2
    settings: dict[str, dict[str, Any]] = {
        "AutoencoderKL": {
            "block_out_channels": (16, 16), "down_block_types": down, "up_block_types": up,
            "norm_num_groups": 8, "scaling_factor": 0.36, "shift_factor": 0.11,
        },
        "AutoencoderKLTemporalDecoder": {
            "block_out_channels": (32, 32), "down_block_types": down,
        },
        "AsymmetricAutoencoderKL": {
            "down_block_types": down, "down_block_out_channels": (16, 16), "up_block_types": up,
            "up_block_out_channels": (16, 16), "norm_num_groups": 8,
        },
        "AutoencoderTiny": {
            "encoder_block_out_channels": (16, 16), "decoder_block_out_channels": (16, 16),
            "num_encoder_blocks": (1, 1), "num_decoder_blocks": (1, 1),
        },
    }  # fmt: skip
    return seeded(lambda: getattr(diffusers, name)(**settings[name]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["AutoencoderKL", "AutoencoderKLTemporalDecoder", "AsymmetricAutoencoderKL"]
)
def test_maps_are_measured_by_channel_and_by_place_beside_what_was_published(name: str) -> None:
    kl = tiny(name).eval()
    x = np.random.default_rng(0).random((6, 3, 16, 16), np.float32)
    opened = vs.open_model(kl, x)
    with torch.no_grad():
        q = kl.encode(2 * torch.from_numpy(x[opened.rows]) - 1).latent_dist
    mean, variance = q.mean.double().numpy(), q.var.double().numpy()
    nats = 0.5 * (mean**2 + variance - 1 - np.log(variance))
    maps = opened.maps
    assert maps is not None and maps.kl_nats is not None and maps.kl_by_place is not None
    np.testing.assert_allclose(maps.kl_nats, nats.mean((0, 2, 3)), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(maps.kl_by_place, nats.sum(1).mean(0), rtol=1e-3, atol=1e-6)
    whole = 1 / np.sqrt(mean.var() + variance.mean())
    assert maps.scaling == pytest.approx(whole, rel=1e-3)
    found = vs.inspect(kl, x, effort="latents")
    assert f"published scaling factor is {kl.config.scaling_factor:g}" in found.summary()
    assert found.to_dict()["maps"]["configured"] == kl.config.scaling_factor
    if name == "AutoencoderKL":
        assert found.to_dict()["maps"]["configured_shift"] == 0.11
        assert "where 0.11 is published" in found.summary()


@pytest.mark.slow
def test_maps_without_noise_have_no_kl() -> None:
    opened = vs.open_model(
        tiny("AutoencoderTiny"), np.random.default_rng(0).random((6, 3, 16, 16), np.float32)
    )
    assert opened.maps is not None and opened.maps.to_dict()["kl"] is None


@pytest.mark.slow
@pytest.mark.parametrize("right", [True, False])
def test_channels_of_video_latents_are_compared_with_what_was_published(right: bool) -> None:
    """latents_mean and latents_std of a configuration, beside those measured."""
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")

    def small(mean: list[float], std: list[float]) -> Any:
        return seeded(
            lambda: diffusers.AutoencoderKLWan(
                base_dim=8, z_dim=4, dim_mult=[1, 1], num_res_blocks=1, temperal_downsample=[False],
                latents_mean=mean, latents_std=std,
            )
        ).eval()  # fmt: skip

    x = np.random.default_rng(0).uniform(-1, 1, (5, 3, 5, 16, 16)).astype(np.float32)
    with torch.no_grad():
        q = small([0.0] * 4, [1.0] * 4).encode(torch.from_numpy(x)).latent_dist
    mean = q.mean.double().mean((0, 2, 3, 4))
    std = (
        q.mean.double().var((0, 2, 3, 4), correction=0) + q.var.double().mean((0, 2, 3, 4))
    ).sqrt()
    published = (mean if right else mean + std).tolist(), std.tolist()
    found = vs.inspect(small(*published), x, effort="latents")
    maps = found.to_dict()["maps"]
    assert maps["shape"] == [5, 8, 8] and maps["configured_std"] == published[1]
    np.testing.assert_allclose(maps["latents_mean"], mean, atol=1e-4)
    np.testing.assert_allclose(maps["latents_std"], std, rtol=1e-3)
    (verdict,) = (one for one in found.verdicts if one.id == "scaling")
    assert (verdict.tone == "good") is right
    assert right or f'"latents_mean": [{mean[0]:.4f}' in verdict.advice
