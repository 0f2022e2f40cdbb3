"""Paper identities that hold of any network: mathieu2019 Theorem 2 and zietlow2022 Proposition
4."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vaescope.distributions import DiagonalGaussian, FullGaussian
from vaescope.objectives.elbo import BetaVAE
from vaescope.priors import StandardNormal
from vaescope.schedules import Constant
from vaescope.vae import VAE, Decoder, Encoder


class Rotated(nn.Module):
    """N(R mean, R S R'), or with all but the diagonal of R S R' left out."""

    def __init__(self, posterior: nn.Module, rotation: Tensor, *, diagonal: bool) -> None:
        super().__init__()
        self.posterior, self.rotation, self.diagonal = posterior, rotation, diagonal

    def forward(self, features: Tensor) -> FullGaussian | DiagonalGaussian:
        q = self.posterior(features)
        mean, covariance = q.loc @ self.rotation.T, self.rotation @ q.covariance @ self.rotation.T
        if self.diagonal:
            return DiagonalGaussian(mean, covariance.diagonal(dim1=-2, dim2=-1).log())
        return FullGaussian(mean, torch.linalg.cholesky(covariance))


class Back(nn.Module):
    def __init__(self, body: nn.Module, rotation: Tensor) -> None:
        super().__init__()
        self.body, self.rotation = body, rotation

    def forward(self, z: Tensor) -> Tensor:
        return self.body(z @ self.rotation)  # R'z


def rotated(vae: VAE, rotation: Tensor, *, diagonal: bool) -> VAE:
    encoder = Encoder(vae.encoder.body, Rotated(vae.encoder.posterior, rotation, diagonal=diagonal))
    decoder = Decoder(Back(vae.decoder.body, rotation), vae.decoder.likelihood)
    return VAE(encoder, decoder, StandardNormal(3)).double()


@pytest.fixture
def rotation() -> Tensor:
    g = torch.Generator().manual_seed(5)
    return torch.linalg.qr(torch.randn(3, 3, generator=g, dtype=torch.float64))[0]


def test_theorem_2_with_full_covariance_rotating_the_latents_changes_nothing(
    rotation: Tensor, make_case: Callable[..., Any]
) -> None:
    case = make_case("full")
    q = case.vae.encoder(case.batch.x)
    other = rotated(case.vae, rotation, diagonal=False)
    turned = other.encoder(case.batch.x)
    # The noise that puts the rotated posterior's sample at R z: itself rotated, so as likely.
    turn = torch.linalg.solve(turned.scale_tril, rotation @ q.scale_tril)
    eye = torch.eye(3, dtype=torch.float64).expand(8, 3, 3)
    torch.testing.assert_close(turn @ turn.mT, eye)
    noise = (turn @ case.noise[0].unsqueeze(-1)).squeeze(-1).unsqueeze(0)
    objective = BetaVAE(Constant(4.0))
    before, after = case(objective), objective(other, case.batch, case.step, noise)
    torch.testing.assert_close(turned.at(noise[0]), q.at(case.noise[0]) @ rotation.T)
    torch.testing.assert_close(before.loss, after.loss, atol=1e-5, rtol=0)
    torch.testing.assert_close(before.parts["rate"], after.parts["rate"], atol=1e-5, rtol=0)


def test_theorem_2_fails_once_the_rotated_covariance_is_diagonalised(
    rotation: Tensor, make_case: Callable[..., Any]
) -> None:
    """The loophole of zietlow2022: the rate falls by 1/2 (log|diag RSR'| - log|S|), Hadamard's gap,
    while in the family of diagonal posteriors nothing but the diagonal can be had."""
    case = make_case("full")
    other = rotated(case.vae, rotation, diagonal=True)
    objective = BetaVAE(Constant(4.0))
    before = case(objective)
    after = objective(other, case.batch, case.step, case.noise)
    log_det = case.vae.encoder(case.batch.x).log_det
    gap = 0.5 * (other.encoder(case.batch.x).variance.log().sum(-1) - log_det).mean()
    extra = after.parts["rate"] - before.parts["rate"]
    torch.testing.assert_close(extra, -gap, atol=1e-5, rtol=0)
    assert gap > 0.01
    assert abs(after.loss - before.loss) > 0.01


def split(
    vae: VAE, x: Tensor, noise: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Whole, deterministic, stochastic loss and cross term, means over noise and its mirror image,
    so that what is odd in the noise is exactly zero. Posterior deviations are `scale` times."""
    q = vae.encoder(x)
    q = DiagonalGaussian(q.loc, q.log_variance + 2.0 * torch.tensor(scale).log())
    centre = vae.decoder(q.mean).mean
    whole, stochastic, cross = [], [], []
    for eps in (noise, -noise):
        image = vae.decoder(q.at(eps)).mean
        whole.append(((image - x) ** 2).sum(-1).mean())
        stochastic.append(((image - centre) ** 2).sum(-1).mean())
        cross.append(2.0 * ((image - centre) * (centre - x)).sum(-1).mean())
    deterministic = ((centre - x) ** 2).sum(-1).mean()
    mean = [torch.stack(part).mean() for part in (whole, stochastic, cross)]
    return mean[0], deterministic, mean[1], mean[2]


def test_proposition_4_the_reconstruction_loss_splits_exactly_with_its_cross_term(
    make_case: Callable[..., Any],
) -> None:
    """Squared error is the distortion but for a constant, so this is the loss that is minimised."""
    for net in ("linear", "mlp"):
        case = make_case(net=net)
        whole, deterministic, stochastic, cross = split(
            case.vae, case.batch.x, case.noise[0], scale=1.0
        )
        torch.testing.assert_close(whole, deterministic + stochastic + cross, atol=1e-5, rtol=0)
        distortion = [
            BetaVAE()(case.vae, case.batch, case.step, sign * case.noise).parts["distortion"]
            for sign in (1.0, -1.0)
        ]
        constant = 6 * 0.5 * torch.log(torch.tensor(torch.pi))
        torch.testing.assert_close(
            torch.stack(distortion).mean() - constant, whole, atol=1e-5, rtol=0
        )


def test_the_cross_term_is_zero_for_linear_decoders_and_curvature_for_others(
    make_case: Callable[..., Any],
) -> None:
    """Proposition 4 assumes an unbiased decoder; the bias of a curved one grows as sigma^2."""
    linear, curved = make_case(net="linear"), make_case(net="mlp")
    assert abs(split(linear.vae, linear.batch.x, linear.noise[0], 1.0)[3]) < 1e-5
    small, large = (
        split(curved.vae, curved.batch.x, curved.noise[0], scale)[3].item() for scale in (0.1, 0.2)
    )
    assert abs(small) > 1e-4
    assert large / small == pytest.approx(4.0, rel=0.05)
