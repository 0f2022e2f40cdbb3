"""What objectives do to posterior variances: the law holds where they say so."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from vaescope.aggregate_posterior import log_densities, weighted
from vaescope.build import build_data, start_from_data
from vaescope.distributions import DiagonalGaussian
from vaescope.geometry import predicted_variance, variance_law
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
    rate_law,
    unused_posterior,
)
from vaescope.objectives.decomposition import exclusive_kl, marginal_mmd
from vaescope.opening import encode
from vaescope.priors import AnisotropicPrior, ConditionalPrior, StandardNormal, StudentTPrior
from vaescope.schedules import Constant, Linear
from vaescope.settings import from_command_line
from vaescope.training.loop import new_state, steps
from vaescope.vae import VAE, Batch

CPU = torch.device("cpu")
LENGTHS = np.array([0.3, 1.0, 3.0])  # of the decoder's columns, which are orthogonal


def slope_of_the_loss(vae: VAE, objective: Objective, variance: np.ndarray) -> np.ndarray:
    """d loss / d log v_j with a linear decoder of columns LENGTHS, Cov[mean] = I - diag(v).

    Exact: sigma points integrate the squared error, and the rows are white to the last digit.
    """
    raw = np.random.default_rng(0).normal(size=(64, 6))
    white = np.linalg.qr(raw - raw.mean(0))[0] * 8.0
    head, output = vae.encoder.posterior.head, vae.decoder.body[0]
    with torch.no_grad():
        for parameter in vae.parameters():
            parameter.zero_()
        roots = np.sqrt(np.maximum(1.0 - variance, 0.0))
        head.weight[:3, :3] = torch.diag(torch.from_numpy(roots))
        head.bias[3:] = torch.from_numpy(np.log(variance))
        output.weight[:3] = torch.diag(torch.from_numpy(LENGTHS))
    batch = Batch(torch.from_numpy(white), torch.arange(64), 64)
    total = torch.zeros((), dtype=torch.float64)
    for j in range(3):
        for sign in (1.0, -1.0):
            eps = torch.zeros(3, 64, 3, dtype=torch.float64)
            eps[0, :, j] = sign * math.sqrt(3.0)
            eps[1:] = 1.0
            total = total + objective(vae, batch, torch.tensor(7.0).double(), eps).loss / 6.0
    return torch.autograd.grad(total, head.bias)[0][3:].numpy()


@pytest.mark.parametrize("shares", [(0.0, 0.0, 0.0), (0.0, 1.0, 2.0)], ids=["N(0, I)", "own"])
@pytest.mark.parametrize(
    "objective",
    [
        BetaVAE(), BetaVAE(Constant(4.0)), BetaVAE(Linear(0.0, 10.0, steps=20)),
        EntropyVAE(Constant(4.0)), EntropyVAE(Constant(0.5)), DIPI(), Orthogonal(BetaVAE()),
        CapacityVAE(Constant(0.0), Constant(3.0)),
        Decomposition(marginal_mmd, Constant(0.0), Constant(2.0)), DIPII(),
    ],
    ids=lambda objective: type(objective).__name__,
)  # fmt: skip
def test_at_the_variances_of_the_law_the_loss_has_no_slope(
    objective: Objective, shares: tuple[float, ...], make_case: Callable[..., Any]
) -> None:
    vae = make_case(net="linear").vae
    vae.prior = AnisotropicPrior(torch.tensor(shares)).double()
    if isinstance(objective, DIPII) and any(shares):
        pytest.skip("its target is the identity, so the law is of N(0, I) only")
    weight = objective.rate_weight(7)
    factor = objective.pull(7).factor or 1.0  # DIP-VAE I has none
    assert weight is not None
    prior = factor * vae.prior().variance[0].detach().numpy()
    # Squared error is a Gaussian of variance 1/2: G = 2 J'J.
    variance = predicted_variance(2.0 * LENGTHS**2, weight=weight, prior_variance=prior)
    np.testing.assert_allclose(slope_of_the_loss(vae, objective, variance), 0.0, atol=1e-7)
    assert np.abs(slope_of_the_loss(vae, objective, 0.8 * variance)).min() > 0.01


class Own(Objective):
    def __call__(self, vae: VAE, batch: Batch, step: torch.Tensor, noise: torch.Tensor) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("objective", "reason"),
    [
        (Autoencoder(), "no rate"),
        (Orthogonal(Autoencoder()), "no rate"),
        (BetaVAE(Constant(0.0)), "beta, is 0"),
        (CapacityVAE(Constant(25.0)), "capacity of 25 nats"),
        (Decomposition(marginal_mmd), "acts on posterior variances"),
        (BetaTCVAE(Constant(6.0)), "total correlation acts on posterior variances"),
        (FactorVAE(torch.nn.Identity()), "total correlation acts on posterior variances"),
        (BetaTCVAE(rate=Constant(0.0)), "beta, is 0"),
        (Own(), "does not state"),
    ],
    ids=[
        "ae",
        "orthogonal ae",
        "beta 0",
        "capacity",
        "decomposition",
        "tc",
        "factor",
        "tc alone",
        "own",
    ],
)
def test_where_no_law_holds_there_is_no_weight_and_a_reason(
    objective: Objective, reason: str
) -> None:
    assert objective.rate_weight(math.inf) is None
    assert reason in objective.pull(math.inf).no_weight


@pytest.mark.parametrize(("std", "slope"), [(0.03, -0.5), (0.95, 0.0)], ids=["apart", "shared"])
def test_total_correlation_pulls_at_widths_as_the_rate_does_where_codes_do_not_overlap(
    std: float, slope: float
) -> None:
    """-1/2 log v of each latent where q(z) is q(z|x) / n; nothing where q(z) is a product."""
    generator = torch.Generator().manual_seed(0)
    mean, noise = torch.randn(2, 400, 3, dtype=torch.float64, generator=generator)
    log_variance = torch.full((3,), 2.0 * math.log(std), dtype=torch.float64, requires_grad=True)
    q = DiagonalGaussian(mean * math.sqrt(1.0 - std**2), log_variance.expand(400, 3))
    z = q.at(noise)
    correlation = log_densities(q, z, weighted(z, 400)).total_correlation
    found = torch.autograd.grad(correlation, log_variance)[0].numpy()
    np.testing.assert_allclose(found, slope, atol=0.06)


def test_the_weight_follows_the_schedule_and_the_total_correlation_is_no_rate() -> None:
    warming = BetaVAE(Linear(0.0, 4.0, steps=100))
    assert [warming.rate_weight(step) for step in (0, 25, 100, math.inf)] == [None, 1.0, 4.0, 4.0]
    assert BetaTCVAE(Constant(6.0), rate=Constant(6.0)).rate_weight(0) == 6.0
    assert FactorVAE(torch.nn.Identity(), gamma=Constant(0.0)).rate_weight(0) == 1.0
    assert BetaTCVAE().pull(0).factor == 1.0  # a latent that ignores x changes no correlation
    assert Decomposition(exclusive_kl, Constant(0.0), Constant(2.0)).rate_weight(0) == 2.0


def test_the_law_is_of_gaussian_priors_and_for_dip_vae_ii_of_the_standard_one() -> None:
    assert rate_law(BetaVAE(Constant(4.0)), AnisotropicPrior(torch.zeros(2))) == (4.0, "")
    assert rate_law(EntropyVAE(), ConditionalPrior(1, 2)) == (4.0, "")
    assert rate_law(DIPII(), StandardNormal(2)) == (1.0, "")
    assert rate_law(DIPI(), StandardNormal(2)) == (1.0, "")
    for objective, prior, why in (
        (BetaVAE(), StudentTPrior(2, 5.0), "Gaussian priors"),
        (DIPII(), AnisotropicPrior(torch.arange(2.0)), "draws variances to 1"),
        (DIPII(), ConditionalPrior(1, 2), "draws variances to 1"),
        (Autoencoder(), StandardNormal(2), "no rate"),
    ):
        weight, reason = rate_law(objective, prior)
        assert weight is None and why in reason


TRAINED = {
    "beta-vae": ["objective.beta=4"],
    "beta-tcvae": ["objective.beta=6"],
    "dip-vae-i": [],
    "dip-vae-ii": [],
    "factor-vae": ["objective.critic_width=64", "objective.critic_layers=3"],
    "entropy-vae": ["objective.beta=4"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_trained_linear_models_follow_the_law_at_the_weight_of_their_objective(name: str) -> None:
    spec = from_command_line(
        "vae",
        ["data.name=linear-gaussian", "net.name=linear", "latent=6", "batch=128", "steps=1500",
         "logging.every=1500", "optimiser.lr=1e-2", f"objective.name={name}", *TRAINED[name]],
    )  # fmt: skip
    data = build_data(spec.data)
    state = new_state(spec, CPU)
    start_from_data(spec, data, [state.vae])
    for _ in steps(state, spec, data, "fp32"):
        pass
    codes = encode(state.vae, data, index=np.arange(1000))
    # The aggregate of this data is a product: total correlation is flat in the widths.
    correlated = isinstance(state.objective, BetaTCVAE | FactorVAE)
    rate = BetaVAE(state.objective.rate) if correlated else state.objective
    unused = unused_posterior(state.objective, state.vae.prior).variance
    found = variance_law(
        state.vae.decoder, codes.mean, codes.variance,
        weight=rate.rate_weight(spec.steps),
        prior_variance=1.0 if unused is None else unused,
    )  # fmt: skip
    assert found.ratio is not None
    assert 0.8 < found.ratio < 1.25
