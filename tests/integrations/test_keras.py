"""Keras on torch: the callback in a real `fit` sees what `vs.watch` sees, and the model is read."""

import os
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import vaescope as vs
from vaescope.errors import UsageError


@cache
def parts() -> SimpleNamespace:
    """Keras and what needs it, imported by the first test that runs: that takes seconds."""
    os.environ.setdefault("KERAS_BACKEND", "torch")  # before Keras is imported for the first time
    keras = pytest.importorskip("keras", reason="the extra keras is not installed")
    if keras.backend.backend() != "torch":
        pytest.skip("Keras was imported with another backend")
    from tests.adapters.keras_vae import VAE, decoder, encoder

    from vaescope.integrations.keras import WatchLatents

    return SimpleNamespace(
        keras=keras, VAE=VAE, encoder=encoder, decoder=decoder, WatchLatents=WatchLatents
    )


def images(channels: int) -> np.ndarray:
    grey = (load_digits().images[:512] / 16).astype(np.float32)[..., None]
    return np.asarray(grey * np.linspace(1.0, 0.4, channels, dtype=np.float32))


def fit(x: np.ndarray, *callbacks: Any, lr: float = 5e-3, epochs: int = 4, **settings: Any) -> Any:
    parts().keras.utils.set_random_seed(0)
    vae = parts().VAE(channels=x.shape[-1], **settings)
    vae.compile(optimizer=parts().keras.optimizers.Adam(lr))
    history = vae.fit(
        x, epochs=epochs, batch_size=64, verbose=0, shuffle=False, callbacks=list(callbacks)
    )
    return vae, history.history


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 3])
def test_a_model_of_keras_is_read_with_its_channels_last(channels: int) -> None:
    x = images(channels)
    vae, _ = fit(x)
    opened = vs.open_model(vae, x)
    mean, log_var, _ = vae.encoder(x[opened.rows])
    np.testing.assert_allclose(opened.codes.mean, mean.detach(), atol=1e-5)
    np.testing.assert_allclose(opened.codes.variance, log_var.exp().detach(), rtol=1e-4)
    said = {one.what: one.value for one in opened.inferred}
    assert (said["posterior"], said["input"]) == ("pair,logvar", "channels last")
    assert (said["output"], said["value_range"]) == ("probabilities", "0,1")
    with opened.evaluating():
        z = torch.from_numpy(opened.codes.mean[:4])
        np.testing.assert_allclose(
            opened.decode(z).mean.movedim(1, -1), vae.decoder(z).detach(), atol=1e-4
        )
    found = vs.inspect(vae, x, effort="latents")
    kl = 0.5 * (mean**2 + log_var.exp() - 1 - log_var).mean(0).detach()
    latents = sorted(found.latents, key=lambda one: one.index)
    np.testing.assert_allclose([one.kl_nats for one in latents], kl, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["binary_crossentropy", "mean_squared_error"])
def test_the_loss_of_train_step_shows_the_likelihood_and_no_weight_is_changed(loss: str) -> None:
    x = images(1)
    vae, _ = fit(x, loss=getattr(parts().keras.losses, loss), epochs=1)
    before = [weight.numpy().copy() for weight in vae.weights]
    opened = vs.open_model(vae, x)
    assert "train_step" in next(one.why for one in opened.inferred if one.what == "output")
    z, rows = torch.from_numpy(opened.codes.mean[:8]), opened.x(opened.rows[:8])
    with opened.evaluating():
        density = opened.decode(z)
        own, y = -density.log_prob(rows), density.mean
    lost = (
        torch.nn.functional.mse_loss if "mean" in loss else torch.nn.functional.binary_cross_entropy
    )
    wanted = lost(y, rows, reduction="none").flatten(1).sum(1)
    gap = own - wanted  # a constant
    assert float(gap.max() - gap.min()) < 1e-3 * float(wanted.max() - wanted.min())
    for weight, value in zip(vae.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)


@pytest.mark.slow
def test_encoder_and_decoder_without_a_model_around_them_are_read_too() -> None:
    x = images(1)
    one, other = parts().encoder(1, 4), parts().decoder(1, 4)
    opened = vs.open_model(encode=one, decode=other, data=x, value_range=(0, 1))
    np.testing.assert_allclose(opened.codes.mean, one(x[opened.rows])[0].detach(), atol=1e-5)


@pytest.mark.slow
def test_the_callback_sees_what_watch_sees_and_history_has_it() -> None:
    x, callback = images(1), parts().WatchLatents()
    vae, history = fit(x, callback, lr=0.0, epochs=2)
    assert callback.seen is not None and callback.seen.examples == 2 * len(x)
    seen = None
    for start in 2 * list(range(0, len(x), 64)):
        mean, log_var, _ = vae.encoder(x[start : start + 64], training=False)
        seen = vs.watch(mean, logvar=log_var, state=seen)
    assert seen is not None
    # Dropout is on in `fit` only where train_step says so; Keras's example does not.
    np.testing.assert_allclose(callback.seen.kl, seen.kl, rtol=1e-4)
    assert history["latents/kl"][-1] == pytest.approx(seen.kl.sum(), rel=1e-4)
    assert len(history["latents/variance_3"]) == 2
    assert not vae.encoder._forward_hooks


@pytest.mark.slow
def test_a_prior_and_another_posterior_are_used_and_no_encoder_is_an_error() -> None:
    x = images(1)
    callback = parts().WatchLatents(
        posterior=lambda outputs: {"mean": outputs[0], "std": (0.5 * outputs[1]).exp()},
        prior={"prior_variance": 4.0}, every=3,
    )  # fmt: skip
    vae, _ = fit(x, callback, lr=0.0, epochs=1)
    assert callback.seen is not None and callback.seen.examples == 3 * 64  # batches 0, 3 and 6
    mean, log_var, _ = vae.encoder(np.concatenate([x[b * 64 : b * 64 + 64] for b in (0, 3, 6)]))
    kl = 0.5 * ((mean**2 + log_var.exp()) / 4 - 1 - log_var + np.log(4.0))
    np.testing.assert_allclose(callback.seen.kl, kl.mean(0).detach(), rtol=0.02)
    with pytest.raises(UsageError, match="wanted a model of Keras on torch"):
        fit(x, parts().WatchLatents(encoder="encoder"), epochs=1)
