"""The problem of zietlow2022 (3.14, 3.15) in plain torch, beside the package: what noise costs as a
function of rotations and of variances on a budget. bhowal2024 (10) is the same but for a factor."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor, nn

from vaescope.geometry import jacobians

Vector = NDArray[np.float64]

POINTS, OUTPUTS, LATENT, BUDGET = 3, 7, 3, 9.0
RESTARTS = 4
#: Sums of some hundred float64 of order 10 are known to about this.
ROUNDING = 1e-12


def linear_matrices(seed: int) -> Tensor:
    """A linear decoder: one random Jacobian at all points, shape (points, outputs, latent)."""
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(OUTPUTS, LATENT, generator=generator, dtype=torch.float64)
    return matrix.expand(POINTS, -1, -1)


def nonlinear_decoder(seed: int) -> tuple[nn.Module, Tensor]:
    """A random network with two layers of tanh, and random codes."""
    generator = torch.Generator().manual_seed(seed)
    layers = nn.Sequential(
        nn.Linear(LATENT, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, OUTPUTS)
    ).double()
    for weight in layers.parameters():
        weight.data = torch.randn(weight.shape, generator=generator, dtype=torch.float64) / 2.0
    points = torch.randn(POINTS, LATENT, generator=generator, dtype=torch.float64)
    return layers.eval(), points


def nonlinear_matrices(seed: int) -> Tensor:
    """Its Jacobians, which differ from point to point."""
    decode, points = nonlinear_decoder(seed)
    return torch.from_numpy(jacobians(decode, points).values)


MATRICES = {"linear": linear_matrices, "nonlinear": nonlinear_matrices}


def rotations(angles: Tensor) -> Tensor:
    """Orthogonal matrices (n, d, d) as exponentials of d (d - 1) / 2 angles each."""
    d = round((1 + (1 + 8 * angles.shape[1]) ** 0.5) / 2)
    rows, columns = torch.triu_indices(d, d, 1)
    skew = angles.new_zeros(len(angles), d, d).index_put(
        (torch.arange(len(angles))[:, None], rows, columns), angles
    )
    return torch.matrix_exp(skew - skew.mT)


def on_budget(free: Tensor, budget: float) -> Tensor:
    """Log variances (n, d) with sum -log sigma^2 = budget, (5.5), from as many free numbers."""
    return free - free.mean() - budget / free.numel()


def costs(matrices: Tensor, turns: Tensor, log_variance: Tensor) -> Tensor:
    """E||J_i eps||^2 = sum_j ||c_j||^2 sigma_j^2, (5.18), at each point. With V_i free, U_i S_i
    V_i' is the J_i that is given times any orthogonal matrix."""
    squared_norms = (matrices @ turns).square().sum(1)
    return (squared_norms * log_variance.exp()).sum(1)


def bound(matrices: Tensor, budget: float) -> float:
    """The right side of (5.11)."""
    n, _, d = matrices.shape
    singular = np.linalg.svd(matrices.numpy(), compute_uv=False)
    return float(n * np.log(d) - budget / d + 2.0 / d * np.log(singular).sum())


def cosines(matrices: Tensor, turns: Tensor) -> Vector:
    """Largest |cosine| between two columns of each J_i."""
    columns = matrices @ turns
    unit = columns / columns.norm(dim=1, keepdim=True)
    off = (unit.mT @ unit).abs() - torch.eye(columns.shape[2], dtype=columns.dtype)
    return np.asarray(off.amax((1, 2)))


def unpacked(parameters: Tensor, n: int, d: int, budget: float) -> tuple[Tensor, Tensor]:
    """Rotations and log variances on the budget from one vector."""
    angles, free = parameters[: -n * d], parameters[-n * d :]
    return rotations(angles.reshape(n, -1)), on_budget(free.reshape(n, d), budget)


def starts(n: int, d: int, seed: int = 0) -> list[Vector]:
    """Random rotations far from one another, and variances over some decades."""
    generator = np.random.default_rng(seed)
    size = n * d * (d - 1) // 2 + n * d
    return [generator.normal(scale=2.0, size=size) for _ in range(RESTARTS)]


def descend(objective: Callable[[Tensor], Tensor], start: Vector) -> tuple[float, Tensor]:
    """Least value that a descent from here finds, and where."""

    def slope(point: Vector) -> tuple[float, Vector]:
        z = torch.from_numpy(point).requires_grad_()
        value = objective(z)
        (gradient,) = torch.autograd.grad(value, z)
        return float(value.detach()), gradient.numpy()

    # Above a minimum a slope of 1e-7 leaves an excess of its square, below rounding.
    found = minimize(slope, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return float(found.fun), torch.from_numpy(found.x)


def slope_and_curvatures(
    objective: Callable[[Tensor], Tensor], point: Tensor
) -> tuple[float, Vector]:
    """Steepest slope at a point, and the Hessian's eigenvalues in ascending order."""
    z = point.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(objective(z), z, create_graph=True)
    rows = [torch.autograd.grad(part, z, retain_graph=True)[0] for part in gradient]
    return float(gradient.detach().abs().max()), np.linalg.eigvalsh(torch.stack(rows).numpy())
