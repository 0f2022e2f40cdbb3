"""Free bits and the learnt pixel variance of the sigma-VAE reach their definitions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from vaescope.build import build_vae
from vaescope.data.synthetic import linear_gaussian, principal_axes
from vaescope.distributions import kl_per_latent
from vaescope.errors import UsageError
from vaescope.objectives import BetaVAE, FreeBits, Objective, rate_law, unused_posterior
from vaescope.priors import StandardNormal, StudentTPrior
from vaescope.schedules import Constant
from vaescope.settings import from_command_line
from vaescope.vae import VAE, Batch

EIGENVALUES, NOISE, ROWS = (4.0, 2.0, 1.0), 0.3, 1000


def linear_vae(preset: str, latent: int, *settings: str) -> tuple[VAE, torch.Tensor]:
    data = linear_gaussian(eigenvalues=EIGENVALUES, dimension=5, noise=NOISE, n=ROWS)
    x = torch.from_numpy(data.rows(np.arange(ROWS))).double()
    names = ["data.name=linear-gaussian", "data.dimension=5", "net.name=linear", f"latent={latent}"]
    torch.manual_seed(0)
    return build_vae(from_command_line(preset, [*names, *settings])).double(), x


def descend(vae: VAE, objective: Objective, x: torch.Tensor, latent: int) -> None:
    """Full batches; the noise of each step and its opposite, which a linear decoder averages."""
    generator = torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(vae.parameters(), lr=0.02)
    steps = 700
    decay = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda t: min(1.0, 2.0 - 2.0 * t / steps))
    batch = Batch(x, torch.arange(len(x)), len(x))
    for step in range(steps):
        noise = torch.randn(1, len(x), latent, generator=generator, dtype=torch.float64)
        optimiser.zero_grad()
        losses = [objective(vae, batch, torch.tensor(float(step)), s * noise).loss for s in (1, -1)]
        torch.stack(losses).mean().backward()
        optimiser.step()
        decay.step()


def test_without_a_floor_it_is_the_vae(make_case: Callable[..., Any]) -> None:
    case = make_case()
    ours, theirs = case(FreeBits(Constant(0.0))), case(BetaVAE())
    torch.testing.assert_close(ours.loss, theirs.loss)
    torch.testing.assert_close(ours.parts["rate"], theirs.parts["rate"])
    prior = StandardNormal(3)
    assert rate_law(FreeBits(Constant(0.0)), prior) == rate_law(BetaVAE(), prior)


def test_it_counts_each_latent_at_its_floor_at_least(make_case: Callable[..., Any]) -> None:
    case = make_case()
    q = case.vae.encoder(case.batch.x)
    rates = kl_per_latent(q, case.vae.prior()).mean(0).detach()
    floor = float(rates.median())  # some are below
    expected = case(BetaVAE()).parts["distortion"] + sum(max(r, floor) for r in rates.tolist())
    torch.testing.assert_close(case(FreeBits(Constant(floor))).loss, expected)


def test_it_says_that_there_is_no_unused_posterior_and_no_law() -> None:
    found = unused_posterior(FreeBits(), StandardNormal(2))
    assert not found.minima and "only above its floor of 0.25 nats" in found.why
    weight, why = rate_law(FreeBits(), StandardNormal(2))
    assert weight is None and "floor" in why


def test_it_refuses_posteriors_without_a_rate_of_each_latent(make_case: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="FullGaussian"):
        make_case("full")(FreeBits())
    case = make_case()
    case.vae.prior = StudentTPrior(3, 10.0).double()
    with pytest.raises(UsageError, match=r"prior\.name=normal"):
        case(FreeBits())


@pytest.mark.slow
def test_on_linear_data_spare_latents_spend_their_floor_and_no_more() -> None:
    vae, x = linear_vae("free-bits", 5, "objective.floor=0.2")
    descend(vae, FreeBits(Constant(0.2)), x, 5)
    rates = kl_per_latent(vae.encoder(x), vae.prior()).mean(0).detach().sort().values
    # Squared error has variance 1/2: two of five directions, of variance .3, are worth no nat, and
    # the VAE would leave them at 0. (The others share what is free: they are not the PCA's.)
    assert rates.min() > 0.2 * 0.98
    np.testing.assert_allclose(rates[:2], 0.2, rtol=0.02)
    assert rates[-1] > 0.5


@pytest.mark.slow
def test_the_learnt_variance_is_the_mean_squared_error() -> None:
    vae, x = linear_vae("sigma-vae", 3)
    descend(vae, BetaVAE(), x, 3)
    variance = float((2.0 * vae.decoder.likelihood.log_scale.detach()).exp())
    with torch.no_grad():
        q = vae.encoder(x)
        mean = vae.decoder(q.mean).loc
        w = vae.decoder.body[0].weight
        spread = float((q.variance * (w**2).sum(0)).sum(-1).mean())
        error = (float(((x - mean) ** 2).sum(1).mean()) + spread) / 5
    assert variance == pytest.approx(error, rel=0.02)
    # Tipping and Bishop 1999: the mean of the eigenvalues that are left out.
    assert variance == pytest.approx(principal_axes(x.numpy())[0][3:].mean(), rel=0.02)


def test_at_a_scale_of_a_half_it_is_squared_error(make_case: Callable[..., Any]) -> None:
    sigma, x = linear_vae("sigma-vae", 3)
    plain, _ = linear_vae("vae", 3, "likelihood.name=squared-error")
    plain.load_state_dict(sigma.state_dict(), strict=False)
    with torch.no_grad():
        sigma.decoder.likelihood.log_scale.fill_(0.5 * np.log(0.5))
    batch, noise = Batch(x, torch.arange(ROWS), ROWS), torch.zeros(1, ROWS, 3).double()
    both = [BetaVAE()(vae, batch, torch.tensor(0.0), noise).loss for vae in (sigma, plain)]
    torch.testing.assert_close(*both)
