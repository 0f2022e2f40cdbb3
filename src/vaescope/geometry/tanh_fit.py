"""Least squares of f(eps) = g [tanh(M eps / g + b) - tanh b], one g and b per output.

bhowal2024 eq. (8) leaves the function open; its released layer is tanh(M eps + b). The scale g and
the constant make f(0) = 0, as Proposition 4 wants, and the linear decoder the limit of large g.
The bias lets f bend: without it f is odd. Each output is a problem of its own with d + 2 unknowns,
so that many are solved together by Levenberg's method, and each leaves when it has converged.
"""

import ctypes
from dataclasses import dataclass

import torch
from torch import Tensor

from vaescope.native import library

__all__ = ["TanhFit", "fit_tanh"]

_ITERATIONS = 100
#: Numbers of one block of outputs: their temporaries stay in the cache.
_BLOCK = 2**17
#: Samples are rounded up to a multiple of so many for the loop in C.
_LANES = 8
#: Gains, in units of the signal, and biases to begin with.
_STARTS = [(gain, bias) for gain in (1.0, 3.0) for bias in (0.0, -0.7, 0.7)]
#: Beyond this bias f is an exponential to 1e-5, and the digits of tanh(u / g + b) - tanh b go.
_MOST_BIAS = 6.0


@dataclass(frozen=True, eq=False)
class TanhFit:
    """f(eps) = g [tanh(M eps / g + b) - tanh b]; where g is infinite, b is 0 and f linear."""

    matrix: Tensor  # (inputs, outputs): M'
    bias: Tensor  # (outputs,)
    gain: Tensor  # (outputs,)

    def __call__(self, eps: Tensor) -> Tensor:
        u = eps @ self.matrix
        linear = torch.isinf(self.gain)
        gain = torch.where(linear, torch.ones_like(self.gain), self.gain)
        return torch.where(linear, u, _value(u, self.bias, gain))

    @property
    def slope(self) -> Tensor:
        """f'(0), of shape (inputs, outputs)."""
        return self.matrix * (1.0 - torch.tanh(self.bias) ** 2)


def _value(u: Tensor, bias: Tensor, gain: Tensor) -> Tensor:
    return gain * (torch.tanh(u / gain + bias) - torch.tanh(bias))


@dataclass(frozen=True, eq=False)
class _State:
    """Where the fits of some outputs stand: all that the next step needs of the last one.

    Outputs come first, so that those still being fitted are rows side by side in memory.
    """

    unknowns: Tensor  # (outputs, inputs + 2): m, b, log g
    u: Tensor  # (outputs, samples): M eps
    tanh: Tensor  # (outputs, samples): tanh(u / g + b)
    residual: Tensor  # (outputs, samples)
    loss: Tensor  # (outputs,)

    def where(self, better: Tensor, other: "_State") -> "_State":
        """This one, and `other` for the outputs that are not better."""
        if bool(better.all()):
            return self
        column = better.unsqueeze(1)
        return _State(
            torch.where(column, self.unknowns, other.unknowns),
            torch.where(column, self.u, other.u),
            torch.where(column, self.tanh, other.tanh),
            torch.where(column, self.residual, other.residual),
            torch.where(better, self.loss, other.loss),
        )

    def of(self, kept: Tensor) -> "_State":
        """These outputs only."""
        return _State(
            self.unknowns[kept], self.u[kept], self.tanh[kept], self.residual[kept], self.loss[kept]
        )


def _state(unknowns: Tensor, u: Tensor, target: Tensor) -> _State:
    bias, gain = unknowns[:, -2, None], unknowns[:, -1, None].exp()
    tanh = torch.tanh((u / gain).add_(bias))
    residual = torch.addcmul(target, tanh - torch.tanh(bias), gain, value=-1.0)
    return _State(unknowns, u, tanh, residual, residual.square().mean(1))


def _step(eps: Tensor, pairs: Tensor, target: Tensor, at: _State, damping: Tensor) -> Tensor:
    """Levenberg's step for (m, b, log g) of each output: shape (outputs, inputs + 2). `pairs` are
    the products eps_i eps_j, i <= j."""
    d = eps.shape[1]
    level, gain = torch.tanh(at.unknowns[:, -2, None]), at.unknowns[:, -1, None].exp()
    slope = 1.0 - at.tanh.square()  # df/du
    by_bias = (slope - (1.0 - level**2)).mul_(gain)  # df/db
    by_gain = (target - at.residual).addcmul_(at.u, slope, value=-1.0)  # df/d log g
    rows, columns = torch.triu_indices(d, d)
    normal = torch.empty(len(slope), d + 2, d + 2, dtype=eps.dtype)
    normal[:, rows, columns] = normal[:, columns, rows] = slope.square() @ pairs
    for place, bend in ((d, by_bias), (d + 1, by_gain)):
        normal[:, :d, place] = normal[:, place, :d] = (slope * bend) @ eps
    bends = torch.stack([by_bias, by_gain, at.residual], 1)  # (outputs, 3, samples)
    products = bends @ bends.mT
    normal[:, d:, d:] = products[:, :2, :2]
    right = torch.cat([(slope * at.residual) @ eps, products[:, :2, 2]], 1)
    diagonal = normal.diagonal(dim1=-2, dim2=-1)
    # A gain that does not matter has no curvature; a little of the mean keeps its step finite.
    ridge = damping.unsqueeze(1) * diagonal + 1e-12 * diagonal.mean(1, keepdim=True) + 1e-300
    step: Tensor = torch.linalg.solve(normal + torch.diag_embed(ridge), right)
    return step


def fit_tanh(eps: Tensor, target: Tensor, start: Tensor, *, tolerance: float = 1e-3) -> TanhFit:
    """The least-squares fit, from the linear one `start` (inputs, outputs), to convergence: until
    the loss of an output changes by less than `tolerance` of itself. A tighter tolerance takes up
    to twice the time and follows these samples further, fresh ones not: for one of three decoders
    of others 1e-4 gave an error on fresh noise of .123 instead of .114, for two the same.

    Never worse than the linear fit on these samples: an output that gains nothing stays linear.
    """
    missed = (target - eps @ start).pow_(2).mean(0)
    matrix, bias = start.clone(), torch.zeros_like(missed)
    gain = torch.full_like(missed, torch.inf)
    # What the linear fit misses by less than 1e-8 of all that it misses cannot gain anything
    # that shows.
    bent = torch.nonzero((start != 0).any(0) & (missed > 1e-8 * missed.sum())).flatten()
    compiled = library("tanh_fit") if eps.dtype == torch.float64 else None
    # In C they are taken one by one, and need no blocks.
    blocks = [bent] if compiled is not None else torch.split(bent, max(1, _BLOCK // len(eps)))
    for block in blocks:
        of_block = (eps, target[:, block], start[:, block], tolerance)
        if compiled is None:
            found, loss = _fit_block(*of_block)
        else:
            found, loss = _compiled_block(compiled, *of_block)
        better = loss < missed[block]
        kept = block[better]
        matrix[:, kept] = found.matrix[:, better]
        bias[kept], gain[kept] = found.bias[better], found.gain[better]
    return TanhFit(matrix, bias, gain)


def _fit_block(
    eps: Tensor, target: Tensor, start: Tensor, tolerance: float
) -> tuple[TanhFit, Tensor]:
    """The fit of a few outputs and its loss."""
    goal = target.T.contiguous()
    at = _best_start(eps, goal, start)
    d = eps.shape[1]
    rows, columns = torch.triu_indices(d, d)
    pairs = eps[:, rows] * eps[:, columns]
    found, loss = at.unknowns.clone(), at.loss.clone()
    open_ = torch.arange(len(goal))  # outputs still being fitted
    damping = torch.full_like(loss, 1e-2)
    for _ in range(_ITERATIONS):
        if not len(open_):
            break
        step = _step(eps, pairs, goal, at, damping)
        step[:, -2:].clamp_(-1.0, 1.0)
        new = at.unknowns + step
        new[:, -2].clamp_(-_MOST_BIAS, _MOST_BIAS)
        trial = _state(new, new[:, :d] @ eps.T, goal)
        better = trial.loss < at.loss
        small = (at.loss - trial.loss).abs() <= tolerance * at.loss
        at = trial.where(better, at)
        damping = torch.where(better, (damping * 0.2).clamp(min=1e-9), damping * 5.0)
        closed = small | (damping > 1e8)
        if bool(closed.any()):
            found[open_[closed]], loss[open_[closed]] = at.unknowns[closed], at.loss[closed]
            keep = torch.nonzero(~closed).flatten()
            at, goal, open_, damping = at.of(keep), goal[keep], open_[keep], damping[keep]
    found[open_], loss[open_] = at.unknowns, at.loss
    matrix, bias, log_gain = found[:, :d].T, found[:, -2], found[:, -1]
    return TanhFit(matrix, bias, log_gain.exp()), loss


def _compiled_block(
    compiled: ctypes.CDLL, eps: Tensor, target: Tensor, start: Tensor, tolerance: float
) -> tuple[TanhFit, Tensor]:
    """The same as `_fit_block` in C, to rounding and what it decides."""
    n, d = eps.shape
    rows, columns = torch.triu_indices(d, d)
    more = -n % _LANES
    padded = [
        torch.nn.functional.pad(own.T, (0, more)).contiguous()
        for own in (eps, eps[:, rows] * eps[:, columns], target)
    ]
    inputs = [*padded, start.T.contiguous()]
    outputs = target.shape[1]
    found = torch.empty(outputs, d + 2, dtype=torch.float64)
    loss = torch.empty(outputs, dtype=torch.float64)
    done = compiled.fit(
        *(ctypes.c_int64(size) for size in (n, n + more, d, outputs)),
        *(ctypes.c_void_p(own.data_ptr()) for own in inputs),
        ctypes.c_double(tolerance), ctypes.c_int64(_ITERATIONS),
        ctypes.c_void_p(found.data_ptr()), ctypes.c_void_p(loss.data_ptr()),
    )  # fmt: skip
    if not done:
        raise MemoryError("the fit of the tanh decoders")
    return TanhFit(found[:, :d].T, found[:, -2], found[:, -1].exp()), loss


def _best_start(eps: Tensor, target: Tensor, start: Tensor) -> _State:
    """Of the gains and biases to begin with, the nearest for each output."""
    u = start.T @ eps.T
    size = u.square().mean(1).sqrt()
    best: _State | None = None
    for factor, first in _STARTS:
        bias = torch.full_like(size, first)
        rise = 1.0 - torch.tanh(bias[:1]) ** 2
        unknowns = torch.cat(
            [start.T / rise, bias.unsqueeze(1), (factor * size).log().unsqueeze(1)], 1
        )
        trial = _state(unknowns, u / rise, target)
        best = trial if best is None else trial.where(trial.loss < best.loss, best)
    assert best is not None
    return best
