"""A decoder read in one space, tried out before anything is measured of it.

A Jacobian per point means something only if the decoder is a function of each code alone: dropout
in training mode, batch statistics and random numbers are found here and named.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from vaescope.distributions import Distribution
from vaescope.errors import RangeError, ShapeError, UsageError, VaescopeError
from vaescope.geometry.space import Decode, LikelihoodOf, Space, choose, read
from vaescope.types import Array, Double, Floats, Long
from vaescope.vae import Decoder

__all__ = ["Reader", "as_points", "columns_of", "own_type", "read_at", "spaced", "variances_of"]


def own_type(decode: object) -> dict[str, Any]:
    """Type and place of a module's weights; float32 for functions, which do not say."""
    if isinstance(decode, nn.Module):
        for weight in decode.parameters():
            if weight.is_floating_point():
                return {"dtype": weight.dtype, "device": weight.device}
    return {"dtype": torch.float32}


def as_points(points: Floats | Tensor, decode: object = None) -> Tensor:
    """Codes as decoders take them, one after another in memory. Arrays get the type of the
    decoder's weights, tensors stay as they are."""
    if isinstance(points, Tensor):
        z = points.detach().contiguous()
    else:
        z = torch.as_tensor(np.ascontiguousarray(points), **own_type(decode))
    if z.ndim != 2 or z.numel() == 0 or not z.is_floating_point():
        raise ShapeError(
            f"Points have shape {tuple(z.shape)} and type {z.dtype}; wanted codes of shape (n, d), "
            "at least one, of a floating-point type.",
            "Pass posterior means, e.g. codes.mean[:200].",
        )
    if not bool(torch.isfinite(z).all()):
        bad = int((~torch.isfinite(z)).any(1).sum())
        raise RangeError(
            f"{bad} of {len(z)} points are not finite; a decoder has no derivative there.",
            "Leave out these rows, and find out why the encoder returns them.",
        )
    return z


def columns_of(columns: Sequence[int] | Array | None, d: int) -> tuple[int, ...]:
    """The latents asked for, all by default; a mask of d truth values is understood too."""
    asked = np.arange(d) if columns is None else np.asarray(columns)
    if asked.dtype == np.bool_ and asked.shape == (d,):
        asked = np.flatnonzero(asked)
    chosen = tuple(int(j) for j in asked.ravel())
    if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= j < d for j in chosen):
        raise ShapeError(
            f"Columns are {list(chosen)}; wanted at least one of the latents 0 to {d - 1}, each "
            "once.",
            "Leave columns out to take all.",
        )
    return chosen


def spaced(n: int, count: int) -> Long:
    """Numbers of at most `count` of n rows, spread over all: rows of a grid are sorted."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(np.int64))


def variances_of(
    variance: Floats | Tensor, points: Floats | Tensor, columns: Sequence[int]
) -> Double:
    """Posterior variances of these points and latents, after a look at their shape."""
    each = np.asarray(variance, dtype=np.float64)
    if each.shape != np.shape(points):
        raise ShapeError(
            f"variance has shape {each.shape}; wanted {tuple(np.shape(points))}, that of the "
            "means.",
            "Pass the mean and variance of the same codes.",
        )
    return np.asarray(each[:, list(columns)])


def _same(output: Any) -> Any:
    return output


@dataclass(frozen=True, eq=False)
class Reader:
    """A decoder in two parts, so that its layers can be walked through, and the space it is read
    in."""

    body: Callable[[Tensor], Any]
    head: Callable[[Any], Tensor | Distribution]
    space: Space
    outputs: int  # coordinates of one output

    def coordinates(self, z: Tensor) -> Tensor:
        # A copy: some decoders change their input in place.
        return read(self.head(self.body(z.clone())), self.space)[0]

    def weights(self, z: Tensor) -> Tensor | None:
        return read(self.head(self.body(z.clone())), self.space)[1]


def read_at(
    decode: Decode,
    z: Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
) -> Reader:
    """The decoder read in a space, after a trial at the first two codes."""
    _in_evaluation_mode(decode)
    body: Callable[[Tensor], Any] = decode
    head: Callable[[Any], Tensor | Distribution] = _same if likelihood is None else likelihood
    if isinstance(decode, Decoder) and likelihood is None:
        own = decode.likelihood
        body, head = decode.body, lambda output: own(output.float())
    few = z[:2]
    output = _tried(body, head, few)
    reader = Reader(body, head, choose(output, space), 0)
    _one_per_code(output, few)
    coordinates = read(output, reader.space)[0]
    if not coordinates.is_floating_point() or not coordinates.shape[1]:
        raise ShapeError(
            f"The decoder returned {coordinates.shape[1]} numbers of type {coordinates.dtype} per "
            "code; wanted at least one, of a real floating-point type.",
            "Decode to means or logits: outputs rounded to whole numbers have no derivative.",
        )
    if not bool(torch.isfinite(coordinates).all()):
        raise RangeError(
            "The decoder's output is not finite at the first codes.",
            "Find the layer that produces NaN or infinity.",
        )
    _a_function_of_each_code(reader, few, coordinates)
    return Reader(body, head, reader.space, coordinates.shape[1])


def _in_evaluation_mode(decode: object) -> None:
    if not isinstance(decode, nn.Module):
        return
    for name, layer in decode.named_modules():
        random = isinstance(layer, _DropoutNd) and layer.p > 0
        if layer.training and (random or isinstance(layer, _BatchNorm)):
            raise UsageError(
                f"{type(layer).__name__} ({name}) is in training mode, so the output is not a "
                "function of the code alone.",
                "Call decoder.eval() first.",
            )


def _tried(
    body: Callable[[Tensor], Any], head: Callable[[Any], Any], z: Tensor
) -> Tensor | Distribution:
    try:
        output = head(body(z.clone()))
    except VaescopeError:
        raise
    except Exception as error:  # anything may go wrong in somebody else's function
        said = (str(error).splitlines() or [""])[0][:200]
        raise UsageError(
            f"The decoder failed on codes of shape {tuple(z.shape)} and type {z.dtype}: "
            f"{type(error).__name__}: {said}",
            "It must take any number of codes, shape (n, d). If its weights have another type, "
            "pass points as a tensor of that type.",
        ) from error
    if not isinstance(output, Tensor | Distribution):
        raise UsageError(
            f"The decoder returned a {type(output).__module__}.{type(output).__name__}; wanted a "
            "tensor of outputs, shape (n, ...), or a vaescope distribution.",
            "Wrap it, e.g. lambda z: decoder(z)[0], and state its meaning with likelihood=...",
        )
    return output


def _one_per_code(output: Tensor | Distribution, z: Tensor) -> None:
    mean = output.mean if isinstance(output, Distribution) else output
    assert isinstance(mean, Tensor)
    made = len(mean) if mean.ndim else 0
    if made != len(z):
        raise ShapeError(
            f"The decoder made {made} outputs of {len(z)} codes.",
            "It must take codes of shape (n, d) and return one output per code.",
        )


def _a_function_of_each_code(reader: Reader, z: Tensor, first: Tensor) -> None:
    """Asked again, the decoder must answer the same, and the same for a code without company."""
    close = 1e3 * torch.finfo(first.dtype).eps  # layers add up in another order for other batches

    def differs(again: Tensor, wanted: Tensor) -> bool:
        return float((again - wanted).norm()) > close * float(wanted.norm())

    if differs(reader.coordinates(z), first):
        raise UsageError(
            "The decoder gave two outputs for the same codes: it is random.",
            "Call eval() on its layers, or decode without sampling.",
        )
    if len(z) > 1:
        with_company = first[:1]
        try:
            alone = reader.coordinates(z[:1])
        except Exception as error:
            raise UsageError(
                f"The decoder takes two codes, but not one: {str(error).splitlines()[0][:200]}",
                "It must take any number of codes, shape (n, d).",
            ) from error
        if differs(alone, with_company):
            raise UsageError(
                "A code's output depends on the other codes of its batch.",
                "Call eval() on layers with batch statistics; decode each code on its own.",
            )
