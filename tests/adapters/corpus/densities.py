"""Losses that are densities, whose constants say the scale; passes without encode or decode whose
parts are distributions; what follows the draws before they are decoded."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.style import LATENTS, Style, mlp
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

__all__ = ["STYLES"]


class _Pair(Layers):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)


class DensityInLoss(_Pair):
    """A loss of reconstructions, its KL inside: log N(x; y, 0.1)."""

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar

    def loss(self, recon: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        nats = -td.Normal(recon, 0.1).log_prob(x).sum()
        return (nats - 0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()) / len(x)


@dataclass
class Losses:
    loss: Tensor
    x_hat: Tensor
    nll: Tensor
    kl: Tensor


class DensityInForward(_Pair):
    """A variance with an epsilon, and a dataclass of losses, a Laplace's among them."""

    def encode(self, x: Tensor, eps: float = 1e-6) -> Any:
        mu, raw = self._heads(x)
        return mu, F.softplus(raw) + eps

    def forward(self, x: Tensor) -> Losses:
        mu, var = self.encode(x)
        q = td.Normal(mu, var.sqrt())
        x_hat = self.decode(q.rsample())
        nll = -td.Laplace(x_hat, 0.1).log_prob(x).flatten(1).sum(1)
        kl = td.kl_divergence(q, td.Normal(torch.zeros_like(mu), torch.ones_like(mu))).sum(-1)
        return Losses((nll + kl).mean(), x_hat, nll.mean(), kl.mean())


class SampledRate(_Pair):
    """loss(x) is one number: a density of variance 0.01, and log q - log p at the draws."""

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return {"recon": self.decode(z), "mu": mu, "logvar": logvar, "z": z}

    def loss(self, x: Tensor) -> Tensor:
        out = self(x)
        variance = torch.full_like(x, 0.01)
        nats = F.gaussian_nll_loss(out["recon"], x, variance, full=True, reduction="sum")
        q = td.Normal(out["mu"], (0.5 * out["logvar"]).exp())
        return nats + (q.log_prob(out["z"]) - td.Normal(0.0, 1.0).log_prob(out["z"])).sum()


class SigmaInLoss(_Pair):
    """A learned scale in the loss alone (sigma-VAE), which neither encoder nor decoder uses."""

    def __init__(self) -> None:
        super().__init__()
        self.log_sigma = nn.Parameter(torch.tensor(-1.5))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar

    def reconstruction_loss(self, recon: Tensor, x: Tensor) -> Tensor:
        log_sigma = -6 + F.softplus(self.log_sigma + 6)
        gap = (x - recon) / log_sigma.exp()
        return (0.5 * gap**2 + log_sigma + 0.5 * math.log(2 * math.pi)).sum()

    def loss_function(self, recon: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Any:
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return self.reconstruction_loss(recon, x), kl


class Programs(nn.Module):
    """Methods q and p, and forward gives their distributions."""

    def __init__(self) -> None:
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), mlp(64, 48, 2 * LATENTS))
        self.dec = mlp(LATENTS, 48, 64)

    def q(self, x: Tensor) -> td.Normal:
        loc, raw = self.enc(x).chunk(2, 1)
        return td.Normal(loc, F.softplus(raw) + 1e-4)

    def p(self, z: Tensor) -> td.Bernoulli:
        return td.Bernoulli(logits=self.dec(z).view(-1, 1, 8, 8), validate_args=False)

    def forward(self, x: Tensor) -> Any:
        q = self.q(x)
        z = q.rsample()
        return self.p(z), q, z


class NormedDraws(Layers):
    """A layer norm between the draws and the decoder: a part of the decoder, or of the latents."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(LATENTS)

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.norm(reparameterise(mu, logvar))), mu, logvar


def _softplus_truth(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    mu, raw = model._heads(x)
    return mu, F.softplus(raw) + 1e-6


def _programs_truth(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    q = model.q(x)
    return q.mean, q.variance


def _sigma_nats(model: Any, y: Tensor, x: Tensor) -> Tensor:
    sigma = (-6 + F.softplus(model.log_sigma + 6)).exp()
    return -td.Normal(y, sigma).log_prob(x).flatten(1).sum(1)


_LOGVAR = {"posterior": ("logvar", "pair,logvar")}

STYLES = (
    Style("densities/Normal in the loss", DensityInLoss, logvar_truth, probabilities,
          "normal:0.1", answers=_LOGVAR),
    Style("densities/Laplace among the losses", DensityInForward, _softplus_truth, probabilities,
          "laplace:0.1", answers={"posterior": ("variance", "pair,variance")}),
    Style("densities/sampled rate", SampledRate, logvar_truth, probabilities, "normal:0.1",
          answers=_LOGVAR),
    Style("densities/sigma in the loss", SigmaInLoss, logvar_truth, probabilities, "own",
          own_nats=_sigma_nats, answers=_LOGVAR),
    Style("densities/q and p", Programs, _programs_truth,
          lambda m, z: m.dec(z).view(-1, 1, 8, 8), "logits"),
    Style("densities/norm after the draws", NormedDraws, logvar_truth,
          lambda m, z: m.decode(m.norm(z)), answers={"posterior": ("drawn",)}),
)  # fmt: skip
