"""The layers that many styles share, and their truth."""

from typing import Any

import torch
from tests.adapters.corpus.style import LATENTS
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Layers", "logvar_truth", "probabilities", "reparameterise"]

HIDDEN = 48


class Layers(nn.Module):
    """64 pixels -> 48 units -> heads of 6 latents -> 48 units -> 64 pixels."""

    def __init__(self, pixels: int = 64, latents: int = LATENTS) -> None:
        super().__init__()
        self.fc1 = nn.Linear(pixels, HIDDEN)
        self.fc_mu = nn.Linear(HIDDEN, latents)
        self.fc_var = nn.Linear(HIDDEN, latents)
        self.fc3 = nn.Linear(latents, HIDDEN)
        self.fc4 = nn.Linear(HIDDEN, pixels)

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = F.relu(self.fc1(x.flatten(1)))
        return self.fc_mu(h), self.fc_var(h)

    def _drawn(self, z: Tensor) -> Tensor:
        return self.fc4(F.relu(self.fc3(z)))

    def decode(self, z: Tensor) -> Any:
        return torch.sigmoid(self._drawn(z)).view(-1, 1, 8, 8)


def reparameterise(mu: Tensor, logvar: Tensor) -> Tensor:
    return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)


def logvar_truth(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of classes whose second head gives log variances."""
    mu, logvar = model._heads(x)
    return mu, logvar.exp()


def probabilities(model: Any, z: Tensor) -> Tensor:
    return torch.sigmoid(model._drawn(z)).view(-1, 1, 8, 8)
