"""SlowVAE: terms by numerical integration, reductions, the unused posterior, training."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, stats
from torch import Tensor

import vaescope as vs
from vaescope.errors import UsageError
from vaescope.objectives import BetaVAE, SlowVAE, unused_posterior
from vaescope.objectives.slow import Form, laplace_cross_entropy
from vaescope.priors import AnisotropicPrior, StandardNormal, StudentTPrior
from vaescope.schedules import Constant

FORMS: tuple[Form, ...] = ("released", "consistent")


def by_integration(distance: float, sigma: float, rate: float) -> float:
    """-E log p(z), z ~ N(distance, sigma^2), p the Laplace density of that rate around 0."""

    def cost(z: float) -> float:
        density = stats.norm.pdf(z, distance, sigma)
        return float(density * (rate * abs(z) - math.log(rate / 2.0)))

    ends = (distance - 12.0 * sigma, distance + 12.0 * sigma)
    kink = [0.0] if ends[0] < 0.0 < ends[1] else None
    value, _ = integrate.quad(cost, *ends, points=kink, limit=500)
    return float(value)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.3, 6.0, 50.0])
@pytest.mark.parametrize("sigma", [0.01, 0.115, 1.0, 4.0])
@pytest.mark.parametrize("distance", [-3.0, -0.05, 0.0, 1e-3, 0.4, 8.0])
def test_the_laplace_cross_entropy_is_the_integral(
    distance: float, sigma: float, rate: float
) -> None:
    found = laplace_cross_entropy(
        torch.tensor(distance).double(), torch.tensor(2.0 * math.log(sigma)).double(), rate
    )
    expected = by_integration(distance, sigma, rate)
    assert found.item() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def paired(case: Any) -> Any:
    """The case with its rows in another order as the second images."""
    return replace(case, batch=replace(case.batch, pair=case.batch.x.flip(0) + 0.3))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_loss_is_that_of_the_released_code_written_out(
    form: Form, make_case: Callable[..., Any]
) -> None:
    case = paired(make_case())
    terms = case(SlowVAE(Constant(1.5), Constant(7.0), Constant(4.0), form))
    total = 0.0
    for i in range(len(case.batch.x)):
        q, r = (case.vae.encoder(x[i : i + 1]) for x in (case.batch.x, case.batch.pair))
        for own, other, x, eps in (
            (q, r, case.batch.x, case.noise[0]), (r, q, case.batch.pair, case.noise[1]),
        ):  # fmt: skip
            total -= case.vae.decoder(own.at(eps[i : i + 1])).log_prob(x[i : i + 1]).item()
            mean, variance = own.mean[0].tolist(), own.variance[0].tolist()
            for j, (m, v) in enumerate(zip(mean, variance, strict=True)):
                total += 1.5 / 2.0 * 0.5 * (m * m + v - 1.0 - math.log(v))
                total += 7.0 * by_integration(m - other.mean[0, j].item(), math.sqrt(v), 4.0)
                entropies = 0.5 if form == "released" else 1.0  # of each image
                total -= 7.0 * entropies * stats.norm(m, math.sqrt(v)).entropy()
    assert terms.loss.item() == pytest.approx(total / len(case.batch.x), rel=1e-5)


def test_without_gamma_it_is_twice_the_beta_vae_of_both_images_at_half_beta(
    make_case: Callable[..., Any],
) -> None:
    case = paired(make_case())
    slow = case(SlowVAE(Constant(3.0), Constant(0.0)))
    images, noise = torch.cat([case.batch.x, case.batch.pair]), case.noise[:2].flatten(0, 1)
    both = replace(case, batch=replace(case.batch, x=images, pair=None), noise=noise[None])
    torch.testing.assert_close(slow.loss, 2.0 * both(BetaVAE(Constant(1.5))).loss)


def test_the_transition_does_not_care_which_image_comes_first(
    make_case: Callable[..., Any],
) -> None:
    case = paired(make_case())
    other = replace(case.batch, x=case.batch.pair, pair=case.batch.x)
    turned = replace(case, batch=other)
    one, two = case(SlowVAE()).parts, turned(SlowVAE()).parts
    for name in ("rate", "transition"):
        torch.testing.assert_close(one[name], two[name])


@pytest.mark.parametrize(("form", "stated"), [("released", 0.013), ("consistent", 0.048)])
def test_the_unused_posterior_is_the_minimum_of_the_terms(form: Form, stated: float) -> None:
    objective = SlowVAE(form=form)
    found = unused_posterior(objective, StandardNormal(2)).variance
    assert found is not None and found == pytest.approx(stated, abs=5e-4)

    def cost(log_variance: float) -> float:
        q = torch.tensor([[0.0], [0.0]]).double(), torch.tensor([[log_variance]] * 2).double()
        transition = objective._transition(vs.distributions.DiagonalGaussian(*q), torch.tensor(6.0))
        v = math.exp(log_variance)
        return 0.5 * (v - 1.0 - log_variance) + 10.0 * float(transition)

    least = optimize.minimize_scalar(cost, bounds=(-12.0, 3.0), options={"xatol": 1e-10})
    np.testing.assert_allclose(found, math.exp(least.x), rtol=1e-4)


def test_the_unused_posterior_without_beta_or_gamma_and_of_other_priors() -> None:
    only_steps = SlowVAE(beta=Constant(0.0))  # 1 / v = deviation / sqrt(v)
    expected = 1.0 / (2.0 * 6.0 * math.sqrt(2.0 / math.pi)) ** 2
    variance = unused_posterior(only_steps, StandardNormal(1)).variance
    np.testing.assert_allclose(variance, expected)
    only_rate = SlowVAE(gamma=Constant(0.0))
    np.testing.assert_allclose(unused_posterior(only_rate, StandardNormal(1)).variance, 1.0)
    wide = unused_posterior(SlowVAE(), AnisotropicPrior(torch.tensor([0.0, 3.0]))).variance
    assert wide is not None and wide[0] < wide[1] < 0.02
    nothing = unused_posterior(SlowVAE(Constant(0.0), Constant(0.0)), StandardNormal(1))
    assert not nothing.minima and "nothing acts" in nothing.why
    assert "Gaussian prior" in unused_posterior(SlowVAE(), StudentTPrior(2, 5.0)).why
    assert SlowVAE().rate_weight(0) is None and "apart" in SlowVAE().pull(0).no_weight


def test_it_refuses_a_batch_without_pairs_and_posteriors_that_are_not_diagonal(
    make_case: Callable[..., Any],
) -> None:
    with pytest.raises(UsageError, match="second image"):
        make_case()(SlowVAE())
    with pytest.raises(UsageError, match="FullGaussian"):
        paired(make_case("full"))(SlowVAE())


def test_a_run_is_resumed_to_the_same_bytes_and_states_its_unused_posterior(
    tmp_path: Path,
) -> None:
    places = list(range(0, 32, 8))
    grid = {"shape": [0, 1], "scale": [5], "orientation": [0], "x": places, "y": places}
    data = vs.load_dataset("dsprites", size=32, grid=grid)
    settings: dict[str, Any] = {
        "net": {"name": "linear"}, "latent": 3, "batch": 8, "steps": 20, "logging.every": 5,
        "split.shares": [0.75, 0.0, 0.25],
    }  # fmt: skip
    whole = vs.train("slow-vae", data, out=tmp_path / "whole", **settings)

    class Stopped(Exception):
        pass

    def stop(row: Any) -> None:
        if row["step"] == 10:
            raise Stopped

    with pytest.raises(Stopped):
        vs.train("slow-vae", data, out=tmp_path / "cut", on_record=stop, **settings)
    again = vs.train("slow-vae", data, out=tmp_path / "cut", **settings)
    assert again.weights.read_bytes() == whole.weights.read_bytes()
    assert again.history.read_bytes() == whole.history.read_bytes()
    codes = vs.encode(whole, data)
    np.testing.assert_allclose(codes.unused, 0.0131, atol=1e-4)


def test_noise_of_the_two_images_is_not_shared(make_case: Callable[..., Any]) -> None:
    case = paired(make_case())

    def distortion(noise: Tensor) -> float:
        return replace(case, noise=noise)(SlowVAE()).parts["distortion"].item()

    noise = case.noise.clone()
    before = distortion(noise)
    noise[1] += 1.0
    assert distortion(noise) != before
