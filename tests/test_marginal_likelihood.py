"""Against exact values that share no code: normal densities of scipy, and quadrature in NumPy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

import vaescope as vs
from vaescope.errors import RangeError, UsageError
from vaescope.inspection.dissect import dissect
from vaescope.inspection.effort import EFFORTS, Effort
from vaescope.marginal_likelihood import LogLikelihood, posterior_contrast
from vaescope.report.sections import page_of

Matrix = NDArray[np.float64]
ROWS, COLUMNS, NOISE = 20, 12, 0.5


def linear(d: int, beta: float) -> tuple[dict[str, Any], Matrix, Matrix]:
    """A linear-Gaussian model with slanted columns and the best diagonal posterior under beta:
    how to open it, log p(x) of each row, and the contrast of its posteriors."""
    draw = np.random.default_rng(d)
    weight = draw.normal(size=(COLUMNS, d)) * np.linspace(0.3, 1.0, d)
    covariance = weight @ weight.T + NOISE**2 * np.eye(COLUMNS)
    x = draw.multivariate_normal(np.zeros(COLUMNS), covariance, size=ROWS)
    precision = np.eye(d) + weight.T @ weight / NOISE**2
    gain = torch.from_numpy(np.linalg.solve(precision, weight.T) / NOISE**2).float()
    variance = 1.0 / (1.0 + (weight**2).sum(0) / NOISE**2 / beta)
    std = torch.from_numpy(np.sqrt(variance)).float()
    matrix = torch.from_numpy(weight).float()

    def encode(x: Tensor) -> torch.distributions.Normal:
        mean = x @ gain.T
        return torch.distributions.Normal(mean, std.expand_as(mean))

    exact = stats.multivariate_normal(np.zeros(COLUMNS), covariance).logpdf(x)
    contrast = 0.5 * (np.log(np.diag(precision)).sum() - np.log(np.linalg.det(precision)))
    return {
        "encode": encode, "decode": lambda z: z @ matrix.T, "data": x.astype("f4"),
        "likelihood": f"gaussian:{NOISE**2}", "output": "pixels", "prior": "normal",
    }, exact, contrast  # fmt: skip


@pytest.mark.parametrize("d", [2, 8])
@pytest.mark.parametrize("beta", [0.1, 1.0, 20.0])
def test_it_is_exact_for_linear_gaussian_models_whatever_beta_made_the_posteriors(
    d: int, beta: float
) -> None:
    how, exact, _ = linear(d, beta)
    found = vs.log_likelihood(**how, draws=400, pilot=200)
    assert found.believable
    assert abs(found.value - exact.mean()) < 0.1
    assert np.abs(found.per_example - exact).max() < 0.2
    assert abs(found.value - exact.mean()) < 4 * found.error + found.shortfall + 1e-3


def test_the_gap_of_the_best_diagonal_posterior_is_the_contrast() -> None:
    how, _, contrast = linear(8, 1.0)
    found = vs.log_likelihood(**how, draws=2000)
    assert contrast > 0.5
    assert found.contrast == pytest.approx(contrast, rel=1e-4)
    assert found.gap == pytest.approx(contrast, abs=0.05)
    assert found.rest == pytest.approx(0.0, abs=0.05)


def test_where_the_metric_outweighs_the_prior_the_contrast_is_that_of_the_decoder() -> None:
    matrix = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.5, 0.0]])
    limit = vs.geometry.ima_contrast(lambda z: z @ matrix.T, torch.zeros(1, 2)).value
    gram = (matrix.T @ matrix).double().numpy()[None]
    gaps = [float(posterior_contrast(p * gram, np.ones(2))[0]) for p in (1e0, 1e2, 1e6)]
    assert gaps[0] < gaps[1] < gaps[2]
    assert gaps[2] == pytest.approx(limit, rel=1e-4)


def test_the_bound_by_q_alone_is_low_and_not_believed_where_q_is_too_narrow() -> None:
    how, exact, _ = linear(8, 0.1)
    found = vs.log_likelihood(**how, draws=400, pilot=0)
    assert found.value < exact.mean() - 0.5
    assert not found.believable
    assert "Do not trust this" in found.summary()


GRID = np.linspace(-7.0, 7.0, 401)
POINTS = np.stack(np.meshgrid(GRID, GRID), -1).reshape(-1, 2)
CELL = (GRID[1] - GRID[0]) ** 2


def bent(z: Any, tanh: Callable[[Any], Any]) -> list[Any]:
    """Three outputs of two latents, none of them linear."""
    a, b = z[..., 0], z[..., 1]
    return [2.0 * tanh(a + 0.5 * b), b + 0.3 * a * a, tanh(a) - b]


def quadrature(log_prior: Matrix, log_fit: Callable[[Matrix, Matrix], Matrix], x: Matrix) -> Matrix:
    """log p(x) of each row by the rule of rectangles over the plane."""
    outputs = np.stack(bent(POINTS, np.tanh), -1)
    return np.array([
        np.logaddexp.reduce(log_prior + log_fit(outputs, row)) + np.log(CELL) for row in x
    ])  # fmt: skip


def gaussian_fit(y: Matrix, x: Matrix, variance: float) -> Matrix:
    return np.asarray(stats.norm(y, np.sqrt(variance)).logpdf(x).sum(-1))


def bernoulli_fit(y: Matrix, x: Matrix) -> Matrix:
    return np.asarray(-np.logaddexp(0.0, np.where(x > 0.5, -y, y)).sum(-1))


def rough(x: Tensor) -> torch.distributions.Normal:
    """An encoder that is not even right on average."""
    mean = torch.stack([0.4 * x[:, 0] + 0.1, 0.3 * x[:, 1] - 0.2], 1)
    return torch.distributions.Normal(mean, torch.full_like(mean, 0.3))


@pytest.mark.parametrize(
    ("prior", "marginal"), [("normal", stats.norm), ("student-t:5", stats.t(5))]
)
@pytest.mark.parametrize("likelihood", ["gaussian:0.25", "bernoulli"])
def test_it_is_exact_for_bent_models_of_two_latents(
    prior: str, marginal: Any, likelihood: str
) -> None:
    draw = np.random.default_rng(1)
    z = draw.normal(size=(ROWS, 2))
    x = np.stack(bent(z, np.tanh), -1) + 0.5 * draw.normal(size=(ROWS, 3))
    fit: Callable[[Matrix, Matrix], Matrix] = partial(gaussian_fit, variance=0.25)
    if likelihood == "bernoulli":
        x, fit = (x > 0).astype(float), bernoulli_fit
    exact = quadrature(marginal.logpdf(POINTS).sum(-1), fit, x)
    found = vs.log_likelihood(
        encode=rough, decode=lambda z: torch.stack(bent(z, torch.tanh), -1), data=x.astype("f4"),
        likelihood=likelihood, prior=prior,
        output="logits" if likelihood == "bernoulli" else "pixels", kind="signals",
    )  # fmt: skip
    assert found.believable
    assert abs(found.value - exact.mean()) < 0.1
    assert np.abs(found.per_example - exact).max() < 0.2
    assert (found.contrast is None) == (prior != "normal")


def test_a_row_has_the_same_noise_whichever_others_are_looked_at() -> None:
    how, *_ = linear(2, 1.0)
    many = vs.log_likelihood(**how, draws=50, pilot=50)
    again = vs.log_likelihood(**how, draws=50, pilot=50)
    two = vs.log_likelihood(**how, draws=50, pilot=50, examples=2)
    np.testing.assert_array_equal(many.per_example, again.per_example)
    np.testing.assert_allclose(two.per_example, many.per_example[[0, -1]], rtol=1e-5)
    other = vs.log_likelihood(**how, draws=50, pilot=50, seed=1)
    assert np.all(other.per_example != many.per_example)


def test_points_have_no_density_to_weigh_with() -> None:
    how, *_ = linear(2, 1.0)
    point = how | {"encode": lambda x: x[:, :2]}
    with pytest.raises(UsageError, match="points"):
        vs.log_likelihood(**point)
    with pytest.raises(RangeError, match="25 draws"):
        vs.log_likelihood(**how, draws=10)


@pytest.fixture(scope="module")
def thorough() -> Any:
    how, *_ = linear(2, 1.0)
    fast = EFFORTS["fast"]
    small = Effort(20, 20, 10, 100, 10, 5, 2, 20, fast.metrics, pilot=50)
    return dissect(vs.open_model(**how), small, images=False)


def test_a_thorough_dissection_says_it_in_its_json_and_its_page(thorough: Any) -> None:
    found = thorough.log_likelihood
    assert isinstance(found, LogLikelihood)
    content = thorough.to_dict()["log_likelihood"]
    assert content["value"] == thorough.to_dict()["fit"]["log_likelihood"] == found.value
    assert content["gap"] == pytest.approx(content["contrast"] + content["rest"])
    section = next(one for one in page_of(thorough, images=False).sections
                   if one.id == "likelihood")  # fmt: skip
    assert any(found.summary() in str(part) for part in section.parts)
