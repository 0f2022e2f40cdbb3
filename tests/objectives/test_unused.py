"""What a latent that ignores x becomes, against known values and other people's densities."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, stats

from vaescope.distributions import DiagonalGaussian
from vaescope.objectives import (
    DIPI,
    DIPII,
    Autoencoder,
    BetaTCVAE,
    BetaVAE,
    CapacityVAE,
    Decomposition,
    EntropyVAE,
    FactorVAE,
    Objective,
    Orthogonal,
    unused_posterior,
)
from vaescope.objectives.decomposition import exclusive_kl, inclusive_kl, marginal_mmd
from vaescope.priors import (
    AnisotropicPrior,
    ConditionalPrior,
    MixturePrior,
    SparsePrior,
    StandardNormal,
    StudentTPrior,
)
from vaescope.priors.mixture import axis_means
from vaescope.schedules import Constant, Linear
from vaescope.vae import Batch, Prior

ELBO = BetaVAE()
SHARES = torch.tensor([0.0, 1.0, 2.0])
LIKE_THE_ELBO: list[Objective] = [
    ELBO, BetaVAE(Constant(8.0)), BetaTCVAE(), FactorVAE(torch.nn.Identity()),
    Orthogonal(ELBO), DIPI(diagonal=Constant(0.0)), DIPII(diagonal=Constant(0.0)),
    CapacityVAE(Constant(0.0)), Decomposition(exclusive_kl), EntropyVAE(Constant(1.0)),
]  # fmt: skip


def variance_of(objective: Objective, prior: Prior) -> np.ndarray:
    found = unused_posterior(objective, prior)
    assert found.minima == 1 and found.why == ""
    assert found.variance is not None
    return found.variance


@pytest.mark.parametrize("objective", LIKE_THE_ELBO, ids=lambda o: type(o).__name__)
def test_under_the_elbo_and_its_kin_it_is_a_gaussian_prior_at_no_rate(objective: Objective) -> None:
    prior = AnisotropicPrior(SHARES, variance=2.0)
    wanted = prior().variance[0].numpy()
    found = unused_posterior(objective, prior)
    np.testing.assert_allclose(found.variance, wanted, rtol=1e-6)
    np.testing.assert_allclose(found.floor_nats, 0.0, atol=1e-12)
    # They differ from each other for no prior: 1.36 is that of five degrees of freedom.
    np.testing.assert_allclose(variance_of(objective, StudentTPrior(2, 5.0)), 1.363, atol=1e-3)


def test_under_the_entropy_objective_it_is_beta_times_a_gaussian_prior() -> None:
    """mathieu2019 Corollary 1; the rate is KL(N(0, 4 s) || N(0, s))."""
    found = unused_posterior(EntropyVAE(Constant(4.0)), AnisotropicPrior(SHARES))
    np.testing.assert_allclose(
        found.variance, 4.0 * AnisotropicPrior(SHARES)().variance[0], rtol=1e-6
    )
    np.testing.assert_allclose(found.floor_nats, 0.5 * (4.0 - 1.0 - math.log(4.0)))
    warming = EntropyVAE(Linear(1.0, 4.0, steps=10))
    assert unused_posterior(warming, StandardNormal(1), step=5).variance == pytest.approx([2.5])
    assert unused_posterior(warming, StandardNormal(1)).variance == pytest.approx([4.0])


@pytest.mark.parametrize(("objective", "factor"), [(ELBO, 1.0), (EntropyVAE(Constant(4.0)), 4.0)])
def test_of_a_conditional_prior_it_is_that_prior_row_by_row(
    objective: Objective, factor: float
) -> None:
    found = unused_posterior(objective, ConditionalPrior(2, 3))
    assert found.variance is None and found.minima == 1
    assert found.factor == factor
    assert found.floor_nats.shape == (3,)
    assert f"{factor:g} times" in found.says


@pytest.mark.parametrize(("df", "variance"), [(10.0, 1.19), (5.0, 1.36), (2.0, 1.86)])
def test_of_student_t_priors_it_is_neither_1_nor_the_priors_variance(
    df: float, variance: float
) -> None:
    assert variance_of(ELBO, StudentTPrior(3, df)) == pytest.approx([variance] * 3, abs=0.005)
    scaled = variance_of(ELBO, StudentTPrior(1, df, variance=9.0))
    assert scaled == pytest.approx([9.0 * variance], rel=0.005)


def test_entropy_and_a_student_t_prior_have_none_once_beta_is_above_its_tails() -> None:
    """log p falls like (df + 1) log z, log|S| weighs beta: nothing stops the variance."""
    prior = StudentTPrior(2, 5.0)
    below = [variance_of(EntropyVAE(Constant(beta)), prior)[0] for beta in (2.0, 4.0, 5.5)]
    assert below == sorted(below)
    for beta in (6.0, 8.0):
        found = unused_posterior(EntropyVAE(Constant(beta)), prior)
        assert found.minima == 0 and "tails" in found.why


def cost(log_deviation: float, log_density: Any, beta: float, penalty: float) -> float:
    """-E log p - beta log sd + penalty (v - 1)^2 by Simpson's rule."""
    sd = math.exp(log_deviation)
    z = np.linspace(-12.0 * sd, 12.0 * sd, 20_001)
    expected = integrate.simpson(stats.norm.pdf(z, scale=sd) * log_density(z), x=z)
    return float(-expected - beta * log_deviation + penalty * (sd**2 - 1.0) ** 2)


def spike_and_slab(z: np.ndarray) -> np.ndarray:
    return np.logaddexp(
        math.log(0.2) + stats.norm.logpdf(z), math.log(0.8) + stats.norm.logpdf(z, scale=0.05)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "prior", "log_density", "beta", "penalty"),
    [
        (EntropyVAE(Constant(2.0)), StudentTPrior(1, 5.0), stats.t(5).logpdf, 2.0, 0.0),
        (DIPII(diagonal=Constant(0.3)), StudentTPrior(1, 5.0), stats.t(5).logpdf, 1.0, 0.3),
        (DIPII(diagonal=Constant(0.3)), AnisotropicPrior(torch.zeros(1), variance=4.0),
         stats.norm(scale=2.0).logpdf, 1.0, 0.3),
        (EntropyVAE(Constant(4.0)), SparsePrior(1, 0.8), spike_and_slab, 4.0, 0.0),
        (ELBO, SparsePrior(1, 0.8), spike_and_slab, 1.0, 0.0),
    ],
    ids=["entropy, t", "dip-ii, t", "dip-ii, wide", "entropy, sparse", "sparse"],
)  # fmt: skip
def test_no_other_variance_costs_less(
    objective: Objective, prior: Prior, log_density: Any, beta: float, penalty: float
) -> None:
    variance = variance_of(objective, prior)[0]
    grid = np.linspace(math.log(0.01), math.log(20.0), 30)
    costs = [cost(x, log_density, beta, penalty) for x in grid]
    start = int(np.argmin(costs))
    least = optimize.minimize_scalar(
        lambda x: cost(x, log_density, beta, penalty), method="bounded",
        bounds=(grid[max(start - 1, 0)], grid[start + 1]),
    )  # fmt: skip
    assert variance == pytest.approx(math.exp(2.0 * least.x), rel=1e-3)


def test_of_the_sparse_prior_it_sits_in_the_spike_and_still_costs() -> None:
    found = unused_posterior(ELBO, SparsePrior(50, 0.8))
    assert found.variance == pytest.approx(np.full(50, 0.0028), abs=5e-5)
    assert found.floor_nats == pytest.approx(np.full(50, 0.189), abs=1e-3)
    assert found.floor == pytest.approx(50 * found.floor_nats[0])
    assert found.says == "variance 0.00282 at 0.188 nats"


def test_of_the_pinwheel_mixture_it_is_any_of_four_modes_at_log_4_nats() -> None:
    found = unused_posterior(ELBO, MixturePrior(axis_means(2)))
    assert found.minima == 4
    assert found.variance == pytest.approx([0.03, 0.03], rel=0.005)
    assert found.floor == pytest.approx(math.log(4.0), abs=1e-3)
    assert "any of 4 modes" in found.says
    # The released code counts the prior once per latent, and posteriors that train with it halve.
    legacy = unused_posterior(ELBO, MixturePrior(axis_means(2), legacy=True))
    assert legacy.variance == pytest.approx([0.015, 0.015], rel=0.005)


def test_a_mixture_whose_modes_have_merged_has_one() -> None:
    """Two modes half a deviation apart: nearly N(0, 1 + 1/16) along the first axis."""
    means = torch.tensor([[0.25, 0.0], [-0.25, 0.0]])
    found = unused_posterior(ELBO, MixturePrior(means, variance=1.0))
    assert found.minima == 1
    assert found.variance == pytest.approx([1.0625, 1.0], abs=0.005)
    assert found.floor == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
def test_modes_are_found_in_more_dimensions_too() -> None:
    found = unused_posterior(ELBO, MixturePrior(axis_means(5)))
    assert found.minima == 10
    assert found.variance == pytest.approx(np.full(5, 0.03), rel=0.02)
    assert found.floor == pytest.approx(math.log(10.0), abs=0.02)


class Own(Objective):
    def __call__(self, vae: Any, batch: Batch, step: torch.Tensor, noise: torch.Tensor) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("objective", "prior", "why"),
    [
        (DIPI(), StandardNormal(2), "variance of each latent's mean"),
        (CapacityVAE(Constant(25.0)), StandardNormal(2), "capacity of 25"),
        (Autoencoder(), StandardNormal(2), "no rate"),
        (BetaVAE(Constant(0.0)), StandardNormal(2), "beta, is 0"),
        (Own(), StandardNormal(2), "does not state"),
        (Decomposition(marginal_mmd), SparsePrior(2, 0.8), "whole prior"),
        (Decomposition(inclusive_kl), StudentTPrior(2, 5.0), "whole prior"),
        (DIPII(), ConditionalPrior(1, 2), "depend on u"),
        (DIPI(), ConditionalPrior(1, 2), "variance of each latent's mean"),
    ],
)
def test_where_there_is_none_it_says_why(objective: Objective, prior: Prior, why: str) -> None:
    found = unused_posterior(objective, prior)
    assert found.variance is None and found.minima == 0
    assert found.floor_nats.shape == (2,) and np.isnan(found.floor_nats).all()
    assert why in found.why and why in found.says


class Centred(Prior):
    """N((3, -2), diag(4, 9)) as a density that the code does not know."""

    def forward(self, u: torch.Tensor | None = None) -> Any:
        mean = torch.tensor([[3.0, -2.0]], dtype=torch.float64)
        log_variance = torch.tensor([[4.0, 9.0]], dtype=torch.float64).log()
        known = DiagonalGaussian(mean, log_variance)

        class Unknown:
            mean, variance = known.mean, known.variance
            at, log_prob = known.at, known.log_prob

        return Unknown()


def test_a_prior_of_the_users_own_is_read_by_its_density() -> None:
    found = unused_posterior(ELBO, Centred())
    assert found.variance == pytest.approx([4.0, 9.0], rel=1e-4)
    assert found.floor == pytest.approx(0.0, abs=1e-6)
