"""Theorem 1, Corollaries 1 and 2 of mathieu2019 on random networks: a beta-VAE is a rescaled VAE
with an entropy bonus."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch import distributions as td

from vaescope.distributions import DiagonalGaussian, FullGaussian
from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.entropy import EntropyVAE, gaussian_entropy
from vaescope.priors import StandardNormal
from vaescope.schedules import Constant
from vaescope.vae import VAE, Decoder, Encoder, Prior

D = 3


def log_f(beta: float) -> float:
    """log of the integral of p(z)^beta for p = N(0, I)."""
    return 0.5 * D * (1.0 - beta) * math.log(2.0 * math.pi) - 0.5 * D * math.log(beta)


class Annealed(Prior):
    """f_beta = p^beta / F_beta = N(0, I / beta)."""

    def __init__(self, beta: float) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, u: Tensor | None = None) -> DiagonalGaussian:
        zero = torch.zeros(1, D, dtype=torch.float64)
        return DiagonalGaussian(zero, zero - math.log(self.beta))


class Scaled(nn.Module):
    """A posterior whose means and standard deviations are `factor` times another's."""

    def __init__(self, posterior: nn.Module, factor: float) -> None:
        super().__init__()
        self.posterior, self.factor = posterior, factor

    def forward(self, features: Tensor) -> DiagonalGaussian | FullGaussian:
        q = self.posterior(features)
        if isinstance(q, FullGaussian):
            return FullGaussian(self.factor * q.loc, self.factor * q.scale_tril)
        return DiagonalGaussian(self.factor * q.loc, q.log_variance + 2 * math.log(self.factor))


class Shrunk(nn.Module):
    def __init__(self, body: nn.Module, factor: float) -> None:
        super().__init__()
        self.body, self.factor = body, factor

    def forward(self, z: Tensor) -> Tensor:
        return self.body(z / self.factor)


def rescaled(vae: VAE, beta: float) -> VAE:
    """theta', phi' of Corollary 1; it shares the parameters of `vae`."""
    root = math.sqrt(beta)
    encoder = Encoder(vae.encoder.body, Scaled(vae.encoder.posterior, root))
    decoder = Decoder(Shrunk(vae.decoder.body, root), vae.decoder.likelihood)
    return VAE(encoder, decoder, StandardNormal(D)).double()


@pytest.mark.parametrize("posterior", ["diagonal", "full"])
def test_the_entropy_is_torchs(posterior: str, make_case: Callable[..., Any]) -> None:
    case = make_case(posterior)
    q = case.vae.encoder(case.batch.x)
    if isinstance(q, FullGaussian):
        theirs = td.MultivariateNormal(q.loc, scale_tril=q.scale_tril)
    else:
        theirs = td.Independent(td.Normal(q.loc, q.variance.sqrt()), 1)
    torch.testing.assert_close(gaussian_entropy(q), theirs.entropy())


def test_beta_one_is_the_elbo(make_case: Callable[..., Any]) -> None:
    case = make_case()
    loss = case(EntropyVAE(Constant(1.0))).loss
    torch.testing.assert_close(loss, case(BetaVAE()).loss, atol=1e-5, rtol=0)


def test_beta_weighs_half_the_log_determinant(make_case: Callable[..., Any]) -> None:
    case = make_case("full")
    extra = case(EntropyVAE(Constant(5.0))).loss - case(BetaVAE()).loss
    log_det = torch.logdet(case.vae.encoder(case.batch.x).covariance).mean()
    torch.testing.assert_close(extra, -(5.0 - 1.0) / 2.0 * log_det)


@pytest.mark.parametrize("posterior", ["diagonal", "full"])
@pytest.mark.parametrize("beta", [0.25, 4.0, 16.0])
def test_theorem_1(beta: float, posterior: str, make_case: Callable[..., Any]) -> None:
    """L_beta(x) = L(x; p(x|z) f_beta(z)) + (beta - 1) H + log F_beta."""
    case = make_case(posterior)
    left = -case(BetaVAE(Constant(beta))).loss
    entropy = gaussian_entropy(case.vae.encoder(case.batch.x)).mean()
    case.vae.prior = Annealed(beta)
    right = -case(BetaVAE()).loss + (beta - 1.0) * entropy + log_f(beta)
    torch.testing.assert_close(left, right, atol=1e-5, rtol=0)


@pytest.mark.parametrize("posterior", ["diagonal", "full"])
@pytest.mark.parametrize("beta", [0.25, 4.0, 16.0])
def test_corollary_1(beta: float, posterior: str, make_case: Callable[..., Any]) -> None:
    """L_beta(theta, phi) = L_{H,beta}(theta', phi') + c."""
    case = make_case(posterior)
    left = -case(BetaVAE(Constant(beta))).loss
    other = rescaled(case.vae, beta)
    terms = EntropyVAE(Constant(beta))(other, case.batch, case.step, case.noise)
    c = 0.5 * D * (beta - 1.0) * (1.0 + math.log(2.0 * math.pi / beta)) + log_f(beta)
    torch.testing.assert_close(left, -terms.loss + c, atol=1e-5, rtol=0)


def test_corollary_2_the_gradients_are_the_same(make_case: Callable[..., Any]) -> None:
    case, beta = make_case(), 4.0
    parameters = list(case.vae.parameters())
    ours = torch.autograd.grad(case(BetaVAE(Constant(beta))).loss, parameters)
    other = rescaled(case.vae, beta)
    terms = EntropyVAE(Constant(beta))(other, case.batch, case.step, case.noise)
    theirs = torch.autograd.grad(terms.loss, parameters)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)
