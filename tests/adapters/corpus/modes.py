"""Labels, dropout, batch norm, precision: what changes codes from call to call."""

from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.style import LATENTS, Style, labels, one_hot
from torch import Tensor, nn

__all__ = ["STYLES"]


class Conditional(nn.Module):
    """One-hot labels go into encoder and decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(74, 48)
        self.fc_mu, self.fc_var = nn.Linear(48, LATENTS), nn.Linear(48, LATENTS)
        self.fc3, self.fc4 = nn.Linear(LATENTS + 10, 48), nn.Linear(48, 64)

    def encode(self, x: Tensor, c: Tensor) -> Any:
        h = torch.relu(self.fc1(torch.cat([x.flatten(1), c], dim=1)))
        return self.fc_mu(h), self.fc_var(h)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)

    def decode(self, z: Tensor, c: Tensor) -> Tensor:
        h = torch.relu(self.fc3(torch.cat([z, c], dim=1)))
        return torch.sigmoid(self.fc4(h)).view(-1, 1, 8, 8)

    def forward(self, x: Tensor, c: Tensor) -> Any:
        mu, logvar = self.encode(x, c)
        return self.decode(self.reparameterize(mu, logvar), c), mu, logvar


class ConditionalDecoder(Conditional):
    """Labels go into the decoder only."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(64, 48)

    def encode(self, x: Tensor) -> Any:
        h = torch.relu(self.fc1(x.flatten(1)))
        return self.fc_mu(h), self.fc_var(h)

    def forward(self, x: Tensor, c: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar), c), mu, logvar


class LabelsBesideLatents(Conditional):
    """Forward puts labels before latents; the decoder takes both as one argument."""

    def decode(self, both: Tensor) -> Tensor:  # type: ignore[override]
        return torch.sigmoid(self.fc4(torch.relu(self.fc3(both)))).view(-1, 1, 8, 8)

    def forward(self, x: Tensor, c: Tensor) -> Any:
        mu, logvar = self.encode(x, c)
        return self.decode(torch.cat([c, self.reparameterize(mu, logvar)], dim=1)), mu, logvar


class NumberedLabels(Conditional):
    """Labels are whole numbers, made one-hot inside."""

    def encode(self, x: Tensor, y: Tensor) -> Any:
        return Conditional.encode(self, x, one_hot(y))

    def decode(self, z: Tensor, y: Tensor) -> Tensor:
        return Conditional.decode(self, z, one_hot(y))

    def forward(self, x: Tensor, y: Tensor) -> Any:
        mu, logvar = self.encode(x, y)
        return self.decode(self.reparameterize(mu, logvar), y), mu, logvar


def _conditioned(model: Any, x: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    h = torch.relu(model.fc1(torch.cat([x.flatten(1), c], dim=1)))
    return model.fc_mu(h), model.fc_var(h).exp()


def _unconditioned(model: Any, x: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
    h = torch.relu(model.fc1(x.flatten(1)))
    return model.fc_mu(h), model.fc_var(h).exp()


def _conditional_output(model: Any, z: Tensor, c: Tensor) -> Tensor:
    h = torch.relu(model.fc3(torch.cat([z, c], dim=1)))
    return torch.sigmoid(model.fc4(h)).view(-1, 1, 8, 8)


def _of_both(model: Any, z: Tensor, c: Tensor) -> Tensor:
    h = torch.relu(model.fc3(torch.cat([c, z], dim=1)))
    return torch.sigmoid(model.fc4(h)).view(-1, 1, 8, 8)


class Dropout(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.2))
        self.fc_mu, self.fc_logvar = nn.Linear(48, LATENTS), nn.Linear(48, LATENTS)
        self.back = nn.Sequential(nn.Linear(LATENTS, 48), nn.ReLU(), nn.Dropout(0.1),
                                  nn.Linear(48, 64), nn.Sigmoid())  # fmt: skip

    def encode(self, x: Tensor) -> Any:
        h = self.body(x)
        return self.fc_mu(h), self.fc_logvar(h)

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z).view(-1, 1, 8, 8)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class BatchNorm(Dropout):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 48), nn.BatchNorm1d(48), nn.LeakyReLU(0.2)
        )
        self.back = nn.Sequential(nn.Linear(LATENTS, 48), nn.BatchNorm1d(48), nn.ReLU(),
                                  nn.Linear(48, 64), nn.Sigmoid())  # fmt: skip


def _body(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.body(x)
    return model.fc_mu(h), model.fc_logvar(h).exp()


def _bodys_output(model: Any, z: Tensor) -> Tensor:
    return model.back(z).view(-1, 1, 8, 8)


class Double(Layers):
    def __init__(self) -> None:
        super().__init__()
        self.double()

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


PAIR = {"posterior": ("logvar", "pair,logvar")}


def _hot() -> Any:
    return one_hot(labels()).numpy()


STYLES = (
    Style("modes/labels, one-hot, in both", Conditional, _conditioned, _conditional_output,
          conditional=True, answers={**PAIR, "condition": (lambda _: _hot(),)}),
    Style("modes/labels in the decoder", ConditionalDecoder, _unconditioned, _conditional_output,
          conditional=True, answers={**PAIR, "condition": (lambda _: _hot(),)}),
    Style("modes/labels beside latents", LabelsBesideLatents, _conditioned, _of_both,
          conditional=True, answers={**PAIR, "condition": (lambda _: _hot(),)}),
    Style("modes/labels as numbers", NumberedLabels, _conditioned, _conditional_output,
          conditional=True, answers={**PAIR, "condition": (lambda _: labels().numpy(),)}),
    Style("modes/dropout", Dropout, _body, _bodys_output, answers=PAIR),
    Style("modes/batch norm", BatchNorm, _body, _bodys_output, answers=PAIR),
    Style("modes/double", Double, logvar_truth, probabilities, answers=PAIR),
)  # fmt: skip
