"""What only a whole output, a name, or the owner states: losses of outputs, flows as priors,
several outputs for each pixel, weights that change in training."""

from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.style import LATENTS, Style
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F
from torch.nn.utils import parametrizations

__all__ = ["STYLES"]


class _Pair(Layers):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class CriterionOfOutputs(_Pair):
    """A loss of all that forward returns, with the KL to N(0, 1/4)."""

    def criterion(self, outputs: Any, x: Tensor) -> Tensor:
        recon, mu, logvar = outputs
        nats = F.binary_cross_entropy(recon, x, reduction="none").flatten(1).sum(1)
        kl = 0.5 * ((logvar.exp() + mu**2) / 0.25 - 1 - logvar + torch.log(torch.tensor(0.25)))
        return (nats + kl.sum(1)).mean()


class LossInOrder(_Pair):
    """A loss of the data and of what forward returns, in its order and under other names, with the
    KL to N(0, 1/4)."""

    def loss_of(self, x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        nats = (a - x).square().flatten(1).sum(1)
        kl = 0.5 * ((c.exp() + b**2) / 0.25 - 1 - c + torch.log(torch.tensor(0.25)))
        return (nats + kl.sum(1)).mean()


class Spectral(_Pair):
    """Spectral norm, whose weights change with every call in training."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = parametrizations.spectral_norm(self.fc1)
        self.fc_mu = parametrizations.spectral_norm(self.fc_mu)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class Couplings(_Pair):
    """Two affine couplings as the prior, under a name that says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.bijector = nn.ModuleList([nn.Linear(3, 6), nn.Linear(3, 6)])

    def _moved(self, place: int, z: Tensor, *, back: bool) -> tuple[Tensor, Tensor]:
        first, second = z.chunk(2, dim=1)
        shift, scale = self.bijector[place](first).chunk(2, dim=1)
        scale = torch.tanh(scale)
        second = (second - shift) * (-scale).exp() if back else second * scale.exp() + shift
        return torch.cat([second, first], 1), scale.sum(1)

    def log_density(self, z: Tensor) -> Tensor:
        total = torch.zeros(len(z))
        for place in (0, 1):
            z, scale = self._moved(place, z, back=True)
            total = total - scale
        return td.Normal(0.0, 1.0).log_prob(z).sum(1) + total

    def draws(self, n: int) -> Tensor:
        z = torch.randn(n, LATENTS)
        for place in (1, 0):
            z = torch.cat(z.chunk(2, dim=1)[::-1], 1)  # undoes the exchange at the end
            z = torch.cat(self._moved(place, z, back=False)[0].chunk(2, dim=1)[::-1], 1)
        return z


class NamedOutputs(Layers):
    """Means and something else for each pixel, by names of which one is no spread's."""

    def __init__(self) -> None:
        super().__init__()
        self.fc_gate = nn.Linear(48, 64)

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def decode(self, z: Tensor) -> Any:
        h = F.relu(self.fc3(z))
        return {"mu": torch.sigmoid(self.fc4(h)), "gate": self.fc_gate(h)}

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


def _quarter(_: Any) -> tuple[Tensor, Tensor]:
    return torch.zeros(LATENTS), torch.full((LATENTS,), 0.25)


PAIR = {"posterior": ("logvar", "pair,logvar")}

STYLES = (
    Style("stated/loss of all outputs", CriterionOfOutputs, logvar_truth, probabilities,
          gaussian_prior=_quarter, answers=PAIR),
    Style("stated/loss in forward's order", LossInOrder, logvar_truth, probabilities,
          "squared-error", gaussian_prior=_quarter, answers=PAIR),
    Style("stated/spectral norm", Spectral, logvar_truth, probabilities, answers=PAIR),
    Style("stated/couplings as prior", Couplings, logvar_truth, probabilities,
          log_prior=lambda m, z: m.log_density(z),
          answers={**PAIR, "prior": (lambda m: (m.log_density, m.draws),)}),
    Style("stated/outputs by other names", NamedOutputs, logvar_truth, probabilities,
          answers={**PAIR, "likelihood": ("bernoulli",)}),
)  # fmt: skip
