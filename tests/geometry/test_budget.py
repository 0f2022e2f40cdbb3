import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from vaescope.errors import ShapeError
from vaescope.geometry import (
    budget_bound,
    budget_bound_over_rotations,
    optimal_variance,
    plane_rotation,
    precision_budget,
)

M1 = np.array([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])  # zietlow2022 eq. (3.20)
M2 = M1 @ plane_rotation(2, np.pi / 4).T


def squares(matrix: np.ndarray) -> np.ndarray:
    return (matrix**2).sum(axis=0)


def test_the_worked_example_of_the_thesis() -> None:
    np.testing.assert_allclose(squares(M1), [50.0, 3.0])
    assert float(budget_bound(squares(M1))) == pytest.approx(24.49, abs=0.005)
    np.testing.assert_allclose(sorted(squares(M2)), [45 / 2, 61 / 2])
    assert float(budget_bound(squares(M2))) == pytest.approx(52.4, abs=0.05)
    optimum = float(budget_bound_over_rotations(M1.T @ M1))
    assert optimum == pytest.approx(2 * np.sqrt(134.0))
    assert optimum == pytest.approx(23.15, abs=0.005)


def test_the_bound_falls_with_half_the_budget_for_two_latents() -> None:
    """The thesis prints exp(-C); it is exp(-C / 2)."""
    assert float(budget_bound(squares(M1), 3.0)) == pytest.approx(2 * np.sqrt(150.0) * np.exp(-1.5))


def test_the_optimal_variance_reaches_the_bound_and_spends_the_budget() -> None:
    c = np.array([9.0, 1.0, 0.04])
    variance = optimal_variance(c, 7.0)
    assert -np.log(variance).sum() == pytest.approx(7.0)
    assert (variance * c).sum() == pytest.approx(float(budget_bound(c, 7.0)))
    np.testing.assert_allclose(variance * c, (variance * c)[0])

    def cost(free: np.ndarray) -> float:
        logs = np.append(free, -7.0 - free.sum())
        return float((np.exp(logs) * c).sum())

    found = minimize(cost, np.full(2, -7.0 / 3))
    assert found.fun == pytest.approx(float(budget_bound(c, 7.0)), rel=1e-6)


def test_no_rotation_beats_the_optimum() -> None:
    bounds = [
        float(budget_bound(squares(M1 @ plane_rotation(2, angle))))
        for angle in np.linspace(0.0, np.pi, 721)
    ]
    assert min(bounds) == pytest.approx(float(budget_bound_over_rotations(M1.T @ M1)), rel=1e-4)


def test_a_decoder_with_optimal_noise_costs_one_times_the_optimum() -> None:
    matrix = torch.from_numpy(M1).float()
    points = np.zeros((4, 2))
    best = np.tile(optimal_variance(squares(M1), 5.0), (4, 1))
    found = precision_budget(lambda z: z @ matrix.T, points, best)
    assert found.value == pytest.approx(1.0, rel=1e-5)
    assert found.rotation.value == pytest.approx(24.4949 / 23.1517, rel=1e-4)
    assert found.budget_nats.value == pytest.approx(5.0, rel=1e-5)
    swapped = precision_budget(lambda z: z @ matrix.T, points, best[:, ::-1])
    assert swapped.value > 4.0
    with pytest.raises(ShapeError, match="positive"):
        precision_budget(lambda z: z @ matrix.T, points, np.zeros((4, 2)))
