"""What decoders give and what losses say: probabilities, logits, squared errors, distributions."""

from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.style import LATENTS, Style
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

__all__ = ["STYLES"]


class _Pair(Layers):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)


class Logits(_Pair):
    def decode(self, z: Tensor) -> Tensor:
        return self._drawn(z).view(-1, 1, 8, 8)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class BernoulliLoss(_Pair):
    """Shows its loss, a binary cross-entropy."""

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar

    def loss_function(self, recon_x: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        bce = F.binary_cross_entropy(recon_x, x, reduction="sum")
        return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


class SquaredLoss(_Pair):
    """Sigmoid at the end, and a loss that shows a sum of squares."""

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar

    def loss_function(self, recon_x: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        mse = F.mse_loss(recon_x, x, reduction="sum")
        return mse - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


class LossFirst(nn.Module):
    """Only forward: the loss first, and a sigmoid behind the part that latents go into."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.ReLU())
        self.loc, self.raw = nn.Linear(48, LATENTS), nn.Linear(48, LATENTS)
        self.net = nn.Sequential(nn.Linear(LATENTS, 48), nn.ReLU(), nn.Linear(48, 64))

    def forward(self, x: Tensor) -> Any:
        h = self.features(x)
        mu, sigma = self.loc(h), F.softplus(self.raw(h)) + 1e-4
        y = torch.sigmoid(self.net(mu + sigma * torch.randn_like(mu))).view(-1, 1, 8, 8)
        kl = (0.5 * (mu**2 + sigma**2 - 1) - sigma.log()).sum(1)
        nats = F.binary_cross_entropy(y, x, reduction="none").flatten(1).sum(1)
        return (nats + kl).mean(), y, kl, (mu, sigma)


def _softplus_truth(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.features(x)
    return model.loc(h), (F.softplus(model.raw(h)) + 1e-4).square()


class HiddenLoss(_Pair):
    """Sigmoid at the end, trained on squares; nothing in the class says so."""

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class MeanSquares(_Pair):
    """A list from forward and a dictionary of losses, mean over pixels with a small KL weight."""

    def encode(self, image: Tensor) -> list[Tensor]:
        return list(self._heads(image))

    def decode(self, z: Tensor) -> Tensor:
        return self._drawn(z).view(-1, 1, 8, 8)

    def forward(self, image: Tensor, **kwargs: Any) -> list[Tensor]:
        mu, log_var = self.encode(image)
        return [self.decode(self.reparameterize(mu, log_var)), image, mu, log_var]

    def loss_function(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        recons, image, mu, log_var = args
        recons_loss = F.mse_loss(recons, image)
        kld = torch.mean(-0.5 * torch.sum(1 + log_var - mu**2 - log_var.exp(), dim=1), dim=0)
        loss = recons_loss + kwargs["M_N"] * kld
        return {"loss": loss, "Reconstruction_Loss": recons_loss.detach(), "KLD": -kld.detach()}


class LearnedSigma(_Pair):
    """One learned noise for all pixels; decode gives the distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.log_sigma = nn.Parameter(torch.tensor(-1.0))

    def decode(self, z: Tensor) -> td.Normal:
        return td.Normal(self._drawn(z).view(-1, 1, 8, 8), self.log_sigma.exp())

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class NormalOfFixedScale(_Pair):
    def decode(self, z: Tensor) -> td.Normal:
        return td.Normal(torch.sigmoid(self._drawn(z)).view(-1, 1, 8, 8), 0.1)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class LaplaceOfFixedScale(_Pair):
    def decode(self, z: Tensor) -> td.Laplace:
        return td.Laplace(torch.sigmoid(self._drawn(z)).view(-1, 1, 8, 8), 0.1)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class BernoulliObject(_Pair):
    def decode(self, z: Tensor) -> td.Bernoulli:
        return td.Bernoulli(logits=self._drawn(z).view(-1, 1, 8, 8))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class IndependentBernoulli(_Pair):
    def decode(self, z: Tensor) -> td.Independent:
        pixels = td.Bernoulli(logits=self._drawn(z).view(-1, 1, 8, 8), validate_args=False)
        return td.Independent(pixels, 3)

    def forward(self, x: Tensor) -> Any:
        q = td.Independent(td.Normal(*self._scaled(x)), 1)
        return self.decode(q.rsample()), q

    def _scaled(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mu, logvar = self._heads(x)
        return mu, (0.5 * logvar).exp()


class ContinuousBernoulliObject(_Pair):
    def decode(self, z: Tensor) -> td.ContinuousBernoulli:
        return td.ContinuousBernoulli(logits=self._drawn(z).view(-1, 1, 8, 8))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class MeanAndLogVariance(_Pair):
    """The decoder gives a mean and a log variance for each pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.fc_noise = nn.Linear(48, 64)

    def decode(self, z: Tensor) -> tuple[Tensor, Tensor]:
        h = F.relu(self.fc3(z))
        mean = torch.sigmoid(self.fc4(h)).view(-1, 1, 8, 8)
        return mean, self.fc_noise(h).view(-1, 1, 8, 8).clamp(-4.0, 2.0)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return *self.decode(self.reparameterize(mu, logvar)), mu, logvar


class Hinted(_Pair):
    """Says in an attribute which of two losses it has."""

    def __init__(self, recon_loss: str) -> None:
        super().__init__()
        self.reconstruction_loss = recon_loss

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        recon = self.decode(self.reparameterize(mu, logvar))
        return recon, mu, logvar, self.loss(recon, x, mu, logvar)

    def loss(self, recon: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        each = F.mse_loss if self.reconstruction_loss == "mse" else F.binary_cross_entropy
        nats = each(recon, x, reduction="none").flatten(1).sum(1)
        return (nats - 0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1)).mean()


def _linear(model: Any, z: Tensor) -> Tensor:
    return model._drawn(z).view(-1, 1, 8, 8)


def _learned_sigma(model: Any, y: Tensor, x: Tensor) -> Tensor:
    return -td.Normal(y, model.log_sigma.exp()).log_prob(x).flatten(1).sum(1)


def _two_heads(model: Any, z: Tensor) -> Tensor:
    h = F.relu(model.fc3(z))
    return torch.cat([model.fc4(h).sigmoid(), model.fc_noise(h).clamp(-4.0, 2.0)], 1)


def _two_headed_nats(_: Any, y: Tensor, x: Tensor) -> Tensor:
    mean, logvar = y.chunk(2, dim=1)
    return -td.Normal(mean, (0.5 * logvar).exp()).log_prob(x.flatten(1)).sum(1)


def _style(name: str, make: Any, output: Any, trained_with: str, **more: Any) -> Style:
    return Style(f"likelihoods/{name}", make, logvar_truth, output, trained_with,
                 **{"answers": {"posterior": ("logvar", "pair,logvar")}, **more})  # fmt: skip


def _of_learned_sigma(model: Any) -> str:
    return f"gaussian:{float(model.log_sigma.exp() ** 2)}"


STYLES = (
    _style("logits", Logits, _linear, "logits"),
    _style("BCE shown", BernoulliLoss, probabilities, "probabilities"),
    Style("likelihoods/loss first", LossFirst, _softplus_truth,
          lambda m, z: torch.sigmoid(m.net(z)).view(-1, 1, 8, 8),
          answers={"posterior": ("std", "pair,std")}),
    _style("squares shown, sigmoid", SquaredLoss, probabilities, "squared-error", beta=0.02),
    _style("squares hidden, sigmoid", HiddenLoss, probabilities, "squared-error", beta=0.02,
           fair=("probabilities",)),
    _style("mean squares, linear", MeanSquares, _linear, "squared-error", beta=0.02),
    _style("learned sigma", LearnedSigma, _linear, "own", own_nats=_learned_sigma,
           answers={"posterior": ("logvar", "pair,logvar"), "likelihood": (_of_learned_sigma,)}),
    _style("Normal(loc, 0.1)", NormalOfFixedScale, probabilities, "normal:0.1"),
    _style("Laplace(loc, 0.1)", LaplaceOfFixedScale, probabilities, "laplace:0.1"),
    _style("Bernoulli", BernoulliObject, _linear, "logits"),
    _style("Independent Bernoulli", IndependentBernoulli, _linear, "logits"),
    _style("ContinuousBernoulli", ContinuousBernoulliObject, _linear, "continuous-bernoulli"),
    _style("mean and log variance", MeanAndLogVariance, _two_heads, "own",
           own_nats=_two_headed_nats, decode=lambda m, z: m.decode(z),
           answers={"posterior": ("logvar", "pair,logvar"), "likelihood": ("gaussian",)}),
    _style("attribute mse", lambda: Hinted("mse"), probabilities, "squared-error", beta=0.02),
    _style("attribute bce", lambda: Hinted("bce"), probabilities, "probabilities"),
)  # fmt: skip
