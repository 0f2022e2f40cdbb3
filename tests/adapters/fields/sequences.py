"""Audio, sensors, models that take time first, tokens, and sequences of several lengths."""

from typing import Any

import torch
from tests.adapters.fields.field import (
    HALF_LOG_PI,
    ROWS,
    Field,
    crosses,
    heads,
    noised,
    squares,
    tokens,
    waves,
)
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

__all__ = ["FIELDS"]


class Waveform(nn.Module):
    """Audio (n, 1, t) that never reaches 1, by convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv1d(1, 8, 8, 4), nn.ReLU(), nn.Flatten())
        self.fc_mu, self.fc_logvar = nn.Linear(56, 4), nn.Linear(56, 4)
        self.up = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 32))

    def encode(self, x: Tensor) -> Any:
        h = self.down(x)
        return self.fc_mu(h), self.fc_logvar(h)

    def decode(self, z: Tensor) -> Tensor:
        return self.up(z).unsqueeze(1)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(noised(mu, logvar)), mu, logvar


class FlatAudio(nn.Module):
    """Audio (n, t) in (-1, 1), a dictionary out of the encoder, tanh at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 32), nn.Tanh())

    def encode(self, audio: Tensor) -> Any:
        mean, log_var = self.encoder(audio).chunk(2, -1)
        return {"mean": mean, "log_var": log_var}

    def decode(self, z: Tensor) -> Tensor:
        return self.decoder(z)


class Recurrent(nn.Module):
    """Sensors (n, t, c) by recurrent networks; `first` says whether time comes first."""

    def __init__(self, time_first: bool = False) -> None:
        super().__init__()
        self.first = time_first
        self.rnn = nn.GRU(3, 16, batch_first=not time_first)
        self.mu, self.sigma = nn.Linear(16, 4), nn.Linear(16, 4)
        self.back = nn.GRU(4, 16, batch_first=not time_first)
        self.out = nn.Linear(16, 3)

    def encode(self, x: Tensor) -> Any:
        h = self.rnn(x)[1][-1]
        return self.mu(h), self.sigma(h)

    def decode(self, z: Tensor) -> Tensor:
        axis = 0 if self.first else 1
        steps = z.unsqueeze(axis).expand(*((12, -1, -1) if self.first else (-1, 12, -1)))
        return self.out(self.back(steps)[0])

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(noised(mu, logvar)), mu, logvar


class TimeFirstForward(Recurrent):
    """Time first, and a whole pass only."""

    def __init__(self) -> None:
        super().__init__(time_first=True)

    def forward(self, x: Tensor) -> Any:
        h = self.rnn(x)[1][-1]
        mu, log_std = self.mu(h), self.sigma(h)
        z = mu + torch.randn_like(mu) * log_std.exp()
        return self.out(self.back(z.unsqueeze(0).expand(12, -1, -1))[0])


TimeFirstForward.encode = None  # type: ignore[assignment]
TimeFirstForward.decode = None  # type: ignore[assignment]


class SensorConv(nn.Module):
    """Takes (n, c, t); its user has (n, t, c)."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv1d(3, 8, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 8))
        self.up = nn.Linear(4, 36)

    def encode(self, x: Tensor) -> Any:
        mean, log_var = self.down(x).chunk(2, 1)
        return torch.distributions.Normal(mean, (0.5 * log_var).exp())

    def decode(self, z: Tensor) -> Tensor:
        return self.up(z).view(-1, 3, 12)


class Strings(nn.Module):
    """A recurrent VAE over strings whose decoder sees the characters before."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 8)
        self.rnn, self.heads = nn.GRU(8, 16, batch_first=True), nn.Linear(16, 8)
        self.back, self.out = nn.GRU(8 + 4, 16, batch_first=True), nn.Linear(16, 7)

    def encode(self, smiles: Tensor) -> Any:
        return self.heads(self.rnn(self.embed(smiles))[1][-1]).chunk(2, -1)

    def decode(self, z: Tensor, smiles: Tensor) -> Tensor:
        before = torch.cat([torch.zeros_like(smiles[:, :1]), smiles[:, :-1]], 1)
        latent = z.unsqueeze(1).expand(-1, before.shape[1], -1)
        return self.out(self.back(torch.cat([self.embed(before), latent], -1))[0])

    def forward(self, smiles: Tensor) -> Any:
        mu, logvar = self.encode(smiles)
        return self.decode(noised(mu, logvar), smiles), mu, logvar


class BagOfWords(nn.Module):
    """Tokens in, log-probabilities of all places at once out."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.mu, self.logvar = nn.Linear(36, 4), nn.Linear(36, 4)
        self.words = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 63))

    def encode(self, text: Tensor) -> Any:
        h = self.embed(text).flatten(1)
        return self.mu(h), self.logvar(h)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return noised(mu, logvar)

    def decode(self, z: Tensor) -> Tensor:
        return self.words(z).view(-1, 9, 7).log_softmax(-1)


LENGTHS = 4 + torch.arange(ROWS) * 5 % 9


class Packed(Recurrent):
    """Padded sequences, packed by their lengths, the longest first."""

    def encode(self, x: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True)
        h = self.rnn(packed)[1][-1]
        return self.mu(h), self.sigma(h)

    def forward(self, x: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
        mu, logvar = self.encode(x, lengths)
        return self.decode(noised(mu, logvar)), mu, logvar


class PaddedWords(BagOfWords):
    """Strings with lengths: what comes after the end is masked."""

    def encode(self, text: Tensor, seq_len: Tensor) -> Any:  # type: ignore[override]
        mask = torch.arange(9) < seq_len[:, None]
        h = (self.embed(text) * mask[..., None]).flatten(1)
        return self.mu(h), self.logvar(h)


def _sorted(model: Any) -> tuple[Tensor, Tensor]:
    order = LENGTHS.argsort(descending=True, stable=True)
    mean, logvar = model.encode(waves(12, 3, 2.0)[order], LENGTHS[order])
    back = order.argsort()
    return mean[back], logvar[back].exp()


def _mask(steps: int) -> Tensor:
    return torch.arange(steps) < LENGTHS[:, None]


def _named(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    found = model.encode(x)
    return found["mean"], found["log_var"].exp()


def _forward_only(model: Any) -> tuple[Tensor, Tensor]:
    h = model.rnn(waves(12, 3, 2.0).transpose(0, 1))[1][-1]
    return model.mu(h), (2 * model.sigma(h)).exp()


def _forward_nats(model: Any, z: Tensor) -> Tensor:
    y = model.out(model.back(z.unsqueeze(0).expand(12, -1, -1))[0])
    return squares(y.transpose(0, 1), waves(12, 3, 2.0))


def _normal(model: Any) -> tuple[Tensor, Tensor]:
    q = model.encode(waves(12, 3).transpose(1, 2))
    return q.mean, q.variance


def _padded_nats(model: Any, z: Tensor) -> Tensor:
    each = (model.decode(z) - waves(12, 3, 2.0)).square().add(0.5723649429247001).sum(-1)
    return (each * _mask(12)).sum(1)


def _padded_words(model: Any, z: Tensor) -> Tensor:
    each = -model.decode(z).gather(-1, tokens()[..., None])[..., 0]
    return (each * _mask(9)).sum(1)


MASK = (torch.rand(ROWS, 12, 3, generator=torch.Generator().manual_seed(6)) > 0.25).float()


class Masked(nn.Module):
    """Sensors with gaps that a mask tells; its own loss leaves them out."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.dec = nn.Linear(72, 8), nn.Linear(4, 36)

    def encode(self, x: Tensor, mask: Tensor) -> Any:
        return self.enc(torch.cat([x * mask, mask], 1).flatten(1)).chunk(2, 1)

    def decode(self, z: Tensor) -> Tensor:
        return self.dec(z).view(-1, 12, 3)

    def forward(self, x: Tensor, mask: Tensor) -> Any:
        mu, logvar = self.encode(x, mask)
        return self.decode(noised(mu, logvar)), mu, logvar

    def compute_loss(self, x: Tensor, mask: Tensor) -> Tensor:
        y, mu, logvar = self(x, mask)
        rate = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum()
        return ((y - x).square() * mask).sum() + rate


def _masked_nats(model: Any, z: Tensor) -> Tensor:
    each = (model.decode(z) - waves(12, 3, 2.0)).square() + HALF_LOG_PI
    return (each * MASK).flatten(1).sum(1)


AUDIO = waves(32, 1, 0.5).transpose(1, 2)

FIELDS = (
    Field("audio/waveform", Waveform, lambda m: heads(m.encode(AUDIO)),
          lambda m, z: squares(m.decode(z), AUDIO), lambda m: {"model": m, "data": AUDIO}),
    Field("audio/flat", FlatAudio, lambda m: _named(m, AUDIO[:, 0]),
          lambda m, z: squares(m.decode(z), AUDIO[:, 0]),
          lambda m: {"model": m, "data": AUDIO[:, 0].numpy()}),
    Field("sensors/recurrent", Recurrent, lambda m: heads(m.encode(waves(12, 3, 2.0))),
          lambda m, z: squares(m.decode(z), waves(12, 3, 2.0)),
          lambda m: {"model": m, "data": waves(12, 3, 2.0)}),
    Field("sensors/convolutions", SensorConv, _normal,
          lambda m, z: squares(m.decode(z).transpose(1, 2), waves(12, 3)),
          lambda m: {"model": m, "data": waves(12, 3)}),
    Field("time first/recurrent", lambda: Recurrent(True),
          lambda m: heads(m.encode(waves(12, 3, 2.0).transpose(0, 1))),
          lambda m, z: squares(m.decode(z).transpose(0, 1), waves(12, 3, 2.0)),
          lambda m: {"model": m, "data": waves(12, 3, 2.0)}),
    Field("time first/forward only", TimeFirstForward, _forward_only, _forward_nats,
          lambda m: {"model": m, "data": waves(12, 3, 2.0)}),
    Field("tokens/recurrent", Strings, lambda m: heads(m.encode(tokens())),
          lambda m, z: crosses(m.decode(z, tokens()), tokens()),
          lambda m: {"model": m, "data": tokens()}, beta=0.3),
    Field("tokens/bag of words", BagOfWords, lambda m: heads(m.encode(tokens())),
          lambda m, z: crosses(m.decode(z), tokens()),
          lambda m: {"model": m, "data": tokens().numpy()}, beta=0.3),
    Field("lengths/packed", Packed, _sorted, _padded_nats,
          lambda m: {"model": m, "data": waves(12, 3, 2.0)},
          {"lengths": lambda m: LENGTHS}),
    Field("lengths/masked", PaddedWords, lambda m: heads(m.encode(tokens(), LENGTHS.clamp(max=9))),
          _padded_words, lambda m: {"model": m, "data": tokens(), "lengths": LENGTHS.clamp(max=9)},
          beta=0.3),
    Field("lengths/mask", Masked, lambda m: heads(m.encode(waves(12, 3, 2.0), MASK)), _masked_nats,
          lambda m: {"model": m, "data": waves(12, 3, 2.0), "condition": MASK}),
)  # fmt: skip
