"""Shapes of images and of latents: channels first and last, flat, maps."""

from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.style import LATENTS, Style, colour
from torch import Tensor, nn

__all__ = ["STYLES"]


class Convolutions(nn.Module):
    """Strided convolutions, and back by transposed ones."""

    def __init__(self, channels: int = 1) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(channels, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 4, 2, 1), nn.ReLU()
        )
        self.fc_mu, self.fc_logvar = nn.Linear(64, LATENTS), nn.Linear(64, LATENTS)
        self.fc = nn.Linear(LATENTS, 64)
        self.back = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(8, channels, 4, 2, 1), nn.Sigmoid(),
        )  # fmt: skip

    def encode(self, x: Tensor) -> Any:
        h = self.features(x)
        h = h.view(h.size(0), -1)
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)

    def decode(self, z: Tensor) -> Tensor:
        return self.back(self.fc(z).view(-1, 16, 2, 2))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def _convolved(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.features(x).flatten(1)
    return model.fc_mu(h), model.fc_logvar(h).exp()


def _back(model: Any, z: Tensor) -> Tensor:
    return model.back(model.fc(z).view(-1, 16, 2, 2))


class Viewed(Layers):
    """Colour images, flattened by view."""

    def __init__(self) -> None:
        super().__init__(pixels=192)

    def encode(self, x: Tensor) -> Any:
        return self._heads(x.view(x.size(0), -1))

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self._drawn(z)).view(-1, 3, 8, 8)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


def _viewed(model: Any, z: Tensor) -> Tensor:
    return torch.sigmoid(model._drawn(z)).view(-1, 3, 8, 8)


class FlatColour(Layers):
    """Colour images as vectors of 192, in and out."""

    def __init__(self) -> None:
        super().__init__(pixels=192)

    def encode(self, x: Tensor) -> Any:
        h = torch.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_var(h)

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self._drawn(z))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x.view(-1, 192))
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class ChannelsLast(Layers):
    """NHWC in and out, as ported from another framework."""

    def __init__(self) -> None:
        super().__init__(pixels=192)

    def encode(self, x: Tensor) -> Any:
        if x.shape[-1] != 3:
            raise ValueError(f"channels last wanted, got {tuple(x.shape)}")
        mean, log_var = self._heads(x)
        return mean, log_var, reparameterise(mean, log_var)

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self._drawn(z)).view(-1, 8, 8, 3)

    def forward(self, x: Tensor) -> Any:
        return self.decode(self.encode(x)[2])


class WithoutChannels(Layers):
    """(n, height, width) in and out."""

    def encode(self, x: Tensor) -> Any:
        n, height, width = x.shape
        return self._heads(x.reshape(n, height * width))

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self._drawn(z)).view(-1, 8, 8)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class Vectors(Layers):
    """The owner's data are vectors already."""

    def encode(self, x: Tensor) -> Any:
        h = torch.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_var(h)

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self._drawn(z))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class OneByOne(nn.Module):
    """Latents of shape (n, d, 1, 1), from convolutional heads in one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 32, 4, 1), nn.ReLU(),
            nn.Conv2d(32, 2 * LATENTS, 1),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Conv2d(LATENTS, 32, 1), nn.ReLU(), nn.ConvTranspose2d(32, 8, 4, 1), nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
        )  # fmt: skip

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        return torch.sigmoid(self.decoder(self.reparameterize(mu, logvar))), mu, logvar


class OneByOnePair(OneByOne):
    """The same with methods."""

    def encode(self, x: Tensor) -> Any:
        return self.encoder(x).chunk(2, dim=1)

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self.decoder(z.view(-1, LATENTS, 1, 1)))


def _one_by_one(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    mu, logvar = model.encoder(x).flatten(1).chunk(2, dim=1)
    return mu, logvar.exp()


def _one_by_one_logits(model: Any, z: Tensor) -> Tensor:
    return model.decoder(z.view(-1, LATENTS, 1, 1))


class Maps(nn.Module):
    """Latents of shape (n, 3, 2, 2) by 1x1 convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 4, 2, 1), nn.ReLU()
        )
        self.conv_mu, self.conv_logvar = nn.Conv2d(16, 3, 1), nn.Conv2d(16, 3, 1)
        self.back = nn.Sequential(
            nn.Conv2d(3, 16, 1), nn.ReLU(), nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Sigmoid(),
        )  # fmt: skip

    def encode(self, x: Tensor) -> Any:
        h = self.body(x)
        return self.conv_mu(h), self.conv_logvar(h)

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


def _maps(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.body(x)
    return model.conv_mu(h), model.conv_logvar(h).exp()


PAIR = {"posterior": ("logvar", "pair,logvar")}
HALVES = {"posterior": ("halves,logvar",)}


def _flat_colour(model: Any, z: Tensor) -> Tensor:
    return torch.sigmoid(model._drawn(z))


def _last(model: Any, z: Tensor) -> Tensor:
    return torch.sigmoid(model._drawn(z)).view(-1, 8, 8, 3)


STYLES = (
    Style("layouts/convolutions", Convolutions, _convolved, _back, answers=PAIR),
    Style("layouts/colour convolutions", lambda: Convolutions(3), _convolved, _back,
          images=colour, answers=PAIR),
    Style("layouts/view of colour", Viewed, logvar_truth, _viewed, images=colour, answers=PAIR),
    Style("layouts/flat colour", FlatColour, logvar_truth, _flat_colour, images=colour,
          taken=lambda x: x.flatten(1), given=lambda x: x, answers=PAIR),
    Style("layouts/NHWC, given so", ChannelsLast, logvar_truth, _last, images=colour,
          taken=lambda x: x.movedim(1, -1).contiguous(), answers=PAIR),
    Style("layouts/NHWC, given NCHW", ChannelsLast, logvar_truth, _last, images=colour,
          taken=lambda x: x.movedim(1, -1).contiguous(), given=lambda x: x, answers=PAIR),
    Style("layouts/(n, h, w)", WithoutChannels, logvar_truth,
          lambda m, z: probabilities(m, z).squeeze(1), taken=lambda x: x.squeeze(1), answers=PAIR),
    Style("layouts/vectors", Vectors, logvar_truth, lambda m, z: probabilities(m, z).flatten(1),
          taken=lambda x: x.flatten(1), answers=PAIR),
    Style("layouts/1x1 maps, attributes", OneByOne, _one_by_one, _one_by_one_logits, "logits",
          answers=HALVES),
    Style("layouts/1x1 maps, methods", OneByOnePair, _one_by_one,
          lambda m, z: _one_by_one_logits(m, z).sigmoid(), answers=PAIR),
    Style("layouts/2x2 maps", Maps, _maps, lambda m, z: m.back(z), fit=False, answers=PAIR),
)  # fmt: skip
