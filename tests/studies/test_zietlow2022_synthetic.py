"""What the studies of zietlow2022 on synthetic data measure, on models whose answers are known."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch

from vaescope.build import build_data, build_vae
from vaescope.data.synthetic import principal_axes
from vaescope.models import OpenModel
from vaescope.opening import open_vae
from vaescope.studies.zietlow2022 import figure_7_6, theorem_2, worked_example
from vaescope.studies.zietlow2022.synthetic import SIDE, portrait
from vaescope.sweeps.grid import plan


def _number(row: Mapping[str, object], name: str) -> float:
    value = row[name]
    assert isinstance(value, float)
    return value


CLOUD = {
    "preset": "beta-vae", "data.name": "linear-gaussian", "data.eigenvalues": [4.0, 1.0, 0.3],
    "data.dimension": 3, "data.n": 2000, "net.name": "linear", "latent": 3,
    "objective.beta": 1.0, "batch": 64, "steps": 1,
}  # fmt: skip


def _optimum(beta: float, *, turn: float = 0.0) -> OpenModel:
    """A linear VAE with the weights of probabilistic PCA, its latents turned in a plane."""
    (spec,) = plan([{**CLOUD, "objective.beta": beta}])
    data = build_data(spec.data)
    x = data.rows(np.arange(len(data))).astype(np.float64)
    variances, axes = principal_axes(x)
    noise = beta / 2.0
    lengths = np.sqrt(np.maximum(variances - noise, 0.0))
    rotation = np.eye(3)
    rotation[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    encoder = rotation @ np.diag(lengths / variances) @ axes.T
    decoder = axes @ np.diag(lengths) @ rotation.T
    spread = np.minimum(noise / variances, 1.0)
    vae = build_vae(spec)
    centre = x.mean(axis=0)
    with torch.no_grad():
        for name, value in {
            "decoder.body.0.weight": decoder,
            "decoder.body.0.bias": centre,
            "encoder.posterior.head.weight": np.concatenate([encoder, np.zeros((3, 3))]),
            "encoder.posterior.head.bias": np.concatenate([-encoder @ centre, np.log(spread)]),
        }.items():
            vae.get_parameter(name).copy_(torch.from_numpy(value))
    return open_vae(vae, data, spec=spec, rows=np.arange(len(data)))


@pytest.mark.parametrize(("beta", "live"), [(0.4, 3), (1.0, 2), (4.0, 1)])
def test_probabilistic_pca_lies_on_the_closed_form(beta: float, live: int) -> None:
    found = theorem_2.measured(_optimum(beta))
    assert (found["used"], found["miscount"]) == (live, 0)
    assert _number(found, "variance_miss") < 1e-5
    assert _number(found, "angle") < 0.01


def test_turned_latents_keep_the_plane_and_lose_the_axes() -> None:
    found = theorem_2.measured(_optimum(1.0, turn=np.pi / 6))
    assert _number(found, "angle") > 10.0
    assert _number(found, "cosine") > 0.1
    assert _number(found, "plane_angle") < 0.01


@pytest.mark.slow
def test_the_best_elbo_of_an_orthogonal_linear_decoder_is_the_exact_likelihood() -> None:
    """Its posteriors are Gaussian and diagonal, so nothing is lost."""
    lengths, precision = torch.tensor([2.0, 0.5], dtype=torch.float64), 10.0
    angle = torch.tensor(0.7, dtype=torch.float64)
    turn = torch.stack(
        [torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])]
    )

    def f(z: torch.Tensor) -> torch.Tensor:
        return (z * lengths) @ turn.T

    z = torch.randn(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = f(z)
    start, norms = torch.zeros_like(z), lengths.expand_as(z)
    mean, log_scale = figure_7_6.best_posterior(f, x, start, norms, precision)
    variances = lengths**2 + 1.0 / precision
    wanted = -0.5 * ((x @ turn) ** 2 / variances + torch.log(2.0 * torch.pi * variances)).sum(-1)
    found = figure_7_6.elbos(f, x, mean, log_scale, precision)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-7)


def test_the_toy_is_invertible_and_its_columns_are_not_orthogonal() -> None:
    f = figure_7_6.toy(3)
    z = torch.randn(100, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    jacobian = torch.func.vmap(torch.func.jacrev(f))(z)
    signs = torch.linalg.slogdet(jacobian).sign
    assert (signs == signs[0]).all()
    assert (jacobian[:, :, 0] * jacobian[:, :, 1]).sum(-1).abs().max() > 0.01


def test_the_worked_example_has_the_numbers_of_hand() -> None:
    found = worked_example.compute({"seed": 5})
    bounds = [_number(found, name) for name in ("bound", "bound_turned", "bound_best")]
    np.testing.assert_allclose(bounds, [2.0 * 150.0**0.5, (61.0 * 45.0) ** 0.5, 2.0 * 134.0**0.5])


def test_a_portrait_of_the_sources_themselves_has_a_colour_in_each_corner() -> None:
    (spec,) = plan([{"preset": "beta-vae", "data.name": "synth-linear", "data.n": 4000,
                     "latent": 2, "steps": 1}])  # fmt: skip
    data = build_data(spec.data)
    opened = open_vae(build_vae(spec), data, spec=spec, rows=np.arange(4000))
    codes = opened.codes
    assert data.sources is not None
    straight = type(codes)(data.sources, codes.variance, codes.sample)
    opened.__dict__["_encoded"] = (straight, None)  # as if the encoder had given these
    picture = portrait(opened)
    assert picture.shape == (SIDE, SIDE, 3)
    y, x = np.nonzero(picture[:, :, 1] < 1.0)
    red, blue = picture[y, x, 0], picture[y, x, 2]
    assert np.corrcoef(x, red)[0, 1] > 0.95  # the first source grows to the right
    assert np.corrcoef(-y, blue)[0, 1] > 0.95  # the second upwards
