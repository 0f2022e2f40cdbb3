"""Maps from the latents of one model to those of another, by least squares.

They act in units of each latent's standard deviation in the aggregate posterior, so that scale and
shift are in every class: identity, signed permutation, orthogonal, affine, each within the next.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from vaescope.models import OpenModel
from vaescope.types import Integers, Matrix, Vector

__all__ = ["LatentMap", "Standardised", "Translation", "fit_maps"]


BATCH = 256


@dataclass(frozen=True, eq=False)
class LatentMap:
    """z_B = z_A @ matrix + shift, of vectors or of every place of a map."""

    matrix: Matrix  # (latents of A, latents of B)
    shift: Vector

    def __call__(self, z: Matrix) -> Matrix:
        """Of latents (n, d, ...)."""
        moved = np.moveaxis(z, 1, -1) @ self.matrix + self.shift
        return np.moveaxis(moved, -1, 1)


class Translation(nn.Module):
    """Latents of A -> latents of B, (n, d) or maps (n, d, ...)."""

    def __init__(self, by: LatentMap) -> None:
        super().__init__()
        self.linear = nn.Linear(*by.matrix.shape)
        with torch.no_grad():
            self.linear.weight.copy_(torch.from_numpy(by.matrix.T))
            self.linear.bias.copy_(torch.from_numpy(by.shift))

    def forward(self, z: Tensor) -> Tensor:
        moved: Tensor = self.linear(z.movedim(1, -1)).movedim(-1, 1)
        return moved


@dataclass(frozen=True, eq=False)
class Standardised:
    """Latents (n, d, ...), and what gives their aggregate posterior mean 0 and variance 1."""

    z: Matrix
    centre: Vector
    unit: Vector

    @classmethod
    def of(cls, model: OpenModel, places: Integers) -> "Standardised":
        z: Any = model.codes.mean[places]
        variance: Any = model.codes.variance[places]
        if model.maps is not None:
            z, variance = _encoded(model, places)
        z, variance = z.astype(np.float64), variance.astype(np.float64)
        flat, spread = _flat(z), _flat(variance)
        unit = np.sqrt(flat.var(0) + spread.mean(0))
        return cls(z, flat.mean(0), np.where(unit > 0, unit, 1.0))

    @property
    def standard(self) -> Matrix:
        return (_flat(self.z) - self.centre) / self.unit

    def taken(self, places: Integers) -> "Standardised":
        return Standardised(self.z[places], self.centre, self.unit)


def _encoded(model: OpenModel, places: Integers) -> tuple[Matrix, Matrix]:
    """Means and variances of maps."""
    means, variances = [], []
    with model.evaluating():
        for start in range(0, len(places), BATCH):
            rows = model.rows[places[start : start + BATCH]]
            q = model.encode(model.x(rows), model.u(rows))
            means.append(q.mean.double().cpu().numpy())
            variances.append(q.variance.double().cpu().numpy())
    return np.concatenate(means), np.concatenate(variances)


def _flat(z: Matrix) -> Matrix:
    """(n, d, ...) -> (n times places, d)."""
    return np.moveaxis(z, 1, -1).reshape(-1, z.shape[1])


def fit_maps(a: Standardised, b: Standardised) -> dict[str, LatentMap]:
    """The map of each class with the least squared error in B's units."""
    ta, tb = a.standard, b.standard
    cross: Matrix = ta.T @ tb
    found: dict[str, Matrix] = {}
    if cross.shape[0] == cross.shape[1]:
        found["identity"] = np.eye(len(cross))
    rows, columns = linear_sum_assignment(-np.abs(cross))
    signed = np.zeros(cross.shape)
    signed[rows, columns] = np.where(cross[rows, columns] < 0, -1.0, 1.0)
    found["permutation"] = signed
    left, _, right = np.linalg.svd(cross, full_matrices=False)
    found["orthogonal"] = np.asarray(left @ right, dtype=np.float64)
    none = np.zeros(tb.shape[1])
    maps = {name: _in_latents(matrix, none, a, b) for name, matrix in found.items()}
    fit, *_ = np.linalg.lstsq(np.column_stack([ta, np.ones(len(ta))]), tb, rcond=None)
    return maps | {"affine": _in_latents(fit[:-1], fit[-1], a, b)}


def _in_latents(matrix: Any, shift: Any, a: Standardised, b: Standardised) -> LatentMap:
    whole = matrix / a.unit[:, None] * b.unit
    return LatentMap(whole, b.centre + b.unit * shift - a.centre @ whole)
