"""Jacobians of any decoder at many points, and their Gram matrices J'J, exact and in little memory.

Forward mode: a decoder has few latents and many outputs, so that pushing d tangents through it is
hundreds of times cheaper than pulling every output back.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.func import jvp
from torch.nn.attention import SDPBackend, sdpa_kernel

from vaescope.errors import RangeError, ShapeError
from vaescope.geometry.pushforward import pushforward
from vaescope.geometry.reader import Reader, as_points, columns_of, read_at
from vaescope.geometry.result import GeometryResult
from vaescope.geometry.space import Decode, LikelihoodOf, Space, read
from vaescope.types import Array, Booleans, Double, Floats

__all__ = ["Grams", "Jacobians", "Method", "grams", "grams_of", "jacobians"]

_LOG = logging.getLogger("vaescope")

Method = Literal["forward mode", "forward mode by column", "finite differences"]

#: Eigenvalues of J'J of unit columns below this are rounding: products are summed in float32, whose
#: epsilon is 1.2e-7. An exactly singular J'J of six columns has eigenvalues from -4e-8 to 6e-9.
_RANK = 1e-6

#: Tensors of the widest layer that are alive at once, in units of the outputs' own size.
_IN_FLIGHT = 32


@dataclass(frozen=True, eq=False)
class Jacobians(GeometryResult):
    """dx/dz at each point, in one space: rows are weighted by it, so that J'J is its metric."""

    values: Floats  # (n, outputs, columns)
    space: Space
    columns: tuple[int, ...]  # the latents that the columns belong to
    method: Method
    note: str = ""  # why plain forward mode was not used

    @property
    def n(self) -> int:
        return len(self.values)

    def summary(self) -> str:
        n, outputs, columns = self.values.shape
        return _says(f"{n:,} Jacobians of {outputs:,} x {columns}", self.space, self)

    def to_dict(self) -> dict[str, Any]:
        """What they are; the numbers themselves are in `values`."""
        return {
            "n": self.n, "shape": list(self.values.shape[1:]), "space": self.space,
            "columns": list(self.columns), "method": self.method, "note": self.note,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Grams(GeometryResult):
    """J'J at each point, float64: the metric that a decoder pulls back to its latents.

    Column norms, cosines, singular values and right singular vectors of J all follow from it.
    """

    values: Double  # (n, columns, columns)
    space: str
    columns: tuple[int, ...]
    method: Method
    note: str = ""  # why this method was used

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def norms(self) -> Double:
        """||J_j|| at each point: shape (n, columns)."""
        return np.sqrt(np.diagonal(self.values, axis1=1, axis2=2))

    @property
    def full_rank(self) -> Booleans:
        """Points where no column is a sum of the others, up to the rounding of float32.

        Of columns of length 1: whether they span as many dimensions does not depend on the units
        of the latents, and a short column is no sum of long ones.
        """
        norms = self.norms
        alive = np.asarray((norms > 0.0).all(axis=1))
        safe = np.where(alive[:, None], norms, 1.0)
        cosines = self.values / (safe[:, :, None] * safe[:, None, :])
        return alive & (np.linalg.eigvalsh(cosines)[:, 0] > _RANK)

    def singular(self) -> tuple[Double, Double]:
        """Singular values of J, descending, and V as columns: shapes (n, d) and (n, d, d)."""
        values, vectors = np.linalg.eigh(self.values)
        return np.sqrt(np.clip(values[:, ::-1], 0.0, None)), vectors[:, :, ::-1]

    def in_units(self, scale: Double) -> "Grams":
        """Of the decoder as a function of latents over these scales, one for each column."""
        return replace(self, values=self.values * np.outer(scale, scale))

    def summary(self) -> str:
        return _says(f"{self.n:,} Gram matrices of {len(self.columns)} columns", self.space, self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "n": self.n, "values": self.values.tolist(), "space": self.space,
            "columns": list(self.columns), "method": self.method, "note": self.note,
        }  # fmt: skip


def _says(what: str, space: str, result: Jacobians | Grams) -> str:
    note = f" ({result.note})" if result.note else ""
    return f"{what} in {space} space by {result.method}{note}"


def _weighted(tangents: Tensor, weights: Tensor | None) -> Tensor:
    return tangents if weights is None else tangents * weights.unsqueeze(1)


def _stacked(reader: Reader, z: Tensor, basis: Tensor) -> Tensor:
    y, tangents = pushforward(reader.body, z.clone(), basis.expand(len(z), *basis.shape))
    tangents = pushforward(lambda y: read(reader.head(y), reader.space)[0], y, tangents)[1]
    return _weighted(tangents, read(reader.head(y), reader.space)[1])


def _by_column(reader: Reader, z: Tensor, basis: Tensor) -> Tensor:
    columns = [
        jvp(reader.coordinates, (z,), (direction.expand_as(z).contiguous(),))[1]
        for direction in basis
    ]
    return _weighted(torch.stack(columns, 1), reader.weights(z))


def _step(dtype: torch.dtype) -> float:
    # Where rounding and curvature weigh the same in a central difference of smooth functions.
    return float(torch.finfo(dtype).eps ** (1 / 3))


def _differences(reader: Reader, z: Tensor, basis: Tensor, *, step: float = 1.0) -> Tensor:
    """Central differences; `step` is in units of the usual one."""
    h = step * _step(z.dtype)
    moved = (h * basis).expand(len(z), *basis.shape)  # (n, columns, d)
    up = reader.coordinates((z.unsqueeze(1) + moved).flatten(0, 1))
    down = reader.coordinates((z.unsqueeze(1) - moved).flatten(0, 1))
    tangents = ((up - down) / (2.0 * h)).reshape(*moved.shape[:2], -1)
    return _weighted(tangents, reader.weights(z))


def _plain_kernels(reader: Reader, z: Tensor, basis: Tensor) -> Tensor:
    """Attention has fast kernels without forward mode; torch leaves them out where gradients are
    wanted and the plain one is asked for."""
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        return _by_column(reader, z, basis).detach()


_Way = Callable[[Reader, Tensor, Tensor], Tensor]
_WAYS: tuple[tuple[Method, _Way], ...] = (
    ("forward mode", _stacked),
    ("forward mode by column", _by_column),
    ("forward mode by column", _plain_kernels),
    ("finite differences", _differences),
)


def _agrees(way: _Way, reader: Reader, z: Tensor, basis: Tensor) -> bool:
    """Forward mode sees nothing behind detach() or no_grad(), and does not say so: finite
    differences along a sum of the columns tell. A point where two steps of these disagree, as on
    steep functions, says nothing; one point of several may lie on a kink."""
    generator = torch.Generator().manual_seed(0)
    mix = torch.randn(len(basis), generator=generator).to(basis)
    tangents = way(reader, z, basis)  # of the decoder's type, which may not be that of the points
    forward = torch.einsum("ncx,c->nx", tangents, mix.to(tangents))
    along = (mix @ basis).unsqueeze(0)
    wide, narrow = (_differences(reader, z, along, step=step)[:, 0] for step in (1.0, 0.25))
    weights = reader.weights(z)
    y = reader.coordinates(z) if weights is None else reader.coordinates(z) * weights
    rounding = 40.0 * torch.finfo(y.dtype).eps * y.norm(dim=1) / _step(z.dtype)
    slack = 0.1 * wide.norm(dim=1) + rounding
    known = (wide - narrow).norm(dim=1) <= slack
    missed = ~((forward - wide).norm(dim=1) <= slack)  # NaN is missed too
    return 2 * int((known & missed).sum()) <= int(known.sum())


def _choose_way(reader: Reader, z: Tensor, basis: Tensor) -> tuple[Method, _Way, str]:
    reason = ""
    for method, way in _WAYS[:-1]:
        try:
            if _agrees(way, reader, z, basis):
                return method, way, reason
            reason = reason or "forward mode does not see the whole decoder"
        except Exception as error:  # the decoder itself ran before: only forward mode can fail here
            reason = reason or f"forward mode failed: {str(error).splitlines()[0][:100]}"
    method, way = _WAYS[-1]
    _LOG.warning("Jacobians by finite differences: %s", reason)
    return method, way, reason


@dataclass(frozen=True)
class _Plan:
    """What is found out before the first chunk."""

    space: Space
    columns: tuple[int, ...]
    outputs: int
    method: Method
    note: str
    chunks: Iterator[Tensor]  # each (points, columns, outputs)


def _plan(
    decode: Decode,
    points: Floats | Tensor,
    likelihood: LikelihoodOf | None,
    space: Space | None,
    columns: Sequence[int] | Array | None,
    memory: int,
) -> _Plan:
    z = as_points(points, decode).clone()
    d = z.shape[1]
    chosen = columns_of(columns, d)
    basis = torch.eye(d, dtype=z.dtype, device=z.device)[list(chosen)]
    reader = read_at(decode, z, space=space, likelihood=likelihood)
    method, way, note = _choose_way(reader, z[:4], basis)
    size = max(1, memory // (reader.outputs * len(chosen) * z.element_size() * _IN_FLIGHT))

    def run() -> Iterator[Tensor]:
        for start in range(0, len(z), size):
            tangents = way(reader, z[start : start + size], basis)
            _finite(tangents, start)
            yield tangents

    return _Plan(reader.space, chosen, reader.outputs, method, note, run())


def _finite(tangents: Tensor, start: int) -> None:
    # The sum is quick, and finite in nearly all cases; only where it is not are all looked at.
    if bool(torch.isfinite(tangents.sum())) or bool(torch.isfinite(tangents).all()):
        return
    first = start + int((~torch.isfinite(tangents)).flatten(1).any(1).nonzero()[0])
    raise RangeError(
        f"The decoder's derivative is not finite, first at point {first}.",
        "Leave such points out, or find the layer that has no derivative there.",
    )


def jacobians(
    decode: Decode,
    points: Floats | Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
    memory: int = 2**26,
) -> Jacobians:
    """dx/dz at each point, shape (n, outputs, columns).

    `decode` is a vaescope Decoder or any function from codes (n, d) to outputs (n, ...), in
    evaluation mode. `likelihood` says what a plain function's outputs mean; with it, or with a
    Decoder, the space is "likelihood" by default, else "output". `columns` restricts the latents.
    `memory` limits the bytes of intermediate results; the result itself is extra.

    >>> jacobians(lambda z: z**2, torch.tensor([[1.0, 3.0]])).values
    array([[[2., 0.],
            [0., 6.]]], dtype=float32)

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.
        memory: largest size of one chunk in bytes.

    Returns:
        `Jacobians`: dx/dz at each point, in one space: rows are weighted by it, so that J'J is its
        metric.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.
    """
    with torch.inference_mode(False), torch.no_grad():
        plan = _plan(decode, points, likelihood, space, columns, memory)
        values: Floats | None = None
        start = 0
        for tangents in plan.chunks:
            # NumPy has no bfloat16; half precision holds no sum of squares.
            wide = tangents if tangents.dtype == torch.float64 else tangents.float()
            chunk = wide.cpu().numpy()
            if values is None:
                shape = (len(points), len(plan.columns), plan.outputs)
                values = np.empty(shape, dtype=chunk.dtype)
            values[start : start + len(chunk)] = chunk
            start += len(chunk)
    assert values is not None
    return Jacobians(values.swapaxes(1, 2), plan.space, plan.columns, plan.method, plan.note)


def grams(
    decode: Decode,
    points: Floats | Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
    memory: int = 2**26,
) -> Grams:
    """J'J at each point, without keeping all Jacobians in memory.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.
        memory: largest size of one chunk in bytes.

    Returns:
        `Grams`: J'J at each point, float64: the metric that a decoder pulls back to its latents.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> decode = lambda z: torch.tanh(z @ torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).T)
        >>> points = torch.zeros(4, 2)
        >>> vs.geometry.grams(decode, points).values[0].round(1).tolist()
        [[5.0, 1.0], [1.0, 2.0]]
    """
    with torch.inference_mode(False), torch.no_grad():
        plan = _plan(decode, points, likelihood, space, columns, memory)
        parts = []
        for tangents in plan.chunks:
            exact = tangents.double()
            parts.append((exact @ exact.mT).cpu().numpy())
    return Grams(np.concatenate(parts), plan.space, plan.columns, plan.method, plan.note)


def grams_of(matrices: Floats, *, space: str = "output") -> Grams:
    """M'M of known matrices (n, outputs, columns), e.g. of fitted local decoders.

    Args:
        matrices: (n, output, latent) Jacobians.
        space: space of the outputs.

    Returns:
        `Grams`: J'J at each point, float64: the metric that a decoder pulls back to its latents.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> vs.geometry.grams_of(np.array([[[2.0, 0.0], [0.0, 1.0]]])).norms.tolist()
        [[2.0, 1.0]]
    """
    if matrices.ndim != 3:
        raise ShapeError(
            f"Matrices have shape {matrices.shape}; wanted (n, outputs, columns).",
            "Put a single matrix as matrix[None].",
        )
    exact = np.asarray(matrices, dtype=np.float64)
    values: Double = np.swapaxes(exact, 1, 2) @ exact
    return Grams(values, space, tuple(range(matrices.shape[2])), "forward mode")
