"""Jacobians of any decoder at many points, and their Gram matrices J'J, exact and in little memory.

Forward mode: a decoder has few latents and many outputs, so that pushing d tangents through it is
hundreds of times cheaper than pulling every output back.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import jvp

from vaescope.distributions import Distribution
from vaescope.errors import ShapeError
from vaescope.geometry.pushforward import pushforward
from vaescope.geometry.space import Decode, LikelihoodOf, Space, as_points, choose, read
from vaescope.types import Array, Floats
from vaescope.vae import Decoder

__all__ = ["Grams", "Jacobians", "Method", "grams", "grams_of", "jacobians", "read_at"]

_LOG = logging.getLogger("vaescope")

Method = Literal["forward mode", "forward mode by column", "finite differences"]

#: Tensors of the widest layer that are alive at once, in units of the outputs' own size.
_IN_FLIGHT = 32


@dataclass(frozen=True, eq=False)
class Jacobians:
    """dx/dz at each point, in one space: rows are weighted by it, so that J'J is its metric."""

    values: Floats  # (n, outputs, columns)
    space: Space
    columns: tuple[int, ...]  # the latents that the columns belong to
    method: Method
    note: str = ""  # why it is not plain forward mode

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
class Grams:
    """J'J at each point, float64: the metric that a decoder pulls back to its latents.

    Column norms, cosines, singular values and right singular vectors of J all follow from it.
    """

    values: NDArray[np.float64]  # (n, columns, columns)
    space: str
    columns: tuple[int, ...]
    method: Method
    note: str = ""

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def norms(self) -> NDArray[np.float64]:
        """||J_j|| at each point: shape (n, columns)."""
        return np.sqrt(np.diagonal(self.values, axis1=1, axis2=2))

    def singular(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Singular values of J, descending, and V as columns: shapes (n, d) and (n, d, d)."""
        values, vectors = np.linalg.eigh(self.values)
        return np.sqrt(np.clip(values[:, ::-1], 0.0, None)), vectors[:, :, ::-1]

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


@dataclass(frozen=True)
class _Reader:
    """A decoder in two parts, so that its layers can be walked through, and the space it is read
    in."""

    body: Callable[[Tensor], Any]
    head: Callable[[Any], Tensor | Distribution]
    space: Space

    def coordinates(self, z: Tensor) -> Tensor:
        return read(self.head(self.body(z)), self.space)[0]

    def weights(self, z: Tensor) -> Tensor | None:
        return read(self.head(self.body(z)), self.space)[1]


def _same(output: Any) -> Any:
    return output


def _reader(
    decode: Decode, z: Tensor, likelihood: LikelihoodOf | None, space: Space | None
) -> tuple[_Reader, int]:
    """The reader, and how many coordinates an output has."""
    body: Callable[[Tensor], Any] = decode
    head: Callable[[Any], Tensor | Distribution] = _same if likelihood is None else likelihood
    if isinstance(decode, Decoder) and likelihood is None:
        own = decode.likelihood
        body, head = decode.body, lambda output: own(output.float())
    output = head(body(z[:2]))
    reader = _Reader(body, head, choose(output, space))
    coordinates = read(output, reader.space)[0]
    if len(coordinates) != len(z[:2]):
        raise ShapeError(
            f"The decoder made {len(coordinates)} outputs of {len(z[:2])} codes.",
            "It must take codes of shape (n, d) and return one output per code.",
        )
    return reader, coordinates.shape[1]


def _weighted(tangents: Tensor, weights: Tensor | None) -> Tensor:
    return tangents if weights is None else tangents * weights.unsqueeze(1)


def _stacked(reader: _Reader, z: Tensor, basis: Tensor) -> Tensor:
    y, tangents = pushforward(reader.body, z, basis.expand(len(z), *basis.shape))
    tangents = pushforward(lambda y: read(reader.head(y), reader.space)[0], y, tangents)[1]
    return _weighted(tangents, read(reader.head(y), reader.space)[1])


def _by_column(reader: _Reader, z: Tensor, basis: Tensor) -> Tensor:
    columns = [
        jvp(reader.coordinates, (z,), (direction.expand_as(z).contiguous(),))[1]
        for direction in basis
    ]
    return _weighted(torch.stack(columns, 1), reader.weights(z))


def _step(dtype: torch.dtype) -> float:
    # Where rounding and curvature weigh the same in a central difference of smooth functions.
    return float(torch.finfo(dtype).eps ** (1 / 3))


def _differences(reader: _Reader, z: Tensor, basis: Tensor) -> Tensor:
    h = _step(z.dtype)
    moved = (h * basis).expand(len(z), *basis.shape)  # (n, columns, d)
    up = reader.coordinates((z.unsqueeze(1) + moved).flatten(0, 1))
    down = reader.coordinates((z.unsqueeze(1) - moved).flatten(0, 1))
    tangents = ((up - down) / (2.0 * h)).reshape(*moved.shape[:2], -1)
    return _weighted(tangents, reader.weights(z))


_Way = Callable[[_Reader, Tensor, Tensor], Tensor]
_WAYS: tuple[tuple[Method, _Way], ...] = (
    ("forward mode", _stacked),
    ("forward mode by column", _by_column),
    ("finite differences", _differences),
)


def _agrees(way: _Way, reader: _Reader, z: Tensor, basis: Tensor) -> bool:
    """Forward mode sees nothing behind detach() or no_grad(), and does not say so: one finite
    difference along a sum of the columns tells."""
    generator = torch.Generator().manual_seed(0)
    mix = torch.randn(len(basis), generator=generator).to(basis)
    forward = torch.einsum("ncx,c->nx", way(reader, z, basis), mix)
    difference = _differences(reader, z, (mix @ basis).unsqueeze(0))[:, 0]
    y = reader.coordinates(z)
    rounding = 10.0 * torch.finfo(y.dtype).eps * y.norm() / _step(z.dtype)
    return bool((forward - difference).norm() <= 0.2 * difference.norm() + rounding)


def _choose_way(reader: _Reader, z: Tensor, basis: Tensor) -> tuple[Method, _Way, str]:
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
    z = as_points(points).clone()
    d = z.shape[1]
    chosen = tuple(range(d)) if columns is None else tuple(int(j) for j in columns)
    if not chosen or not all(0 <= j < d for j in chosen):
        raise ShapeError(
            f"Columns are {list(chosen)}; wanted at least one of the latents 0 to {d - 1}.",
            "Leave columns out to take all.",
        )
    basis = torch.eye(d, dtype=z.dtype, device=z.device)[list(chosen)]
    reader, outputs = _reader(decode, z, likelihood, space)
    method, way, note = _choose_way(reader, z[:4], basis)
    size = max(1, memory // (outputs * len(chosen) * z.element_size() * _IN_FLIGHT))

    def run() -> Iterator[Tensor]:
        for start in range(0, len(z), size):
            yield way(reader, z[start : start + size], basis)

    return _Plan(reader.space, chosen, outputs, method, note, run())


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
    evaluation mode. `likelihood` says how a plain function's outputs are meant; with it, or with a
    Decoder, the space is "likelihood" by default, else "output". `columns` restricts the latents.
    `memory` bounds the bytes in flight; the result itself comes on top.

    >>> jacobians(lambda z: z**2, torch.tensor([[1.0, 3.0]])).values
    array([[[2., 0.],
            [0., 6.]]], dtype=float32)
    """
    with torch.inference_mode(False), torch.no_grad():
        plan = _plan(decode, points, likelihood, space, columns, memory)
        values: Floats | None = None
        start = 0
        for tangents in plan.chunks:
            chunk = tangents.cpu().numpy()
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
    """J'J at each point, without ever holding all Jacobians. Arguments as for `jacobians`."""
    with torch.inference_mode(False), torch.no_grad():
        plan = _plan(decode, points, likelihood, space, columns, memory)
        parts = []
        for tangents in plan.chunks:
            exact = tangents.double()
            parts.append((exact @ exact.mT).cpu().numpy())
    return Grams(np.concatenate(parts), plan.space, plan.columns, plan.method, plan.note)


def grams_of(matrices: Floats, *, space: str = "output") -> Grams:
    """M'M of matrices (n, outputs, columns) that are at hand, e.g. of fitted local decoders."""
    if matrices.ndim != 3:
        raise ShapeError(
            f"Matrices have shape {matrices.shape}; wanted (n, outputs, columns).",
            "Put a single matrix as matrix[None].",
        )
    exact = np.asarray(matrices, dtype=np.float64)
    values: NDArray[np.float64] = np.swapaxes(exact, 1, 2) @ exact
    return Grams(values, space, tuple(range(matrices.shape[2])), "forward mode")


@dataclass(frozen=True, eq=False)
class ReadDecoder:
    """A decoder as a function of codes in one space; differences there are weighted as at one
    point."""

    space: Space
    outputs: int
    coordinates: Callable[[Tensor], Tensor]
    weights: Callable[[Tensor], Tensor | None]


def read_at(
    decode: Decode,
    z: Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
) -> ReadDecoder:
    """The decoder read in a space, for those who need its values and not its derivatives."""
    reader, outputs = _reader(decode, z, likelihood, space)
    return ReadDecoder(reader.space, outputs, reader.coordinates, reader.weights)
