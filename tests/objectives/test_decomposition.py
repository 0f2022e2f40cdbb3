from collections.abc import Callable
from typing import Any

import pytest
import torch

from vaescope import aggregate_posterior
from vaescope.objectives.decomposition import (
    Decomposition,
    Divergence,
    exclusive_kl,
    inclusive_kl,
    joint_mmd,
    marginal_mmd,
)
from vaescope.objectives.elbo import BetaVAE
from vaescope.schedules import Constant

DIVERGENCES = [joint_mmd, marginal_mmd, inclusive_kl, exclusive_kl]


@pytest.mark.parametrize("posterior", ["diagonal", "full"])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_without_alpha_it_is_the_beta_vae(
    divergence: Divergence, posterior: str, make_case: Callable[..., Any]
) -> None:
    case = make_case(posterior)
    ours = case(Decomposition(divergence, Constant(0.0), Constant(3.0)))
    torch.testing.assert_close(ours.loss, case(BetaVAE(Constant(3.0))).loss, atol=1e-5, rtol=0)


def test_each_divergence_is_the_one_of_its_name_between_codes_and_prior_samples(
    make_case: Callable[..., Any],
) -> None:
    case = make_case(size=500)
    q, p = case.vae.encoder(case.batch.x), case.vae.prior()
    z, w = q.at(case.noise[0]), p.at(case.noise[1])
    expected = {
        joint_mmd: aggregate_posterior.mmd(z, w),
        marginal_mmd: aggregate_posterior.mmd_per_latent(z, w),
        inclusive_kl: aggregate_posterior.inclusive_kl(q, p, w),
        exclusive_kl: aggregate_posterior.exclusive_kl(q, p, z, 500),
    }
    base = case(BetaVAE(Constant(2.0))).loss
    for divergence, value in expected.items():
        terms = case(Decomposition(divergence, Constant(7.0), Constant(2.0)))
        torch.testing.assert_close(terms.parts["divergence"], value)
        torch.testing.assert_close(terms.loss - base, 7.0 * value)


@pytest.mark.slow
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_following_it_alone_brings_the_aggregate_to_the_prior(
    divergence: Divergence, make_case: Callable[..., Any]
) -> None:
    """All rows are the dataset, so that even the exclusive divergence has no bias."""
    case = make_case(net="linear", rows=64, size=64)
    optimiser = torch.optim.Adam(case.vae.encoder.parameters(), lr=0.05)
    g = torch.Generator().manual_seed(0)
    objective = Decomposition(divergence, Constant(1e3), Constant(0.0))

    def mismatch() -> float:
        q = case.vae.encoder(case.batch.x)
        spread = q.mean.var(0) + q.variance.mean(0)
        return (q.mean.mean(0) ** 2 + (spread - 1.0) ** 2).sum().item()

    with torch.no_grad():
        case.vae.encoder.posterior.head.weight.mul_(3.0)
    before = mismatch()
    for _ in range(150):
        noise = torch.randn(2, 64, 3, generator=g, dtype=torch.float64)
        loss = objective(case.vae, case.batch, case.step, noise).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert mismatch() < 0.1 * before
