"""A VAE in the style of Keras's own example, on torch: encoder with three outputs, decoder, its own
train_step, images with channels last."""

import os
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")  # before Keras is imported for the first time

import keras
import torch
from keras import layers, ops


class Sampling(layers.Layer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.seeds = keras.random.SeedGenerator(1337)

    def call(self, inputs: Any) -> Any:
        mean, log_var = inputs
        noise = keras.random.normal(shape=ops.shape(mean), seed=self.seeds)
        return mean + ops.exp(0.5 * log_var) * noise


def encoder(channels: int, latent: int) -> Any:
    image = keras.Input((8, 8, channels))
    hidden = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(image)
    hidden = layers.Dropout(0.2)(layers.Flatten()(hidden))
    hidden = layers.Dense(32, activation="relu")(hidden)
    mean = layers.Dense(latent, name="z_mean")(hidden)
    log_var = layers.Dense(latent, name="z_log_var")(hidden)
    return keras.Model(image, [mean, log_var, Sampling()([mean, log_var])], name="encoder")


def decoder(channels: int, latent: int) -> Any:
    z = keras.Input((latent,))
    hidden = layers.Reshape((4, 4, 8))(layers.Dense(128, activation="relu")(z))
    hidden = layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu")(hidden)
    image = layers.Conv2DTranspose(channels, 3, padding="same", activation="sigmoid")(hidden)
    return keras.Model(z, image, name="decoder")


class VAE(keras.Model):  # type: ignore[misc]
    """`loss` is one of Keras's losses."""

    def __init__(self, channels: int = 1, latent: int = 4, loss: Any = None) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder(channels, latent), decoder(channels, latent)
        self.distortion = loss or keras.losses.binary_crossentropy
        self.total = keras.metrics.Mean(name="loss")

    @property
    def metrics(self) -> list[Any]:
        return [self.total]

    def call(self, x: Any) -> Any:
        return self.decoder(self.encoder(x)[2])

    def train_step(self, data: Any) -> dict[str, Any]:
        mean, log_var, z = self.encoder(data)
        lost = ops.mean(ops.sum(self.distortion(data, self.decoder(z)), axis=(1, 2)))
        kl = -0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var))
        loss = lost + 0.1 * ops.mean(ops.sum(kl, axis=1))
        self.zero_grad()
        loss.backward()
        weights = list(self.trainable_weights)
        with torch.no_grad():
            self.optimizer.apply([weight.value.grad for weight in weights], weights)
        self.total.update_state(loss)
        return {"loss": self.total.result()}
