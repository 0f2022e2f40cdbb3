"""Nine VAEs of YannDubs/disentangling-vae, rebuilt as plain modules from the words of
`shared/data/pretrained/README.md`, and the images of which their numbers are published."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from vaescope.data.dsprites import dsprites
from vaescope.data.mnist import idx

#: Latents with a mean posterior variance above 0.9, by the README.
PASSIVE = {
    "VAE_dsprites": [], "betaH_dsprites": [], "betaB_dsprites": [0, 1, 2, 3, 4, 8],
    "btcvae_dsprites": [0, 1, 5, 7, 9], "btcvae_dsprites_a0": [1, 3, 5, 7, 9],
    "VAE_mnist": [], "betaH_mnist": [], "betaB_mnist": [2, 3, 4, 5, 6, 7, 8],
    "btcvae_mnist": [2, 7],
}  # fmt: skip
NAMES = tuple(PASSIVE)

Find = Callable[[str], Path]


def _down(channels: int) -> nn.Conv2d:
    return nn.Conv2d(channels, 32, 4, stride=2, padding=1)


def _up(channels: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(32, channels, 4, stride=2, padding=1)


class Encoder(nn.Module):
    """Twenty outputs, means and log variances by turns."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.conv1, self.conv2, self.conv3 = _down(1), _down(32), _down(32)
        self.convolutions = [self.conv1, self.conv2, self.conv3]
        if size == 64:
            self.conv_64 = _down(32)
            self.convolutions.append(self.conv_64)
        self.lin1, self.lin2 = nn.Linear(512, 256), nn.Linear(256, 256)
        self.mu_logvar_gen = nn.Linear(256, 20)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.convolutions:
            x = layer(x).relu()
        x = self.lin2(self.lin1(x.flatten(1)).relu()).relu()
        return self.mu_logvar_gen(x)


class Decoder(nn.Module):
    """A Bernoulli's mean."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.lin1, self.lin2, self.lin3 = (
            nn.Linear(10, 256), nn.Linear(256, 256), nn.Linear(256, 512)
        )  # fmt: skip
        self.convT1, self.convT2, self.convT3 = _up(32), _up(32), _up(1)
        self.convolutions = [self.convT1, self.convT2]
        if size == 64:
            self.convT_64 = _up(32)
            self.convolutions.insert(0, self.convT_64)

    def forward(self, z: Tensor) -> Tensor:
        x = self.lin3(self.lin2(self.lin1(z).relu()).relu()).relu().view(-1, 32, 4, 4)
        for layer in self.convolutions:
            x = layer(x).relu()
        return self.convT3(x).sigmoid()


class Rebuilt(nn.Module):
    def __init__(self, size: int = 64) -> None:
        super().__init__()
        self.encoder = Encoder(size)
        self.decoder = Decoder(size)


def size_of(name: str) -> int:
    return 32 if name.endswith("mnist") else 64


def rebuilt(name: str, find: Find) -> Rebuilt:
    model = Rebuilt(size_of(name))
    weights = torch.load(find(f"pretrained/{name}/model.pt"), weights_only=True)
    model.load_state_dict(weights)
    return model


def published(name: str, find: Find) -> dict[str, Any]:
    numbers: dict[str, Any] = json.loads(find("pretrained/published.json").read_text())[name]
    return numbers


def fixed_images(name: str, find: Find) -> Tensor:
    """The 1,000 images of the published numbers."""
    return digits(1000, find) if name.endswith("mnist") else squares()


def squares() -> Tensor:
    """The first 1,000 images of the official dSprites file."""
    k, pixel = np.arange(1000), np.arange(64)
    column, row = 15.5 + 32 * (k // 32) / 31, 15.5 + 32 * (k % 32) / 31
    on = (np.abs(pixel - column[:, None]) <= 4.8)[:, None, :] & (
        np.abs(pixel - row[:, None]) <= 4.8
    )[:, :, None]
    return torch.from_numpy(on[:, None].astype(np.float32))


@cache
def digits(n: int, find: Find) -> Tensor:
    """The first training images of MNIST at 32 pixels."""
    small = idx(find("mnist/train-images-idx3-ubyte.gz"))[:n]
    large = [Image.fromarray(image).resize((32, 32), Image.Resampling.BILINEAR) for image in small]
    return torch.from_numpy(np.stack(large)[:, None].astype(np.float32) / 255)


@cache
def sprites(n: int) -> Tensor:
    """dSprites at random, of a grid that has all factors."""
    every_fourth = list(range(0, 32, 4))
    orientations = list(range(0, 40, 4))
    data = dsprites(grid={"orientation": orientations, "x": every_fourth, "y": every_fourth})
    return torch.from_numpy(data.rows(data.sample(n, seed=0)))


def many_images(name: str, find: Find, n: int = 2000) -> Tensor:
    return digits(n, find) if name.endswith("mnist") else sprites(n)
