from itertools import permutations, product

import numpy as np
import pytest
import torch
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import ortho_group
from torch import Tensor, nn

from vaescope.errors import UsageError
from vaescope.geometry import (
    distance_of,
    distance_to_orthogonality,
    grams_of,
    haar_baseline,
    nearest_signed_permutation,
    random_decoder_baseline,
    reinitialised,
)
from vaescope.geometry.orthogonality import degenerate, distances
from vaescope.nets import SquaredErrorLikelihood
from vaescope.vae import Decoder


def cost(v: np.ndarray, p: np.ndarray) -> float:
    return float(np.abs(v - p).sum())


def brute_force(v: np.ndarray) -> float:
    """Least L1 distance over all permutations; the sign of each selected entry is free."""
    d = len(v)
    chosen = np.abs(v[np.arange(d), list(permutations(range(d)))])  # (permutations, d)
    return float((np.abs(v).sum() - chosen.sum(1) + (1.0 - chosen).sum(1)).min())


def milp_of_the_thesis(v: np.ndarray) -> float:
    """zietlow2022 eq. (3.29): binary P+ and P-, continuous D >= |V - P|."""
    d = len(v)
    size = d * d
    eye = np.eye(size)
    lower = np.hstack([eye, -eye, -eye])  # P - V <= D
    upper = np.hstack([-eye, eye, -eye])  # V - P <= D
    rows = np.kron(np.eye(d), np.ones(d))
    columns = np.kron(np.ones(d), np.eye(d))
    nothing = np.zeros((d, size))
    constraints = [
        LinearConstraint(lower, ub=v.ravel()),
        LinearConstraint(upper, ub=-v.ravel()),
        LinearConstraint(np.hstack([rows, rows, nothing]), 1.0, 1.0),
        LinearConstraint(np.hstack([columns, columns, nothing]), 1.0, 1.0),
    ]
    solved = milp(
        np.r_[np.zeros(2 * size), np.ones(size)],
        constraints=constraints,
        integrality=np.r_[np.ones(2 * size), np.zeros(size)],
        bounds=Bounds(0.0, np.r_[np.ones(2 * size), np.full(size, np.inf)]),
    )
    assert solved.success
    return float(solved.fun)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_assignment_equals_brute_force_on_random_orthogonal_matrices(d: int) -> None:
    for v in ortho_group.rvs(d, size=1000, random_state=d):
        p = nearest_signed_permutation(v)
        assert cost(v, p) == pytest.approx(brute_force(v), abs=1e-12)
        assert distances(v[None])[0] == pytest.approx(np.linalg.norm(v - p), abs=1e-12)


def test_brute_force_over_signs_too_confirms_the_shortcut() -> None:
    for v in ortho_group.rvs(3, size=20, random_state=0):
        every = (
            np.eye(3)[list(order)] * np.array(signs)
            for order in permutations(range(3))
            for signs in product((-1.0, 1.0), repeat=3)
        )
        nearest = min(every, key=lambda p: cost(v, p))
        np.testing.assert_array_equal(nearest, nearest_signed_permutation(v))


@pytest.mark.slow
def test_assignment_equals_the_thesis_milp_in_ten_dimensions() -> None:
    for v in ortho_group.rvs(10, size=20, random_state=0):
        assert cost(v, nearest_signed_permutation(v)) == pytest.approx(
            milp_of_the_thesis(v), abs=1e-6
        )


@pytest.mark.slow
@pytest.mark.parametrize(("d", "mean"), [(5, 1.635), (6, 1.912), (10, 2.849)])
def test_haar_baselines_at_a_hundred_thousand_draws(d: int, mean: float) -> None:
    found = haar_baseline(d, draws=100_000)
    assert found.value == pytest.approx(mean, abs=0.005)
    assert found.n == 100_000


def test_the_haar_baseline_of_two_latents_is_exact() -> None:
    assert haar_baseline(2).value == pytest.approx(0.5483, abs=5e-5)
    sample = distances(ortho_group.rvs(2, size=100_000, random_state=0))
    assert sample.mean() == pytest.approx(haar_baseline(2).value, abs=0.005)
    assert haar_baseline(1).value == 0.0


def test_distance_is_zero_for_orthogonal_columns_in_any_order_and_sign(
    generator: np.random.Generator,
) -> None:
    basis = np.linalg.qr(generator.normal(size=(30, 6)))[0]
    norms = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.1])
    for _ in range(20):
        order = generator.permutation(6)
        signs = generator.choice([-1.0, 1.0], size=6)
        matrix = (basis * norms)[:, order] * signs
        found = distance_of(grams_of(matrix[None]))
        assert found.value < 1e-6
        assert found.degenerate_share == 0.0


def test_distance_of_a_turned_pair_is_that_of_the_angle() -> None:
    """sqrt(4 - 4 cos t) = 2 sqrt 2 sin(t / 2), at most 1.082 at 45 degrees."""
    stretch = np.diag([2.0, 1.0])
    for degrees, wanted in ((10, 10), (45, 45), (80, 10)):
        t = np.radians(degrees)
        turn = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
        found = distance_of(grams_of((stretch @ turn)[None])).value
        assert found == pytest.approx(2 * np.sqrt(2) * np.sin(np.radians(wanted) / 2), abs=1e-6)
    assert distance_of(grams_of((stretch @ _turn(45))[None])).value == pytest.approx(
        1.082, abs=1e-3
    )


def _turn(degrees: float) -> np.ndarray:
    t = np.radians(degrees)
    return np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])


def test_distance_equals_that_of_the_singular_value_decomposition(
    generator: np.random.Generator,
) -> None:
    matrices = generator.normal(size=(50, 20, 4)) * [4.0, 2.0, 1.0, 0.5]
    v = np.swapaxes(np.linalg.svd(matrices, full_matrices=False)[2], 1, 2)
    np.testing.assert_allclose(distance_of(grams_of(matrices)).per_point, distances(v), atol=1e-9)


def test_random_matrices_are_at_the_haar_level(generator: np.random.Generator) -> None:
    found = distance_of(grams_of(generator.normal(size=(3000, 40, 5))))
    assert found.value == pytest.approx(found.haar.value, abs=0.02)
    assert found.interval is not None
    assert (
        found.interval[0] < found.haar.value < found.interval[1]
        or abs(found.value - found.haar.value) < 0.01
    )


def test_equal_singular_values_are_called_degenerate() -> None:
    equal = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 3)))[0]
    found = distance_of(grams_of(np.repeat(equal[None], 4, axis=0)))
    assert found.degenerate_share == 1.0
    assert "may rotate freely" in found.warning and found.warning in found.summary()
    apart = np.array([[3.0, 2.0, 1.0], [3.0, 2.8, 1.0], [1.0, 1e-8, 1e-9], [1.0, 0.5, 0.0]])
    np.testing.assert_array_equal(degenerate(apart), [False, True, True, False])


def test_everything_works_for_a_plain_function_and_reports_its_space() -> None:
    found = distance_to_orthogonality(torch.sin, np.zeros((7, 3), np.float64))
    assert (found.n, found.space) == (7, "output")
    assert found.to_dict()["haar"]["space"] == "Haar"
    assert "Haar" in found.summary()


def test_untrained_decoders_are_a_baseline_of_their_own() -> None:
    decoder = Decoder(nn.Sequential(nn.Linear(4, 9), nn.Tanh(), nn.Linear(9, 7)),
                      SquaredErrorLikelihood())  # fmt: skip
    points = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))

    def untrained(seed: int) -> Decoder:
        fresh = reinitialised(decoder, seed)
        assert isinstance(fresh, Decoder)
        return fresh

    before = torch.random.get_rng_state()
    found = distance_to_orthogonality(decoder, points, untrained=untrained)
    assert torch.equal(before, torch.random.get_rng_state())
    assert found.random_decoder is not None
    assert found.random_decoder.n == 5
    assert 0.5 < found.random_decoder.value < 1.5
    again = random_decoder_baseline(untrained, points)
    assert again.value == found.random_decoder.value
    assert not torch.equal(untrained(0).body[0].weight, untrained(1).body[0].weight)


def test_a_layer_that_cannot_be_initialised_anew_is_named() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))

        def forward(self, z: Tensor) -> Tensor:
            return z * self.scale

    with pytest.raises(UsageError, match="Own"):
        reinitialised(nn.Sequential(nn.Linear(2, 2), Own()), 0)
