"""Graphs, labels, states with actions, batches of anything, and an angle beside the latents."""

from typing import Any

import torch
from tests.adapters.fields.field import ROWS, Field, heads, noised, squares, waves
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

__all__ = ["FIELDS"]


def _graph() -> tuple[Tensor, Tensor]:
    """Two communities of nodes: features (rows, 5) and a normalised adjacency (rows, rows)."""
    generator = torch.Generator().manual_seed(5)
    side = torch.arange(ROWS) % 2
    chance = torch.where(side[:, None] == side[None], 0.12, 0.02)
    upper = (torch.rand(ROWS, ROWS, generator=generator) < chance).float().triu(1)
    adjacency = upper + upper.T + torch.eye(ROWS)
    root = adjacency.sum(1).rsqrt()
    features = torch.randn(ROWS, 5, generator=generator) + 2.0 * side[:, None]
    return features, root[:, None] * adjacency * root[None]


FEATURES, ADJACENCY = _graph()


class Graph(nn.Module):
    """A graph autoencoder whose batch is a dictionary; a latent of each node."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.mu, self.logstd = nn.Linear(5, 8), nn.Linear(8, 3), nn.Linear(8, 3)

    def encode(self, x: Tensor, adj: Tensor) -> Any:
        h = torch.relu(adj @ self.hidden(x))
        return adj @ self.mu(h), adj @ self.logstd(h)

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        mu, logstd = self.encode(x, adj)
        z = mu + torch.randn_like(mu) * logstd.exp()
        return z @ z.T

    def reparameterize(self, mu: Tensor, logstd: Tensor) -> Tensor:
        return mu + torch.randn_like(mu) * logstd.exp()


class Molecule:
    """What a loader of graphs gives, with the names of fields that encoders have."""

    def __init__(self, x: Tensor, adj: Tensor) -> None:
        self.x, self.adj, self.num_nodes = x, adj, len(x)


class Loss(Graph):
    """forward returns a loss alone, as many Lightning modules do."""

    def encode(self, batch: Any) -> Any:  # type: ignore[override]
        h = torch.relu(batch.adj @ self.hidden(batch.x))
        return torch.distributions.Normal(
            batch.adj @ self.mu(h), (batch.adj @ self.logstd(h)).exp()
        )

    def forward(self, batch: Any) -> Tensor:  # type: ignore[override]
        q = self.encode(batch)
        z = q.rsample()
        return F.binary_cross_entropy_with_logits(z @ z.T, (batch.adj > 0).float())


def _edges(_: Any, z: Tensor) -> Tensor:
    logits = z @ z.T
    wanted = (ADJACENCY > 0).float()
    return F.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(1)


def _stds(model: Any) -> tuple[Tensor, Tensor]:
    mu, logstd = model.encode(FEATURES, ADJACENCY)
    return mu, (2 * logstd).exp()


def _normal(model: Any) -> tuple[Tensor, Tensor]:
    q = model.encode(Molecule(FEATURES, ADJACENCY))
    return q.mean, q.variance


LABELS = torch.arange(ROWS) % 3
VALUES = waves(10, 1)[..., 0] + LABELS[:, None]


class Labelled(nn.Module):
    """Encoder and decoder get one-hot labels."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.dec = nn.Linear(13, 8), nn.Linear(4 + 3, 10)

    def encode(self, x: Tensor, y: Tensor) -> Any:
        return self.enc(torch.cat([x, y], 1)).chunk(2, 1)

    def decode(self, z: Tensor, y: Tensor) -> Tensor:
        return self.dec(torch.cat([z, y], 1))

    def forward(self, x: Tensor, y: Tensor) -> Any:
        mu, logvar = self.encode(x, y)
        return self.decode(noised(mu, logvar), y), mu, logvar


class Embedded(nn.Module):
    """Labels as numbers, which an embedding takes; from a loader of (x, label). Its encoder and
    decoder work without them too, and are not the whole model."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(3, 10)
        self.encoder, self.decoder = nn.Linear(10, 8), nn.Linear(4, 10)

    def encode(self, x: Tensor, label: Tensor) -> Any:
        return self.encoder(x - self.embed(label)).chunk(2, 1)

    def decode(self, z: Tensor, label: Tensor) -> Tensor:
        return self.decoder(z) + self.embed(label)

    def forward(self, x: Tensor, label: Tensor) -> Any:
        mu, logvar = self.encode(x, label)
        return self.decode(noised(mu, logvar), label), mu, logvar


STATES, ACTIONS = waves(5, 1)[..., 0], waves(8, 1, 0.7)[:, 5:, 0]


class Offline(nn.Module):
    """The VAE of offline reinforcement learning: actions given states, states first."""

    def __init__(self) -> None:
        super().__init__()
        self.e1, self.mean, self.log_std = nn.Linear(8, 24), nn.Linear(24, 2), nn.Linear(24, 2)
        self.d1, self.d2 = nn.Linear(7, 24), nn.Linear(24, 3)

    def encode(self, state: Tensor, action: Tensor) -> Any:
        h = F.relu(self.e1(torch.cat([state, action], 1)))
        return self.mean(h), self.log_std(h).clamp(-4, 15).exp()

    def decode(self, state: Tensor, z: Tensor) -> Tensor:
        return torch.tanh(self.d2(F.relu(self.d1(torch.cat([state, z], 1)))))

    def forward(self, state: Tensor, action: Tensor) -> Any:
        mean, std = self.encode(state, action)
        z = mean + std * torch.randn_like(std)
        return self.decode(state, z), mean, std


class Skills(nn.Module):
    """Actions first, states beside, from a loader of dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.dec = nn.Linear(8, 4), nn.Linear(7, 3)

    def encode(self, action: Tensor, obs: Tensor) -> Any:
        return self.enc(torch.cat([action, obs], 1)).chunk(2, 1)

    def decode(self, z: Tensor, obs: Tensor) -> Tensor:
        return self.dec(torch.cat([z, obs], 1))

    def forward(self, action: Tensor, obs: Tensor) -> Any:
        mu, logvar = self.encode(action, obs)
        return self.decode(noised(mu, logvar), obs), mu, logvar


class Whole(nn.Module):
    """encode takes the batch as the loader gives it: a dictionary of signals and weights."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.dec = nn.Linear(10, 8), nn.Linear(4, 10)

    def encode(self, batch: Any) -> Any:
        mu, logvar = self.enc(batch["signal"] * batch["gain"][:, None]).chunk(2, 1)
        return {"mu": mu, "logvar": logvar}


class Pairs(nn.Module):
    """Batches are tuples that forward takes apart; it returns a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.dec = nn.Linear(11, 8), nn.Linear(4, 10)

    def forward(self, batch: Any) -> Tensor:
        x, gain = batch
        mu, logvar = self.enc(torch.cat([x, gain[:, None]], 1)).chunk(2, 1)
        y = self.dec(noised(mu, logvar))
        return F.mse_loss(y, x) - 0.5 * (1 + logvar - mu.square() - logvar.exp()).mean()


GAIN = 1.0 + torch.arange(ROWS) % 4 / 4


def _dictionaries() -> list[dict[str, Tensor]]:
    return [{"signal": VALUES[i : i + 40], "gain": GAIN[i : i + 40]} for i in range(0, ROWS, 40)]


def _pairs(model: Any) -> tuple[Tensor, Tensor]:
    return heads(model.enc(torch.cat([VALUES, GAIN[:, None]], 1)).chunk(2, 1))


def _whole(model: Any) -> tuple[Tensor, Tensor]:
    return heads(model.enc(VALUES * GAIN[:, None]).chunk(2, 1))


def _square(model: Any) -> tuple[Tensor, Tensor]:
    mean, std = model.encode(STATES, ACTIONS)
    return mean, std.square()


class Angle(nn.Module):
    """A rotation beside the latents, which the decoder does not get."""

    def __init__(self) -> None:
        super().__init__()
        self.enc, self.theta = nn.Linear(10, 8), nn.Linear(10, 1)
        self.dec = nn.Linear(4, 10)

    def encode(self, x: Tensor) -> Any:
        mu, logvar = self.enc(x).chunk(2, 1)
        return mu, logvar, self.theta(x)

    def decode(self, z: Tensor) -> Tensor:
        return self.dec(z)

    def forward(self, x: Tensor) -> Any:
        mu, logvar, theta = self.encode(x)
        return self.decode(noised(mu, logvar)), theta


class Group(Angle):
    """A group element first, by name."""

    def encode(self, x: Tensor) -> Any:
        mu, logvar = self.enc(x).chunk(2, 1)
        return {"angle": self.theta(x), "z_mean": mu, "z_log_var": logvar}

    def forward(self, x: Tensor) -> Any:
        found = self.encode(x)
        return self.decode(noised(found["z_mean"], found["z_log_var"]))


def _loader(*parts: Tensor) -> Any:
    return DataLoader(TensorDataset(*parts), batch_size=50)


def _hot() -> Tensor:
    return F.one_hot(LABELS, 3).float()


FIELDS = (
    Field("graphs/dictionary", Graph, _stds, _edges,
          lambda m: {"model": m, "data": [{"x": FEATURES, "adj": ADJACENCY}]}, scored=False),
    Field("graphs/loss", Loss, _normal, _edges,
          lambda m: {"model": m, "data": Molecule(FEATURES, ADJACENCY)}, scored=False),
    Field("labels/one-hot", Labelled, lambda m: heads(m.encode(VALUES, _hot())),
          lambda m, z: squares(m.decode(z, _hot()), VALUES),
          lambda m: {"model": m, "data": VALUES}, {"condition": lambda m: LABELS}),
    Field("labels/numbers", Embedded, lambda m: heads(m.encode(VALUES, LABELS)),
          lambda m, z: squares(m.decode(z, LABELS), VALUES),
          lambda m: {"model": m, "data": _loader(VALUES, LABELS)}),
    Field("actions/states first", Offline, _square,
          lambda m, z: squares(m.decode(STATES, z), ACTIONS),
          lambda m: {"model": m, "data": ACTIONS}, {"condition": lambda m: STATES}, beta=0.02),
    Field("actions/dictionary", Skills, lambda m: heads(m.encode(ACTIONS, STATES)),
          lambda m, z: squares(m.decode(z, STATES), ACTIONS),
          lambda m: {"model": m, "data": ACTIONS, "condition": STATES}, beta=0.02),
    Field("batches/dictionary", Whole, _whole, lambda m, z: squares(m.dec(z), VALUES),
          lambda m: {"model": m, "data": _dictionaries()}, scored=False),
    Field("batches/tuple", Pairs, _pairs, lambda m, z: squares(m.dec(z), VALUES),
          lambda m: {"model": m, "data": _loader(VALUES, GAIN)}, scored=False),
    Field("beside/angle", Angle, lambda m: heads(m.encode(VALUES)[:2]),
          lambda m, z: squares(m.decode(z), VALUES), lambda m: {"model": m, "data": VALUES}),
    Field("beside/group", Group,
          lambda m: heads((m.encode(VALUES)["z_mean"], m.encode(VALUES)["z_log_var"])),
          lambda m, z: squares(m.decode(z), VALUES), lambda m: {"model": m, "data": VALUES}),
)  # fmt: skip
