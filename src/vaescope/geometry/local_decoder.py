"""Local decoders: linear, affine, saturating and quadratic models of a decoder around a code.

bhowal2024 Tables 1 and 2 done like for like. In the released code the linear model is trained for
one step at a thousandth of the other's learning rate, and the error printed is not one. Here all
are fitted to convergence on the same posterior noise, and judged on fresh noise:
delta = E||Dec(mu + eps) - Dec(mu) - f(eps)||^2 / E||Dec(mu + eps) - Dec(mu)||^2.
The paper names no function; its released layer is tanh(M eps + b), with or without the tanh. So
there are M eps, M eps + c, g [tanh(M eps / g + b) - tanh b] and a quadratic. The intercept c is
the mean of the curvature (Lemma 6), whose square Lemma 1 leaves out; f(0) = 0 for the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.errors import RangeError, ShapeError
from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.local_fit import fit_around, judge_fresh, judge_left_out
from vaescope.geometry.reader import Reader, as_points, columns_of, read_at, spaced
from vaescope.geometry.result import GeometryMeasure, GeometryResult, measure_of
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.geometry.torch_threads import one_thread_spared
from vaescope.nets.fast_deconvolution import quickened
from vaescope.seeds import derive
from vaescope.side_by_side import beside
from vaescope.types import Array, Floats, Matrix

__all__ = ["LocalDecoders", "LocalErrors", "StochasticLoss", "local_decoders"]

MODELS = ("linear", "intercept", "tanh", "quadratic")
#: Draws times outputs that are fitted at once: 2 GB in float64, and several of them are alive.
_MOST = 2**28


@dataclass(frozen=True, eq=False)
class LocalErrors(GeometryMeasure):
    """Normalised errors on fresh noise, means over points; the value is that of the linear model.

    Each has its own n: tanh and quadratic models may be fitted at fewer points than linear ones.
    Gains are over the points at which both were fitted, so the choice of points favours no model.
    """

    linear: GeometryMeasure
    intercept: GeometryMeasure  # error of the linear model with an intercept
    tanh: GeometryMeasure
    quadratic: GeometryMeasure
    intercept_gain: GeometryMeasure  # error without minus error with intercept, at the same points
    tanh_gain: GeometryMeasure
    quadratic_gain: GeometryMeasure
    per_point: Matrix  # (n, 4) in the order of MODELS; NaN where it was not fitted

    def summary(self) -> str:
        intercept, tanh, quadratic = (
            f"{gain.value:+.4f}"
            + ("" if gain.interval is None else " ({:+.4f} to {:+.4f})".format(*gain.interval))
            for gain in (self.intercept_gain, self.tanh_gain, self.quadratic_gain)
        )
        return (
            f"local errors in {self.space} space: linear {self.linear.value:.4f}, with intercept "
            f"{self.intercept.value:.4f}, gain {intercept}, over {self.n} points; over "
            f"{self.tanh.n} of them tanh {self.tanh.value:.4f}, quadratic "
            f"{self.quadratic.value:.4f}, gain over linear there: tanh {tanh}, quadratic "
            f"{quadratic}"
        )


@dataclass(frozen=True, eq=False)
class StochasticLoss(GeometryMeasure):
    """E||Dec(mu + eps) - Dec(mu)||^2, its estimates, and their errors relative to it.

    All are taken at the same fresh noise, so the draw favours none of them. As tanh
    and quadratic models may be fitted at fewer points, compare relative errors, not the means.
    """

    jacobian: GeometryMeasure  # E||J eps||^2
    linear: GeometryMeasure
    intercept: GeometryMeasure
    tanh: GeometryMeasure
    quadratic: GeometryMeasure
    jacobian_exact: GeometryMeasure  # sum_j sigma_j^2 ||J_j||^2: its exact expectation
    relative_errors: dict[str, GeometryMeasure]  # mean |estimate - loss| / loss over points

    def summary(self) -> str:
        errors = ", ".join(
            f"{name} {error.value:.1%} (n = {error.n})"
            for name, error in self.relative_errors.items()
        )
        return f"stochastic loss {self.value:.4g} over {self.n} points; missed by: {errors}"


@dataclass(frozen=True, eq=False)
class LocalDecoders(GeometryResult):
    """Errors of the fits, and Gram matrices for the OD-Score: of M of the linear fit, and of the
    derivative at 0 of the tanh fit, since the biases of that fit scale the rows of its M."""

    errors: LocalErrors  # errors of the local decoders
    stochastic_loss: StochasticLoss  # the stochastic loss as local decoders estimate it
    linear: Grams
    tanh: Grams
    draws: int

    def summary(self) -> str:
        return f"{self.errors.summary()}\n{self.stochastic_loss.summary()}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "errors": self.errors.to_dict(),
            "stochastic_loss": self.stochastic_loss.to_dict(),
            "draws": self.draws,
        }


def _moved(reader: Reader, centre: Tensor, noise: Tensor, columns: list[int], batch: int) -> Tensor:
    """Weighted differences Dec(mu + eps) - Dec(mu) in float64: (draws, outputs)."""
    codes = centre.expand(len(noise), -1).clone()
    codes[:, columns] += noise
    base = reader.coordinates(centre.unsqueeze(0))
    parts = [reader.coordinates(codes[s : s + batch]) - base for s in range(0, len(codes), batch)]
    weights = reader.weights(centre.unsqueeze(0))
    moved = torch.cat(parts)
    if not bool(torch.isfinite(moved).all()):
        raise RangeError(
            "The decoder's output is not finite within the posterior's noise.",
            "Find the layer that overflows there.",
        )
    return (moved if weights is None else moved * weights).double()


def _gram(matrix: Tensor, std: Tensor) -> Matrix:
    """M'M of M eps, from the matrix in units of standard normal noise."""
    columns = matrix / std.unsqueeze(1)
    return np.asarray((columns @ columns.T).numpy())


@torch.no_grad()
def local_decoders(
    decode: Decode,
    mean: Floats | Tensor,
    variance: Floats | Tensor,
    *,
    nonlinear: int | None = None,
    draws: int | None = None,
    space: Space = "output",
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
    fresh: bool = True,
    seed: int = 0,
    batch: int = 256,
) -> LocalDecoders:
    """Fits the four local decoders at each posterior N(mean, diag(variance)). If that would take
    too long, the tanh and quadratic models are fitted at `nonlinear` of the posteriors only,
    spread over the rows.

    `draws` noise vectors to fit and as many fresh ones to judge, by default 50 per latent. Noise
    goes into `columns` only: the columns of passive latents would be fitted to noise. Squared
    error is the paper's; in logit or likelihood space, differences are weighted as at the mean.

    `fresh=False` decodes fresh draws only where there is a tanh model. Models fitted by least
    squares are then judged on each draw by the fit without that draw, which differs only by
    chance. For tanh
    models, the error, the gain over the linear model and the estimate are measured at fresh draws.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        mean: (n, latent) posterior means.
        variance: (n, latent) posterior variances.
        nonlinear: number of points at which the nonlinear models are fitted; None limits it by
            their cost.
        draws: samples around each point.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.
        fresh: whether models fitted by least squares are judged on fresh draws.
        seed: seed of all random draws.
        batch: rows at a time.

    Returns:
        `LocalDecoders`: errors of the fits, and Gram matrices for the OD-Score.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> import vaescope as vs
        >>> decode = lambda z: torch.tanh(z @ torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).T)
        >>> mean, variance = np.zeros((8, 2), "f4"), np.full((8, 2), 0.1, "f4")
        >>> vs.geometry.local_decoders(decode, mean, variance, nonlinear=4, draws=64).draws
        64
    """
    z = as_points(mean, decode)
    chosen = list(columns_of(columns, z.shape[1]))
    std = as_points(variance).to(z).sqrt()[:, chosen]
    if len(std) != len(z) or not bool((std > 0).all()):
        raise ShapeError(
            f"There are {len(z)} means and {len(std)} variances, least {float(std.min()) ** 2:g}; "
            "wanted a positive variance per mean.",
            "Local decoders need posterior noise: leave them out for autoencoders.",
        )
    d = len(chosen)
    count = max(50 * d, 200) if draws is None else draws
    terms = d + d * (d + 1) // 2
    if count < 2 * terms:
        raise ShapeError(
            f"{count} draws cannot fit the {terms} quadratic terms of {d} latents; wanted twice as "
            "many draws as terms.",
            f"Pass draws={2 * terms}, or fewer columns.",
        )
    bent = spaced(len(z), len(z) if nonlinear is None else nonlinear)
    if not len(bent):
        raise ShapeError(
            f"{nonlinear} points for tanh and quadratic models; wanted at least one.",
            "Leave nonlinear out to fit them at every point.",
        )
    reader = read_at(decode, z, space=space, likelihood=likelihood)
    if count * reader.outputs > _MOST:
        raise ShapeError(
            f"{count} draws of {reader.outputs:,} outputs are too many values to fit; wanted at "
            f"most {_MOST:.2g} numbers.",
            "Pass fewer draws, or a decoder of smaller images.",
        )
    quick = replace(reader, body=quickened(reader.body))
    generator = torch.Generator().manual_seed(derive(seed, "local-decoder"))
    metrics = grams(decode, z, space=space, likelihood=likelihood, columns=chosen).values
    rows = []
    matrices: dict[str, list[Matrix]] = {"linear": [], "tanh": []}

    def point(i: int) -> Callable[[], tuple[dict[str, float], dict[str, Matrix]]]:
        """Decodes around one point; what is returned fits and judges, and needs no decoder."""
        xi, again = (
            torch.randn((count, d), generator=generator, dtype=torch.float64) for _ in range(2)
        )
        scale = std[i].double().cpu()

        def decoded(noise: Tensor) -> Tensor:
            return _moved(quick, z[i], (noise * scale).to(z), chosen, batch).cpu()

        target = decoded(xi)
        truth = decoded(again) if fresh or i in bent else None
        metric = torch.from_numpy(metrics[i]) * scale * scale.unsqueeze(1)

        def judged() -> tuple[dict[str, float], dict[str, Matrix]]:
            with torch.no_grad():  # each thread has a switch of its own
                fitted = fit_around(xi, target, nonlinear=i in bent)
                row = {}
                if truth is not None:
                    row = judge_fresh(truth, again, fitted, metric, all_of_them=fresh)
                if not fresh:
                    row |= judge_left_out(target, xi, fitted, metric)
            return row, {name: _gram(own, scale) for name, own in fitted.matrices.items()}

        return judged

    # Anybody's decoder runs in this thread only; the fits run beside it.
    with one_thread_spared():
        for row, gram in beside(point(i) for i in range(len(z))):
            rows.append(row)
            for name, matrix in gram.items():
                matrices[name].append(matrix)
    found = {
        name: Grams(np.array(values), reader.space, tuple(chosen), "forward mode")
        for name, values in matrices.items()
    }
    return LocalDecoders(
        _errors(rows, reader.space), _loss(rows, reader.space), found["linear"], found["tanh"],
        count,
    )  # fmt: skip


def _spread(rows: list[dict[str, float]], name: str, space: str) -> GeometryMeasure:
    """One number over the points that have it."""
    return measure_of(np.array([row[name] for row in rows if name in row]), space)


def _errors(rows: list[dict[str, float]], space: str) -> LocalErrors:
    linear = _spread(rows, "error linear", space)
    table = [[row.get(f"error {name}", np.nan) for name in MODELS] for row in rows]
    return LocalErrors(
        linear.value, linear.interval, linear.n, space,
        linear, _spread(rows, "error intercept", space), _spread(rows, "error tanh", space),
        _spread(rows, "error quadratic", space), _spread(rows, "gain intercept", space),
        _spread(rows, "gain tanh", space), _spread(rows, "gain quadratic", space),
        np.array(table),
    )  # fmt: skip


def _loss(rows: list[dict[str, float]], space: str) -> StochasticLoss:
    loss = _spread(rows, "loss", space)
    names = ("jacobian", *MODELS)
    return StochasticLoss(
        loss.value, loss.interval, loss.n, space,
        _spread(rows, "estimate jacobian", space), _spread(rows, "estimate linear", space),
        _spread(rows, "estimate intercept", space), _spread(rows, "estimate tanh", space),
        _spread(rows, "estimate quadratic", space),
        _spread(rows, "exact", space),
        {name: _spread(rows, f"off {name}", space) for name in names},
    )  # fmt: skip
