"""Video, standardised images, tables, and latents that are maps."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from tests.adapters.fields.field import ROWS, Field, heads, noised, squares, waves
from torch import Tensor, nn

__all__ = ["FIELDS"]


def _video() -> Tensor:
    """A bar that moves: (rows, 1, 4 frames, 6, 6)."""
    wave = waves(24, 6).reshape(ROWS, 4, 6, 6)
    return wave.unsqueeze(1)


VIDEO = _video()


class Frames(nn.Module):
    """Video (n, c, t, h, w) by convolutions in three dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv3d(1, 4, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 8))
        self.up = nn.Linear(4, 144)

    def encode(self, x: Tensor) -> Any:
        return self.body(x).chunk(2, 1)

    def decode(self, z: Tensor) -> Tensor:
        return self.up(z).view(-1, 1, 4, 6, 6)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(noised(mu, logvar)), mu, logvar


class Clips(nn.Module):
    """Takes (n, c, t, h, w) with two channels; its user has frames first, (n, t, c, h, w). Its
    latents are a map over time and space."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv3d(2, 6, 2, 2), nn.ConvTranspose3d(3, 2, 2, 2)

    def encode(self, x: Tensor) -> Any:
        return self.down(x).chunk(2, 1)

    def decode(self, z: Tensor) -> Tensor:
        return self.up(z)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(noised(mu, logvar)), mu, logvar


CLIPS = torch.cat([VIDEO, VIDEO.flip(-1)], 1).transpose(1, 2).contiguous()


def _photos(channels: int) -> Tensor:
    """Standardised: (rows, channels, 6, 6), beyond [-1, 1]."""
    return waves(12, 3, 2.2).reshape(ROWS, 1, 6, 6).repeat(1, channels, 1, 1) + 0.3


class Photos(nn.Module):
    """Standardised images with a linear end."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels, size = channels, 36 * channels
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(size, 24), nn.ReLU())
        self.fc_mu, self.fc_var = nn.Linear(24, 4), nn.Linear(24, 4)
        self.dec = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, size))

    def encode(self, x: Tensor) -> Any:
        h = self.enc(x)
        return self.fc_mu(h), self.fc_var(h)

    def decode(self, z: Tensor) -> Tensor:
        return self.dec(z).view(-1, self.channels, 6, 6)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(noised(mu, logvar)), mu, logvar


def _table() -> pd.DataFrame:
    values = waves(6, 1, 1.5)[..., 0].numpy()
    return pd.DataFrame(values, columns=["age", "height", "dose", "pulse", "ph", "weight"])


class Table(nn.Module):
    """Standardised columns, posterior as a named tuple of mean and standard deviation."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 6))
        self.decoder = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 6))

    def encoder(self, rows: Tensor) -> Any:
        mu, raw = self.body(rows).chunk(2, 1)
        return mu, nn.functional.softplus(raw) + 1e-4

    def forward(self, rows: Tensor) -> Any:
        mu, std = self.encoder(rows)
        return self.decoder(mu + std * torch.randn_like(std)), mu, std


class Shares(nn.Module):
    """Columns scaled to [0, 1], a loss of squares, latents drawn in forward alone."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 24), nn.Linear(24, 6)
        self.c, self.d = nn.Linear(3, 24), nn.Linear(24, 6)

    def encode(self, x: Tensor) -> Tensor:
        return self.b(torch.relu(self.a(x)))

    def decode(self, z: Tensor) -> Tensor:
        return self.d(torch.relu(self.c(z)))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x).chunk(2, 1)
        return self.decode(noised(mu, logvar)), mu, logvar


def _shares() -> Tensor:
    values = torch.from_numpy(_table().to_numpy(np.float32))
    low, high = values.min(0).values, values.max(0).values
    return (values - low) / (high - low)


SHARES = _shares()


class Temporal(nn.Module):
    """Latents (n, d, t / 4) by convolutions over time."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv1d(3, 4, 4, 4), nn.ConvTranspose1d(2, 3, 4, 4)

    def encode(self, x: Tensor) -> Any:
        return self.down(x).chunk(2, 1)

    def decode(self, z: Tensor) -> Tensor:
        return self.up(z)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(noised(mu, logvar)), mu, logvar


class Steps(nn.Module):
    """A latent of each step, channels last: (n, t, d)."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(3, 8, batch_first=True)
        self.mu, self.logvar, self.out = nn.Linear(8, 2), nn.Linear(8, 2), nn.Linear(2, 3)

    def encode(self, x: Tensor) -> Any:
        h = self.rnn(x)[0]
        return self.mu(h), self.logvar(h)

    def decode(self, z: Tensor) -> Tensor:
        return self.out(z)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(noised(mu, logvar)), mu, logvar


class Fields(nn.Module):
    """Physical fields of five channels, (n, 5, 6, 6), in units of its own; latents (n, 2, 3, 3)."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(5, 4, 2, 2), nn.ConvTranspose2d(2, 5, 2, 2)

    def encode(self, x: Tensor) -> Any:
        return self.down(x / 30.0).chunk(2, 1)

    def decode(self, z: Tensor) -> Tensor:
        return 30.0 * self.up(z)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(noised(mu, logvar)), mu, logvar


PHYSICS = waves(36, 5, 30.0).transpose(1, 2).reshape(ROWS, 5, 6, 6).contiguous()
SERIES = waves(12, 3)


def _std(model: Any) -> tuple[Tensor, Tensor]:
    mu, std = model.encoder(torch.from_numpy(_table().to_numpy(np.float32)))
    return mu, std.square()


def _halves(model: Any) -> tuple[Tensor, Tensor]:
    return heads(model.encode(SHARES).chunk(2, 1))


def _photo(name: str, channels: int) -> Field:
    x = _photos(channels)
    return Field(f"standardised/{name}", lambda: Photos(channels), lambda m: heads(m.encode(x)),
                 lambda m, z: squares(m.decode(z), x),
                 lambda m: {"model": m, "data": x})  # fmt: skip


FIELDS = (
    Field("video/frames", Frames, lambda m: heads(m.encode(VIDEO)),
          lambda m, z: squares(m.decode(z), VIDEO), lambda m: {"model": m, "data": VIDEO}),
    Field("video/clips", Clips, lambda m: heads(m.encode(CLIPS.transpose(1, 2))),
          lambda m, z: squares(m.decode(z), CLIPS.transpose(1, 2)),
          lambda m: {"model": m, "data": CLIPS.numpy()}, scored=False),
    _photo("colour", 3),
    _photo("grey", 1),
    Field("table/standardised", Table, _std,
          lambda m, z: squares(m.decoder(z), torch.from_numpy(_table().to_numpy(np.float32))),
          lambda m: {"model": m, "data": _table()}),
    Field("table/shares", Shares, _halves, lambda m, z: squares(m.decode(z), SHARES),
          lambda m: {"model": m, "data": SHARES}, beta=0.02),
    Field("maps/temporal", Temporal, lambda m: heads(m.encode(SERIES.transpose(1, 2))),
          lambda m, z: squares(m.decode(z), SERIES.transpose(1, 2)),
          lambda m: {"model": m, "data": SERIES.transpose(1, 2)}, scored=False),
    Field("maps/steps", Steps, lambda m: tuple(p.movedim(-1, 1) for p in heads(m.encode(SERIES))),
          lambda m, z: squares(m.decode(z.movedim(1, -1)), SERIES),
          lambda m: {"model": m, "data": SERIES}, scored=False),
    Field("maps/physics", Fields, lambda m: heads(m.encode(PHYSICS)),
          lambda m, z: squares(m.decode(z), PHYSICS), lambda m: {"model": m, "data": PHYSICS},
          beta=90.0, scored=False),
)  # fmt: skip
