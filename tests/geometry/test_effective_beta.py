"""The weight of the rate that a model obeys, against closed forms."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.adapters.pretrained import many_images, rebuilt
from tests.objectives.test_linear_vae import set_to_ppca
from torch import Tensor, nn

import vaescope as vs
from vaescope.build import build_vae
from vaescope.data import Dataset
from vaescope.data.dsprites import dsprites
from vaescope.data.synthetic import linear_gaussian, principal_axes
from vaescope.errors import RangeError, UsageError
from vaescope.geometry.effective_beta import effective_beta_of
from vaescope.objectives import DIPI, DIPII, BetaTCVAE, Objective
from vaescope.opening import open_vae
from vaescope.schedules import Constant
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.vae import VAE, Batch

Find = Callable[[str], Path]


def at_its_optimum(beta: float) -> tuple[VAE, Dataset]:
    """A linear beta-VAE with squared error, pixel variance 1/2, where its loss is least: that of a
    VAE with pixel variance beta / 2 (Tipping and Bishop 1999)."""
    eigenvalues = (9.0, 5.0, 3.0)
    data = linear_gaussian(eigenvalues=eigenvalues, dimension=5, noise=0.01, n=2000)
    values, axes = principal_axes(data.rows(np.arange(len(data))).astype(np.float64))
    d = len(eigenvalues)
    vae = build_vae(linear("beta-vae"))
    mean = data.rows(np.arange(len(data))).mean(0).astype(np.float64)
    set_to_ppca(vae, mean, values[:d], axes[:, :d], beta / 2)
    return vae, data


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.02, 0.5, 1.0, 2.0])
def test_the_weight_of_a_linear_model_at_its_optimum_is_found(beta: float) -> None:
    vae, data = at_its_optimum(beta)
    found = vs.effective_beta(vae, data)
    assert found.value == pytest.approx(beta, rel=0.05)
    assert found.interval[0] < beta < found.interval[1]
    assert found.single_weight is True
    error = _squared_error(vae, data)
    assert found.pixel_variance_ratio == pytest.approx(found.value / 2 / error, rel=1e-3)


def _squared_error(vae: VAE, data: Dataset) -> float:
    places = np.unique(np.linspace(0, len(data) - 1, 500).astype(np.int64))
    x = torch.from_numpy(data.rows(data.sample(10_000, seed=0)[places]))
    with torch.no_grad():
        return float((vae.decoder(vae.encoder(x).mean).mean - x).square().mean())


def test_another_weight_for_one_latent_is_seen() -> None:
    """The posterior of one latent is set to the width that four times the weight would give."""
    vae, data = at_its_optimum(0.5)
    d = 3
    with torch.no_grad():
        vae.encoder.posterior.head.bias[d] += math.log(4.0)
    found = vs.effective_beta(vae, data)
    assert found.single_weight is False
    assert found.per_latent[0] / found.per_latent[1] == pytest.approx(4.0, rel=0.25)
    assert "No single weight" in found.summary()


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_the_fisher_form_of_a_linear_model_is_the_same(beta: float) -> None:
    """Its Hessian is the Fisher metric: no residual bends it."""
    vae, data = at_its_optimum(beta)
    found = vs.effective_beta(vae, data)
    assert found.fisher == pytest.approx(beta, rel=0.08)
    assert found.of_means == pytest.approx((beta, beta), rel=0.1)


def test_a_latent_dies_at_the_weight_of_the_closed_form() -> None:
    """Eigenvalues over the pixel variance of squared error, 1/2: Tipping and Bishop 1999."""
    vae, data = at_its_optimum(0.5)
    margins = vs.effective_beta(vae, data).margins
    values, _ = principal_axes(data.rows(np.arange(len(data))).astype(np.float64))
    for j, eigenvalue in enumerate(values[:3]):
        assert margins.collapse[j] == pytest.approx(eigenvalue / 0.5, rel=0.05)
    assert "Latent 2 is nearest to collapse" in margins.summary()


def test_latents_that_half_the_weight_would_pay_for_are_counted() -> None:
    """Three latents at a pixel variance of 2; of the eigenvalues that are left 1.5 and 1.2 exceed
    half of it, 0.4 does not."""
    data = linear_gaussian(
        eigenvalues=(9.0, 5.0, 3.0, 1.5, 1.2, 0.4), dimension=8, noise=0.01, n=2000
    )
    mean = data.rows(np.arange(len(data))).mean(0).astype(np.float64)
    values, axes = principal_axes(data.rows(np.arange(len(data))).astype(np.float64))
    vae = build_vae(linear("beta-vae", "data.dimension=8"))
    set_to_ppca(vae, mean, values[:3], axes[:, :3], 2.0)
    found = vs.effective_beta(vae, data)
    assert found.value == pytest.approx(4.0, rel=0.06)
    assert (found.margins.more_at_half, found.margins.more_now) == (2, 0)
    assert "justify 2 more latents" in found.summary()
    assert found.to_dict()["margins"]["more_at_half"] == 2


def test_noise_at_the_optimum_pays_for_no_latent_and_a_missed_axis_does() -> None:
    """Tipping and Bishop 1999: at the optimum each axis that is left has the noise's variance,
    which is beta itself. Without the third axis its eigenvalue of 3 is left, over a noise of
    .09."""
    data = linear_gaussian(eigenvalues=(9.0, 5.0, 3.0), dimension=8, noise=0.09, n=600)
    images = data.rows(np.arange(len(data))).astype(np.float64)
    values, axes = principal_axes(images)
    for kept, missed in ((3, 0), (2, 1)):
        vae = build_vae(linear("beta-vae", "data.dimension=8", f"latent={kept}"))
        set_to_ppca(vae, images.mean(0), values[:kept], axes[:, :kept], 0.09)
        margins = vs.effective_beta(vae, data).margins
        assert margins is not None and margins.more_now == missed
        assert ("already justify" in margins.summary()) == bool(missed)


def test_a_model_that_is_not_at_rest_is_not_readable() -> None:
    """Its widths are those of the optimum, its means half as far from zero as they should be."""
    vae, data = at_its_optimum(2.0)
    with torch.no_grad():
        vae.encoder.posterior.head.weight[:3] *= 0.5
        vae.encoder.posterior.head.bias[:3] *= 0.5
    found = vs.effective_beta(vae, data)
    assert found.value is None and "training has not converged" in found.summary()


def test_an_untrained_model_is_not_readable() -> None:
    data = linear_gaussian(eigenvalues=(9.0, 5.0, 3.0), dimension=5, noise=0.01, n=500)
    for seed in range(5):
        torch.manual_seed(seed)
        found = vs.effective_beta(build_vae(linear("beta-vae")), data)
        assert found.value is None, found.summary()


def test_a_handful_of_rows_is_not_readable() -> None:
    vae, data = at_its_optimum(1.0)
    found = vs.effective_beta(vae, data.rows(np.arange(5)))
    assert found.value is None and "at least 50 rows; there are 5" in found.summary()


def test_a_collapsed_model_is_not_readable() -> None:
    vae, data = at_its_optimum(1.0)
    with torch.no_grad():
        vae.encoder.posterior.head.weight.zero_()
        vae.encoder.posterior.head.bias.zero_()
        vae.decoder.body[0].weight.zero_()
    found = vs.effective_beta(vae, data)
    assert found.value is None
    assert "no latent is used" in found.summary()
    assert found.to_dict()["value"] is None


@pytest.mark.slow
def test_a_mean_over_pixels_explains_its_factor() -> None:
    """Written: beta times the rate beside a mean over 5 numbers; acting: 5 times as much."""
    vae, data = at_its_optimum(0.5)
    assert "a mean over the 5 pixels" in vs.effective_beta(vae, data, nominal=0.1).summary()
    assert "sums over pixels" in vs.effective_beta(vae, data, nominal=0.5).summary()
    assert "no usual reduction" in vs.effective_beta(vae, data, nominal=0.02).summary()
    found = vs.inspect(vae, data, effort="fast", images=False, nominal=0.1).effective_beta
    assert found.to_dict()["nominal"]["reductions"] == [
        "a mean over the 5 pixels and a sum over latents"
    ]
    with pytest.raises(RangeError, match="positive"):
        vs.inspect(vae, data, nominal=0.0)
    with pytest.raises(UsageError, match="does not compute"):
        vs.inspect(vae, data, nominal=0.1, effort="latents")


def settled_widths(
    vae: VAE, data: Dataset, objective: Objective, *, steps: int = 400, batch: int = 500
) -> None:
    """Trains the posterior's widths alone, to their rest: all that the law is about."""
    x = torch.from_numpy(data.rows(np.arange(len(data))))
    bias = vae.encoder.posterior.head.bias
    d = len(bias) // 2
    generator = torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam([bias], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        rows = torch.randperm(len(x), generator=generator)[:batch]
        noise = torch.randn(objective.draws, batch, d, generator=generator)
        seen = Batch(x[rows], rows, len(x))
        optimiser.zero_grad()
        objective(vae, seen, torch.tensor(float(step)), noise).loss.backward()
        bias.grad[:d] = 0.0
        optimiser.step()
        schedule.step()


def turned(degrees: float, beta: float = 1.0) -> tuple[VAE, Dataset]:
    """A linear model at its optimum, but with two latents mixed: their aggregate is correlated."""
    vae, data = at_its_optimum(beta)
    angle = math.radians(degrees)
    mixing = torch.eye(3)
    mixing[:2, :2] = torch.tensor(
        [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    )
    mixing = mixing @ torch.diag(torch.tensor([1.0, 0.5, 1.0]))
    head, output = vae.encoder.posterior.head, vae.decoder.body[0]
    with torch.no_grad():
        head.weight[:3] = mixing @ head.weight[:3]
        head.bias[:3] = mixing @ head.bias[:3]
        output.weight.copy_(output.weight @ torch.linalg.inv(mixing))
    return vae, data


@pytest.mark.slow
def test_a_penalty_on_means_leaves_the_rate_its_weight() -> None:
    """DIP-VAE I sees posterior means only: the rate acts with its weight of 1 (documented)."""
    vae, data = turned(30)
    settled_widths(vae, data, DIPI(Constant(20.0), Constant(20.0)))
    found = vs.effective_beta(vae, data)
    assert found.value == pytest.approx(1.0, rel=0.08) and found.single_weight is True


@pytest.mark.slow
def test_a_penalty_on_the_aggregate_covariance_is_not_one_weight() -> None:
    vae, data = turned(30)
    settled_widths(vae, data, DIPII(Constant(20.0), Constant(20.0)))
    found = vs.effective_beta(vae, data)
    assert found.single_weight is False, found.summary()
    assert "No single weight" in found.summary()


@pytest.mark.slow
def test_a_penalty_on_total_correlation_is_never_told_as_one_weight() -> None:
    """It may move all widths alike: then it is the objective that shows it, where it is known."""
    vae, data = turned(30)
    settled_widths(vae, data, BetaTCVAE(Constant(12.0)), steps=300, batch=250)
    assert vs.effective_beta(vae, data).single_weight is not True
    found = effective_beta_of(open_vae(vae, data, spec=linear("beta-tcvae", "objective.beta=12")))
    assert found.single_weight is False
    assert "o single weight" in found.summary()


def linear(preset: str, *settings: str) -> Experiment:
    """The experiment of which `at_its_optimum` is a model."""
    shared = ["data.name=linear-gaussian", "data.dimension=5", "net.name=linear", "latent=3"]
    return from_command_line(preset, [*shared, "likelihood.name=squared-error", *settings])


def test_a_capacity_is_told_as_the_weight_that_would_hold_it() -> None:
    """A capacity's optimum is that of the beta-VAE with the same rate."""
    beta = 0.5
    vae, data = at_its_optimum(beta)
    spec = linear("annealed-vae", "objective.capacity=7.0")
    found = effective_beta_of(open_vae(vae, data, spec=spec))
    assert found.value == pytest.approx(beta, rel=0.05)
    assert found.single_weight is None
    assert "no weight of the rate" in found.summary() and "7 nats" in found.summary()


@pytest.mark.slow
def test_an_entropy_bonus_acts_as_its_beta_where_the_objective_is_known() -> None:
    """mathieu2019 Corollary 2: the beta-VAE's optimum with its latents sqrt(beta) times as wide."""
    beta = 2.5
    vae, data = at_its_optimum(beta)
    head, output = vae.encoder.posterior.head, vae.decoder.body[0]
    with torch.no_grad():
        head.weight[:3] *= math.sqrt(beta)
        head.bias[:3] *= math.sqrt(beta)
        head.bias[3:] += math.log(beta)
        output.weight /= math.sqrt(beta)
    spec = linear("entropy-vae", f"objective.beta={beta}")
    found = effective_beta_of(open_vae(vae, data, spec=spec))
    assert found.value == pytest.approx(beta, rel=0.05) and found.single_weight is True
    unknown = vs.effective_beta(vae, data)
    assert unknown.single_weight is not True, unknown.summary()


def test_a_width_that_was_set_is_not_readable() -> None:
    """A constant variance obeys no law of widths, whatever number comes out of it."""
    vae, data = at_its_optimum(0.5)
    with torch.no_grad():
        vae.encoder.posterior.head.weight[3:] = 0.0
        vae.encoder.posterior.head.bias[3:] = -3.0
    found = vs.effective_beta(vae, data)
    assert found.value is None and "the same width" in found.summary()


def test_a_latent_wider_than_the_prior_is_not_readable() -> None:
    vae, data = at_its_optimum(0.5)
    with torch.no_grad():
        vae.encoder.posterior.head.weight[2] = 0.0
        vae.encoder.posterior.head.bias[5] = math.log(4.0)
        vae.decoder.body[0].weight[:, 2] = 0.0
    found = vs.effective_beta(vae, data)
    assert found.value is None and "latent 2 is wider than the prior" in found.reason


def test_codes_without_noise_are_not_readable() -> None:
    class Plain(nn.Module):
        def encode(self, x: Tensor) -> Tensor:
            return x[:, :2]

        def decode(self, z: Tensor) -> Tensor:
            return torch.cat([z, z, z[:, :1]], 1)

    data = linear_gaussian(eigenvalues=(2.0, 1.0), dimension=5, noise=0.1, n=200)
    model = Plain()
    rows = data.rows(np.arange(200))
    found = vs.effective_beta(
        None, rows, encode=model.encode, decode=model.decode, posterior="mean"
    )
    assert found.value is None and "noise" in found.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "beta"),
    [("VAE_mnist", 1.0), ("betaH_mnist", 4.0), ("VAE_dsprites", 1.0), ("betaH_dsprites", 4.0)],
)
def test_the_weight_of_models_of_others_is_found(name: str, beta: float, shared_data: Find) -> None:
    """On rows of their training: all of dSprites, not a coarser grid of it."""
    images = many_images(name, shared_data, 600)
    if name.endswith("dsprites"):
        data = dsprites()
        images = torch.from_numpy(data.rows(data.sample(600, seed=0)))
    found = vs.effective_beta(rebuilt(name, shared_data), images)
    assert found.value == pytest.approx(beta, rel=0.1)
    assert found.single_weight is not False
    assert found.fisher == pytest.approx(found.value, rel=0.25)


@pytest.mark.slow
def test_a_penalty_on_total_correlation_is_not_one_weight(shared_data: Find) -> None:
    """btcvae_mnist: rate 1, total correlation 6."""
    name = "btcvae_mnist"
    found = vs.effective_beta(
        rebuilt(name, shared_data), many_images(name, shared_data, 600), rows=600
    )
    assert found.single_weight is False
