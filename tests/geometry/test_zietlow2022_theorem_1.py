"""zietlow2022 Theorem 1, Corollary 1 and bound (5.11), each beside what happens without a premise.

Theorem 1: minimise sum_i log E||J_i eps_i||^2 over rotations V_i and variances on a budget. (a)
Every local minimum is global. (b) In every global minimum the columns of every J_i are orthogonal.
"""

import itertools

import numpy as np
import pytest
import torch
from tests.geometry.noise_cost import (
    BUDGET,
    LATENT,
    MATRICES,
    POINTS,
    ROUNDING,
    Vector,
    bound,
    cosines,
    costs,
    descend,
    nonlinear_decoder,
    nonlinear_matrices,
    rotations,
    slope_and_curvatures,
    starts,
    unpacked,
)
from torch import Tensor

KINDS = sorted(MATRICES)
M_1 = torch.tensor([[[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]]], dtype=torch.float64)  # (3.20)


def drawn(count: int, *, scale: float = 2.0) -> list[tuple[Tensor, Tensor]]:
    """Random rotations and log variances on the budget."""
    generator = np.random.default_rng(1)
    size = POINTS * (LATENT * (LATENT - 1) // 2 + LATENT)
    return [
        unpacked(torch.from_numpy(generator.normal(scale=scale, size=size)), POINTS, LATENT, BUDGET)
        for _ in range(count)
    ]


def minimiser(matrices: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """The explicit minimum of section 5.1: singular axes, equal costs ||c_j||^2 sigma_j^2 within a
    point. `shares` of the budget go to the points in any way."""
    _, singular, vt = torch.linalg.svd(matrices, full_matrices=False)
    logs = -2.0 * singular.log()
    d = matrices.shape[2]
    return vt.mT, logs - logs.mean(1, keepdim=True) - shares[:, None] / d


def log_cost(matrices: Tensor, parameters: Tensor, budget: float = BUDGET) -> Tensor:
    turns, log_variance = unpacked(parameters, len(matrices), matrices.shape[2], budget)
    return costs(matrices, turns, log_variance).log().sum()


@pytest.mark.parametrize("kind", KINDS)
def test_bound_5_11_holds_for_all_rotations_and_noise_and_is_reached(kind: str) -> None:
    matrices = MATRICES[kind](0)
    for turns, log_variance in drawn(50):
        assert costs(matrices, turns, log_variance).log().sum() > bound(matrices, BUDGET)
    for shares in ([3.0, 3.0, 3.0], [-20.0, 30.0, -1.0]):  # the logarithm lets points trade budget
        turns, log_variance = minimiser(matrices, torch.tensor(shares, dtype=torch.float64))
        least = float(costs(matrices, turns, log_variance).log().sum())
        assert least == pytest.approx(bound(matrices, BUDGET), abs=ROUNDING)
        swapped = costs(matrices, turns, log_variance.flip(1)).log().sum()
        assert float(swapped) > least + 0.1


def test_bound_5_11_needs_noise_that_is_independent_per_latent() -> None:
    """(3.12). The worked example at 45 degrees, variances that reach (5.6), correlation -0.99."""
    columns = M_1[0] @ rotations(torch.tensor([[np.pi / 4]], dtype=torch.float64))[0]
    gram = columns.T @ columns
    deviation = (1.0 / gram.diagonal()).sqrt()
    budget = float(-2.0 * deviation.log().sum())
    for correlation, below in ((0.0, False), (-0.99 * float(gram[0, 1].sign()), True)):
        covariance = torch.outer(deviation, deviation) * torch.tensor(
            [[1.0, correlation], [correlation, 1.0]]
        )
        cost = float((gram @ covariance).trace())  # E||J eps||^2
        assert bool(np.log(cost) < bound(M_1, budget)) is below


def test_a_singular_jacobian_leaves_no_minimum() -> None:
    """The proof sets such J_i aside; the theorem does not say so. A latent that does nothing at one
    point pays for the precision of all others."""
    singular = nonlinear_matrices(0).clone()
    regular = singular.clone()
    singular[1, :, 2] = 0.0
    turns = torch.eye(LATENT, dtype=torch.float64).expand(POINTS, -1, -1)
    others = POINTS * LATENT - 1

    def value(matrices: Tensor, noise: float) -> float:
        log_variance = torch.full((POINTS, LATENT), -noise / others, dtype=torch.float64)
        log_variance[1, 2] = noise
        return float(costs(matrices, turns, log_variance).log().sum())

    for noise in (1.0, 10.0, 100.0):
        fall = value(singular, 0.0) - value(singular, noise)
        assert fall == pytest.approx(POINTS * noise / others)
        assert value(regular, noise) > bound(regular, 0.0)
    # With the product of the singular values that are not 0, (5.11) is false.
    kept = np.linalg.svd(singular.numpy(), compute_uv=False)
    logs = np.log(kept[kept > 1e-12]).sum()
    assert value(singular, 100.0) < POINTS * np.log(LATENT) + 2.0 / LATENT * logs


@pytest.mark.parametrize("kind", KINDS)
def test_a_every_descent_ends_at_the_bound(kind: str) -> None:
    matrices = MATRICES[kind](0)
    for start in starts(POINTS, LATENT):
        value, _ = descend(lambda p: log_cost(matrices, p), start)
        assert value == pytest.approx(bound(matrices, BUDGET), abs=ROUNDING)

    def one_rotation(parameters: Tensor) -> Tensor:
        turns, log_variance = unpacked(parameters, POINTS, LATENT, BUDGET)
        return costs(matrices, turns[:1], log_variance).log().sum()

    # One rotation for all points is enough where all have one Jacobian, and only there.
    value, _ = descend(one_rotation, starts(POINTS, LATENT)[0])
    assert (value > bound(matrices, BUDGET) + 0.01) is (kind == "nonlinear")


def profile(matrices: Tensor, *, count: int = 1800) -> Vector:
    """Least value over the noise of two latents at each angle of a quarter turn, by (5.6)."""
    angles = torch.arange(count, dtype=torch.float64)[:, None] * (np.pi / 2 / count)
    columns = matrices[:, None] @ rotations(angles)  # (points, angles, outputs, latent)
    return np.asarray(columns.square().sum(2).log().sum((0, 2)) / 2.0)


def minima(values: Vector) -> Vector:
    """Local minima around a circle: a quarter turn swaps the columns."""
    lower = (values < np.roll(values, 1)) & (values <= np.roll(values, -1))
    return np.sort(values[lower])


def test_a_needs_a_rotation_of_its_own_at_every_point() -> None:
    """One rotation for two points, which is what a rotation of the whole latent space does: a
    minimum near the axes of either, of different depth, and neither reaches the bound."""
    stretch = torch.diag(torch.tensor([1.0, 0.1], dtype=torch.float64))
    more = torch.diag(torch.tensor([1.0, 0.03], dtype=torch.float64))
    turn = rotations(torch.tensor([[0.6]], dtype=torch.float64))[0]
    two = torch.stack([stretch, more @ turn])
    for alone in (two[:1], two[1:]):
        assert len(minima(profile(alone))) == 1
    together = minima(profile(two))
    assert len(together) == 2 and together[1] - together[0] > 0.1
    reachable = sum(float(profile(alone).min()) for alone in (two[:1], two[1:]))
    assert together[0] > reachable + 0.1


def test_a_the_saddle_of_two_latents_has_its_closed_form() -> None:
    """Columns of equal length that are not orthogonal. With r = (s_1^2 - s_2^2) / (s_1^2 + s_2^2),
    along the angle and along the difference of log variances the second derivatives are 0 and 1,
    the mixed one 2 r: eigenvalues (1 -+ sqrt(1 + 16 r^2)) / 2, one of them below 0."""
    singular = torch.tensor([3.0, 1.0], dtype=torch.float64)
    r = 0.8

    def value(point: Tensor) -> Tensor:
        turn = rotations(point[:1][None] + np.pi / 4)
        log_variance = torch.stack([point[1], -point[1]])[None]
        return costs(torch.diag(singular)[None], turn, log_variance).log().sum()

    saddle = torch.zeros(2, dtype=torch.float64)
    slope, found = slope_and_curvatures(value, saddle)
    assert slope < ROUNDING
    np.testing.assert_allclose(found, [(1 - np.sqrt(1 + 16 * r**2)) / 2,
                                       (1 + np.sqrt(1 + 16 * r**2)) / 2])  # fmt: skip
    # At equal singular values the columns are orthogonal for every V, and nothing is below 0.
    singular = torch.ones(2, dtype=torch.float64)
    assert slope_and_curvatures(value, saddle)[1][0] > -ROUNDING


@pytest.mark.parametrize("planes", [((0, 1),), ((1, 2),), ((0, 3), (1, 2)), ((0, 1), (2, 3))])
def test_a_stationary_points_off_the_bound_are_saddles(planes: tuple[tuple[int, int], ...]) -> None:
    """Rotating singular axes by 45 degrees makes columns of equal length that are not orthogonal;
    with equal costs no slope is left."""
    singular = torch.diag(torch.tensor([4.0, 2.5, 1.5, 1.0], dtype=torch.float64))
    at_the_bound, saddle = singular.clone(), singular.clone()
    for plane in planes:
        turn = torch.eye(4, dtype=torch.float64)
        turn[np.ix_(plane, plane)] = rotations(torch.tensor([[np.pi / 4]], dtype=torch.float64))[0]
        saddle = saddle @ turn
    for matrix, is_saddle in ((saddle[None], True), (at_the_bound[None], False)):
        free = -matrix.square().sum(1).log()[0]
        parameters = torch.cat([torch.zeros(6, dtype=torch.float64), free])

        def value(point: Tensor, matrix: Tensor = matrix) -> Tensor:
            return log_cost(matrix, point)

        slope, curvatures = slope_and_curvatures(value, parameters)
        assert slope < ROUNDING
        excess = float(value(parameters)) - bound(matrix, BUDGET)
        if is_saddle:
            assert excess > 0.01 and curvatures[0] < -0.01
        else:
            assert abs(excess) < ROUNDING and curvatures[0] > -ROUNDING


@pytest.mark.parametrize("kind", KINDS)
def test_b_what_is_near_the_bound_is_near_orthogonal(kind: str) -> None:
    """Any excess e over (5.11) bounds all cosines: cos^2 <= 1 - exp(-d e), by Fischer's inequality.
    At e = 0, in every global minimum, they are 0."""
    matrices = MATRICES[kind](0)
    singular_axes = minimiser(matrices, torch.zeros(POINTS, dtype=torch.float64))[0]
    for scale in (2.0, 1e-1, 1e-3):
        for turns, _ in drawn(20, scale=scale):
            near = singular_axes @ turns
            log_variance = -(matrices @ near).square().sum(1).log()  # equal costs
            budget = float(-log_variance.sum())
            excess = float(costs(matrices, near, log_variance).log().sum()) - bound(
                matrices, budget
            )
            assert cosines(matrices, near).max() ** 2 <= -np.expm1(-LATENT * excess) + ROUNDING


def test_b_the_cosine_of_two_latents_is_that_of_the_excess() -> None:
    """With d = 2, one point and equal costs the inequality above is an equality."""
    for angle in (0.0, 0.3, 0.7):
        turns = rotations(torch.tensor([[angle]], dtype=torch.float64))
        squares = (M_1 @ turns).square().sum(1)
        budget = float(squares.log().sum())
        excess = float(costs(M_1, turns, -squares.log()).log()) - bound(M_1, budget)
        assert float(cosines(M_1, turns)[0]) ** 2 == pytest.approx(-np.expm1(-2.0 * excess))


def test_b_needs_variances_that_are_free_and_covariances_that_are_diagonal() -> None:
    """Without either premise every rotation is a global minimum."""
    matrices = nonlinear_matrices(0)
    tied = torch.full((POINTS, LATENT), -BUDGET / POINTS / LATENT, dtype=torch.float64)
    singular_axes = minimiser(matrices, torch.zeros(POINTS, dtype=torch.float64))[0]
    best = float(costs(matrices, singular_axes, tied).log().sum())
    for turns, _ in drawn(10):
        assert cosines(matrices, turns).max() > 0.1
        assert float(costs(matrices, turns, tied).log().sum()) == pytest.approx(best)
        # One full covariance for each point on the same budget, -log det.
        grams = (matrices @ turns).mT @ (matrices @ turns)
        scale = (grams.logdet().sum() - BUDGET) / POINTS / LATENT
        covariance = grams.inverse() * scale.exp()
        assert float(-covariance.logdet().sum()) == pytest.approx(BUDGET)
        cost = (grams @ covariance).diagonal(dim1=1, dim2=2).sum(1)
        assert float(cost.log().sum()) == pytest.approx(bound(matrices, BUDGET))


@pytest.mark.parametrize("kind", KINDS)
def test_corollary_1_one_point_without_the_logarithm(kind: str) -> None:
    """(3.16, 3.17): the least E||J eps||^2 is d (prod_j s_j^2)^(1/d) exp(-C/d), (5.8)."""
    matrix = MATRICES[kind](1)[1:2]
    least = float(np.exp(bound(matrix, BUDGET)))
    singular = np.linalg.svd(matrix[0].numpy(), compute_uv=False)
    assert least == pytest.approx(LATENT * np.exp(-BUDGET / LATENT) * singular.prod() ** (2 / 3))

    def cost(parameters: Tensor) -> Tensor:
        return costs(matrix, *unpacked(parameters, 1, LATENT, BUDGET)).sum()

    def tied(parameters: Tensor) -> Tensor:
        turns, _ = unpacked(parameters, 1, LATENT, BUDGET)
        return costs(matrix, turns, torch.full((1, LATENT), -BUDGET / LATENT).double()).sum()

    for start in starts(1, LATENT):
        value, found = descend(cost, start)
        assert value == pytest.approx(least, abs=ROUNDING)
        # cos^2 <= 1 - exp(-d e), with e the excess of the logarithm that rounding leaves.
        assert cosines(matrix, unpacked(found, 1, LATENT, BUDGET)[0])[0] ** 2 < LATENT * ROUNDING
        # With one variance for all latents a descent stops where it starts.
        _, found = descend(tied, start)
        np.testing.assert_array_equal(found, start)
        assert cosines(matrix, unpacked(found, 1, LATENT, BUDGET)[0])[0] ** 2 > LATENT * ROUNDING


def test_without_the_logarithm_the_joint_problem_has_its_closed_form_too() -> None:
    """sum_i E||J_i eps_i||^2 on one budget: N d (prod_ij s_ij^2)^(1/Nd) exp(-C/Nd), by the same two
    inequalities. All points then cost the same; with the logarithm any sharing is as good."""
    matrices = nonlinear_matrices(0)
    size = POINTS * LATENT
    logs = np.log(np.linalg.svd(matrices.numpy(), compute_uv=False)).sum()
    least = size * np.exp((2.0 * logs - BUDGET) / size)

    def cost(parameters: Tensor) -> Tensor:
        return costs(matrices, *unpacked(parameters, POINTS, LATENT, BUDGET)).sum()

    for start in starts(POINTS, LATENT):
        value, found = descend(cost, start)
        assert value == pytest.approx(least, abs=ROUNDING)
        each = costs(matrices, *unpacked(found, POINTS, LATENT, BUDGET))
        np.testing.assert_allclose(each, least / POINTS, rtol=1e-6)  # the root of ROUNDING
    equal_shares = torch.full((POINTS,), BUDGET / POINTS, dtype=torch.float64)
    assert float(costs(matrices, *minimiser(matrices, equal_shares)).sum()) > least + 0.01


def test_the_bound_is_the_decoders_own_where_noise_is_small() -> None:
    """(3.13) puts J eps in place of Dec(mu + eps) - Dec(mu): an error that falls with the variance,
    here by exp(2) for 6 LATENT of budget; with much noise tanh saturates, below the bound."""
    decode, points = nonlinear_decoder(0)
    matrices = nonlinear_matrices(0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    noise = torch.tensor(list(itertools.product(nodes, repeat=LATENT)))
    weight = torch.tensor(list(itertools.product(weights / weights.sum(), repeat=LATENT))).prod(1)

    def off(budget: float) -> float:
        """Stochastic loss (3.9) at the minimiser of (3.14), above (5.11)."""
        shares = torch.full((POINTS,), budget / POINTS, dtype=torch.float64)
        turns, log_variance = minimiser(matrices, shares)
        total = 0.0
        for k, mean in enumerate(points):
            moved = mean + (noise * (0.5 * log_variance[k]).exp()) @ turns[k].T
            with torch.no_grad():
                change = (decode(moved) - decode(mean[None])).square().sum(1)
            total += float((weight @ change).log())
        return total - bound(matrices, budget)

    few = 12.0 * POINTS * LATENT
    assert abs(off(few)) < 1e-3
    assert off(few) / off(few + 2.0 * POINTS * LATENT) == pytest.approx(np.exp(2.0), rel=1e-3)
    assert off(-2.0 * POINTS * LATENT) < -1.0


def test_lemma_5_rotates_the_columns_by_a_factor_on_the_left_of_v() -> None:
    """Of U S V^T the other columns stay if R V takes the place of V. With V R, as printed above
    (5.27), they move, so that the case of two columns is not reached."""
    generator = np.random.default_rng(0)
    m = generator.normal(size=(4, 4))
    u, s, vt = np.linalg.svd(m)

    def turned(left: bool, angle: float) -> Vector:
        turn = np.eye(4)
        turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        v = turn @ vt.T if left else vt.T @ turn
        return np.asarray(u * s @ v.T)

    def product(matrix: Vector) -> float:
        return float(np.log(np.linalg.norm(matrix, axis=0)).sum())

    for angle in (-0.01, 0.01):
        np.testing.assert_allclose(turned(True, angle)[:, 2:], m[:, 2:], atol=1e-12)
        assert np.abs(turned(False, angle)[:, 2:] - m[:, 2:]).max() > 1e-3
    assert min(product(turned(True, angle)) for angle in (-0.01, 0.01)) < product(m)
