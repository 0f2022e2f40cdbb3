"""A VAE of Keras on torch, trained with the watcher and inspected: `scripts/extras.py` runs it."""

import keras
import numpy as np
import torch
from keras import layers, ops

import vaescope as vs
from vaescope.integrations.keras import WatchLatents


class VAE(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        image, code = keras.Input((8, 8, 1)), keras.Input((4,))
        hidden = layers.Dense(32, activation="relu")(layers.Flatten()(image))
        self.encoder = keras.Model(image, [layers.Dense(4)(hidden), layers.Dense(4)(hidden)])
        pixels = layers.Dense(64, activation="sigmoid")(layers.Dense(32, activation="relu")(code))
        self.decoder = keras.Model(code, layers.Reshape((8, 8, 1))(pixels))

    def call(self, x):
        return self.decoder(self.encoder(x)[0])

    def train_step(self, x):
        mean, logvar = self.encoder(x)
        y = self.decoder(mean + ops.exp(0.5 * logvar) * keras.random.normal(ops.shape(mean)))
        distortion = ops.sum(keras.losses.binary_crossentropy(x, y), axis=(1, 2))
        rate = 0.5 * ops.sum(ops.square(mean) + ops.exp(logvar) - 1 - logvar, axis=1)
        loss = ops.mean(distortion + 0.1 * rate)
        self.zero_grad()
        loss.backward()
        weights = self.trainable_weights
        with torch.no_grad():
            self.optimizer.apply([weight.value.grad for weight in weights], weights)
        return {"loss": loss}


keras.utils.set_random_seed(0)
x = np.moveaxis(vs.load_dataset("digits").rows(np.arange(512)), 1, -1)
vae, watcher = VAE(), WatchLatents()
vae.compile(optimizer=keras.optimizers.Adam(5e-3))
vae.fit(x, epochs=5, batch_size=64, verbose=0, callbacks=[watcher])
assert watcher.seen is not None
print(watcher.seen.summary())
found = vs.inspect(vae, x, posterior="logvar", effort="fast")
print(found.summary())
assert max(one.kl_nats for one in found.latents) > 0.1
