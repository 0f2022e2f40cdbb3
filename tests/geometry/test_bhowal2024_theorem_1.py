"""bhowal2024 Theorem 1, of the printed objective (10) with Lemmas 1, 7 and 8 in place: every local
minimum is global (a), with orthogonal columns of M_D (b) and variances as 1 / ||c_j||^2 (c)."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.geometry.noise_cost import (
    BUDGET,
    LATENT,
    OUTPUTS,
    POINTS,
    ROUNDING,
    bound,
    cosines,
    descend,
    nonlinear_matrices,
    rotations,
    slope_and_curvatures,
    starts,
    unpacked,
)
from torch import Tensor

Scalar = Callable[[Tensor], Tensor]


def tanh_with_bias(bias: float) -> Scalar:
    """The layer of the released code."""
    return lambda t: (t + bias).tanh()


def centred(f: Scalar) -> Scalar:
    """The f_D of Proposition 4, which is 0 at 0."""
    return lambda t: f(t) - f(torch.zeros_like(t))


FUNCTIONS = {
    "tanh": centred(tanh_with_bias(0.4)),
    "exp": centred(torch.exp),
    "tanh, not 0 at 0": tanh_with_bias(0.4),
}


def derivatives(f: Scalar) -> tuple[float, float, float]:
    """f(0), f'(0), f''(0)."""
    t = torch.zeros((), dtype=torch.float64, requires_grad=True)
    value = f(t)
    (first,) = torch.autograd.grad(value, t, create_graph=True)
    (second,) = torch.autograd.grad(first, t)
    return float(value.detach()), float(first.detach()), float(second)


def stochastic_loss(f: Scalar, columns: Tensor, log_variance: Tensor) -> Tensor:
    """L_rec^stoch at each point by (9), rows j of M_D with their variance by Lemmas 7 and 8."""
    value, first, second = derivatives(f)
    of_rows = (columns.square() * log_variance.exp()[:, None]).sum(2)  # var[M_Dj eps]
    return (first**2 * of_rows + value**2 + value * second * of_rows).sum(1)


def bracket(f: Scalar) -> float:
    """{f'(0)^2 + f(0) f''(0)} of (50)."""
    value, first, second = derivatives(f)
    return first**2 + value * second


def least(f: Scalar, matrices: Tensor) -> float:
    """The least sum of log L. Where f(0) = 0 this is the right side of (53); else k = n f(0)^2 is
    left in each logarithm, log(exp(u_i) + k) is convex, and equal u_i are best."""
    u = np.log(bracket(f)) + bound(matrices, BUDGET) / POINTS
    return float(POINTS * np.log(np.exp(u) + OUTPUTS * derivatives(f)[0] ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_descent_of_the_printed_objective_ends_at_the_same_value(name: str) -> None:
    matrices, f = nonlinear_matrices(0), FUNCTIONS[name]
    tied = torch.full((POINTS, LATENT), -BUDGET / POINTS / LATENT, dtype=torch.float64)

    def objective(parameters: Tensor) -> Tensor:
        turns, log_variance = unpacked(parameters, POINTS, LATENT, BUDGET)
        return stochastic_loss(f, matrices @ turns, log_variance).log().sum()

    for start in starts(POINTS, LATENT):
        value, found = descend(objective, start)
        assert value == pytest.approx(least(f, matrices), abs=ROUNDING)  # (a)
        turns, log_variance = unpacked(found, POINTS, LATENT, BUDGET)
        # What is within e of a minimum has cosines and logarithms of ratios of the order sqrt(e).
        assert cosines(matrices, turns).max() < 1e-5  # (b)
        share = (matrices @ turns).square().sum(1) * log_variance.exp()
        np.testing.assert_allclose(share / share.mean(1, keepdim=True), 1.0, rtol=1e-5)  # (c)
        # With one variance for all latents nothing depends on V_D, and no V_D gets there.
        before = unpacked(torch.from_numpy(start), POINTS, LATENT, BUDGET)[0]
        values = [
            float(stochastic_loss(f, matrices @ v, tied).log().sum()) for v in (before, turns)
        ]
        assert values[0] == pytest.approx(values[1])
        assert values[0] > least(f, matrices) + 0.01


def test_b_is_about_the_jacobian_where_outputs_have_derivatives_of_their_own() -> None:
    """With a bias for each output, as in the released layer, f_D'(0) differs from row to row: the
    columns of diag(f_D'(0)) M_D are orthogonal, those of M_D are not."""
    matrices = nonlinear_matrices(0)
    for biases, alike in (
        (torch.full((OUTPUTS,), 0.7), True),
        (torch.linspace(-1, 2, OUTPUTS), False),
    ):
        slopes = 1.0 - biases.double().tanh() ** 2

        def objective(parameters: Tensor, slopes: Tensor = slopes) -> Tensor:
            turns, log_variance = unpacked(parameters, POINTS, LATENT, BUDGET)
            of_rows = ((matrices @ turns).square() * log_variance.exp()[:, None]).sum(2)
            return (slopes**2 * of_rows).sum(1).log().sum()

        value, found = descend(objective, starts(POINTS, LATENT)[0])
        turns, _ = unpacked(found, POINTS, LATENT, BUDGET)
        weighted = slopes[:, None] * matrices
        assert value == pytest.approx(bound(weighted, BUDGET), abs=ROUNDING)
        assert cosines(weighted, turns).max() < 1e-5
        assert bool(cosines(matrices, turns).max() < 1e-5) is alike


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_the_saddle_of_two_latents_has_its_closed_form(name: str) -> None:
    """Columns of equal length that are not orthogonal: no slope, and along the angle and the
    difference of log variances eigenvalues w (1 -+ sqrt(1 + 16 r^2)) / 2, r the cosine and w the
    share of L that noise makes. One is below 0, so it is not a minimum."""
    f = FUNCTIONS[name]
    matrix = torch.diag(torch.tensor([3.0, 1.0], dtype=torch.float64))[None]
    r, k = 0.8, 2 * derivatives(f)[0] ** 2
    noise = bracket(f) * 10.0 * np.exp(-BUDGET / 2)
    w = noise / (noise + k)

    def value(point: Tensor) -> Tensor:
        columns = matrix @ rotations(point[:1][None] + np.pi / 4)
        log_variance = torch.stack([point[1], -point[1]])[None] - BUDGET / 2
        return stochastic_loss(f, columns, log_variance).log().sum()

    slope, curvatures = slope_and_curvatures(value, torch.zeros(2, dtype=torch.float64))
    assert slope < ROUNDING
    root = np.sqrt(1 + 16 * r**2)
    np.testing.assert_allclose(curvatures, [w * (1 - root) / 2, w * (1 + root) / 2], rtol=1e-9)
    # At the singular axes with equal costs, the minimum of (c), both are above 0.
    best = torch.tensor([-np.pi / 4, -np.log(3.0)], dtype=torch.float64)
    slope, curvatures = slope_and_curvatures(value, best)
    assert slope < ROUNDING and curvatures[0] > 0.01 * w


def test_a_constant_beside_the_noise_leaves_fewer_minima() -> None:
    """The proof drops n f_D(0)^2 and minimises log D. At one point it changes nothing; from a sum
    it takes the minima in which points share the budget unequally."""
    matrices = nonlinear_matrices(0)
    f = FUNCTIONS["tanh, not 0 at 0"]
    _, singular, vt = torch.linalg.svd(matrices, full_matrices=False)
    columns = matrices @ vt.mT
    logs = -2.0 * singular.log()
    even = logs - logs.mean() - BUDGET / POINTS / LATENT  # all points cost the same
    traded = even + torch.tensor([[2.0], [-3.0], [1.0]], dtype=torch.float64)
    k = OUTPUTS * derivatives(f)[0] ** 2
    loss_even, loss_traded = (stochastic_loss(f, columns, each) for each in (even, traded))
    dropped = [float((loss - k).log().sum()) for loss in (loss_even, loss_traded)]
    assert dropped[0] == pytest.approx(dropped[1])  # both minimise log D
    assert float(loss_even.log().sum()) == pytest.approx(least(f, matrices), abs=ROUNDING)
    assert float(loss_traded.log().sum()) > least(f, matrices) + 0.01


def test_the_bracket_must_be_above_0() -> None:
    """f'(0)^2 + f(0) f''(0) multiplies an inequality. Of tanh(t + b) it is (1 - u) (1 - 3 u), u
    the square of tanh b: below 0 for b = 1, where (50) calls more noise less loss, down to L = 0,
    and log L has no minimum. The f_D of Proposition 4 is 0 at 0 and keeps it above."""
    f = tanh_with_bias(1.0)
    u = np.tanh(1.0) ** 2
    assert bracket(f) == pytest.approx((1.0 - u) * (1.0 - 3.0 * u))
    assert bracket(f) < 0.0 < bracket(centred(f))
    matrices = nonlinear_matrices(0)
    uneven = torch.linspace(-1.0, 1.0, LATENT, dtype=torch.float64)

    def loss(g: Scalar, spread: float) -> Tensor:
        log_variance = (spread * uneven - BUDGET / POINTS / LATENT).expand(POINTS, -1)
        return stochastic_loss(g, matrices, log_variance)  # the budget is the same for all spreads

    for g, falls in ((f, True), (centred(f), False)):
        assert bool((loss(g, 4.0) < loss(g, 2.0)).all()) is falls
        assert bool((loss(g, 20.0) < 0.0).all()) is falls


def test_singular_values_must_stay() -> None:
    """Section 3.2 leaves V_D and S_D free. (10) has V_D alone: with S_D free the right side of (53)
    falls without end, while mu = M_D^+ x, the encoder of Lemma 2, grows, and with it the KL."""
    matrices = nonlinear_matrices(0)
    x = torch.ones(OUTPUTS, dtype=torch.float64)
    turn = unpacked(torch.from_numpy(starts(POINTS, LATENT)[0]), POINTS, LATENT, BUDGET)[0]

    def size(of: Tensor) -> float:
        return float((torch.linalg.pinv(of) @ x).square().sum())

    for scale in (1e-1, 1e-3):
        fall = bound(matrices, BUDGET) - bound(scale * matrices, BUDGET)
        assert fall == pytest.approx(-2.0 * POINTS * np.log(scale))
        assert size(scale * matrices) == pytest.approx(size(matrices) / scale**2)
    assert size(matrices @ turn) == pytest.approx(size(matrices))  # V_D keeps both
    assert bound(matrices @ turn, BUDGET) == pytest.approx(bound(matrices, BUDGET))
