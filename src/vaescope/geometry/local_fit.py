"""Models of a decoder's changes at one point, fitted to noise and judged: for `local_decoder`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from vaescope.geometry.tanh_fit import TanhFit, fit_tanh

__all__ = ["Fitted", "Line", "fit_around", "judge_fresh", "judge_left_out", "least_squares"]


def _second_order(xi: Tensor) -> Tensor:
    """xi and its products xi_i xi_j, i <= j: the features of the quadratic model."""
    d = xi.shape[1]
    rows, columns = torch.triu_indices(d, d)
    return torch.cat([xi, xi[:, rows] * xi[:, columns]], 1)


def _with_constant(xi: Tensor) -> Tensor:
    return torch.cat([xi, xi.new_ones(len(xi), 1)], 1)


@dataclass(frozen=True, eq=False)
class Line:
    """A model that is linear in features of the noise, and its least squares. Only products with
    the target are made of it: values of its own would be as large as the target."""

    features: Callable[[Tensor], Tensor]
    q: Tensor  # (draws, features): orthonormal, of the draws that it was fitted to
    images: Tensor  # (features, outputs): q' target
    solution: Tensor  # (features, outputs)

    def first(self, count: int, features: Callable[[Tensor], Tensor], r: Tensor) -> "Line":
        """The same with the first features only: its part of q is that of all."""
        images = self.images[:count]
        return Line(features, self.q[:, :count], images, _solved(r[:count, :count], images))

    def along(self, target: Tensor) -> Tensor:
        """Products of each draw's target with the images: (draws, features)."""
        return (self.images @ target.T).T

    def left_out(self, along: Tensor, squares: Tensor) -> tuple[float, float]:
        """Means over draws of |v|^2 and |v - y|^2, where v is what least squares say of a draw
        without it: y - (y - y_fit) / (1 - h), h the draw's share in its own fit. As good as a fresh
        draw, and exact: it is what fitting anew would give."""
        fitted, product = _squares(self.q, self.images), (self.q * along).sum(1)
        unseen = 1.0 / (1.0 - self.q.square().sum(1))
        error = (squares - 2.0 * product + fitted).clamp(min=0.0) * unseen**2
        value = squares - 2.0 * (squares - product) * unseen + error
        return float(value.mean()), float(error.mean())

    def at(self, noise: Tensor, target: Tensor, squares: Tensor) -> tuple[float, float]:
        """The same of its values at other noise."""
        features = self.features(noise)
        value = _squares(features, self.solution)
        product = (features * (self.solution @ target.T).T).sum(1)
        return float(value.mean()), float((squares - 2.0 * product + value).clamp(min=0.0).mean())


def _squares(features: Tensor, solution: Tensor) -> Tensor:
    """|v|^2 of each row, v = features solution."""
    return ((features @ (solution @ solution.T)) * features).sum(1)


def _solved(r: Tensor, images: Tensor) -> Tensor:
    solution: Tensor = torch.linalg.solve_triangular(r, images, upper=True)
    return solution


def least_squares(
    features: Callable[[Tensor], Tensor], xi: Tensor, target: Tensor
) -> tuple[Line, Tensor]:
    """The fit and the r of its features, q r."""
    # Noise has full rank, so that QR will do: LAPACK's drivers work on all outputs as they go.
    q, r = torch.linalg.qr(features(xi))
    images = q.T @ target
    return Line(features, q, images, _solved(r, images)), r


@dataclass(frozen=True, eq=False)
class Fitted:
    """Models of one point as functions of standard normal noise; matrices in the same units."""

    lines: dict[str, Line]
    tanh: TanhFit | None
    matrices: dict[str, Tensor]  # (columns, outputs)


def fit_around(xi: Tensor, target: Tensor, *, nonlinear: bool) -> Fitted:
    intercept, r = least_squares(_with_constant, xi, target)
    linear = intercept.first(xi.shape[1], _itself, r)
    lines, matrices = {"linear": linear, "intercept": intercept}, {"linear": linear.solution}
    if not nonlinear:
        return Fitted(lines, None, matrices)
    lines["quadratic"], _ = least_squares(_second_order, xi, target)
    tanh = fit_tanh(xi, target, linear.solution)
    return Fitted(lines, tanh, {**matrices, "tanh": tanh.slope})


def _itself(xi: Tensor) -> Tensor:
    return xi


def judge_fresh(
    truth: Tensor, noise: Tensor, fitted: Fitted, metric: Tensor, *, all_of_them: bool
) -> dict[str, float]:
    """At noise that nothing was fitted to; else than all, the tanh model and the line beside it."""
    squares = _lengths(truth)
    found = {
        name: line.at(noise, truth, squares)
        for name, line in fitted.lines.items()
        if all_of_them or name == "linear"
    }
    if fitted.tanh is not None:
        value = fitted.tanh(noise)
        found["tanh"] = _mean_square(value), _mean_square(value.sub_(truth))
    return _judge(squares, noise, found, metric)


def judge_left_out(
    target: Tensor, noise: Tensor, fitted: Fitted, metric: Tensor
) -> dict[str, float]:
    """At the draws that they were fitted to, each without the draw."""
    squares = _lengths(target)
    along = {name: own.along(target) for name, own in fitted.lines.items() if name != "linear"}
    along["linear"] = along["intercept"][:, : noise.shape[1]]  # see `first`
    found = {name: own.left_out(along[name], squares) for name, own in fitted.lines.items()}
    return _judge(squares, noise, found, metric)


def _lengths(rows: Tensor) -> Tensor:
    """Squared, of each row, without a copy."""
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=1)
    return lengths.square()


def _mean_square(rows: Tensor) -> float:
    """The mean over rows of their squared lengths, without a copy."""
    flat = rows.flatten()
    return float(flat @ flat) / len(rows)


def _judge(
    squares: Tensor, noise: Tensor, found: Mapping[str, tuple[float, float]], metric: Tensor
) -> dict[str, float]:
    """One point's numbers: the loss, and of each model its error, its estimate of the loss and how
    far that is off. `metric` is J'J in units of the standard normal noise; `found` are the mean
    squares of each model's values and of what they miss."""
    loss = float(squares.mean())
    row = {"loss": loss, "exact": float(metric.trace())}
    row["estimate jacobian"] = float(((noise @ metric) * noise).sum(1).mean())
    unit = loss if loss > 0 else 1.0
    for name, (value, missed) in found.items():
        row[f"estimate {name}"] = value
        row[f"error {name}"] = missed / unit
        row[f"gain {name}"] = row["error linear"] - row[f"error {name}"]
    for name in ("jacobian", *found):
        row[f"off {name}"] = abs(row[f"estimate {name}"] - loss) / unit
    return row
