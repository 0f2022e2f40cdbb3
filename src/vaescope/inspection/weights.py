"""Weights of a layer as a page carries them: whole numbers of 16 bits, a scale for each output."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from vaescope.inspection.network import Affine
from vaescope.types import Array

__all__ = ["Unsupported", "Weighted", "array", "rounded"]


class Unsupported(Exception):
    """Why a decoder cannot run on a page; `network_of` gives it as a reason."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """An `Affine` whose weights are still what torch has."""

    size: int
    weight: Array  # (kernel, kernel, inputs, outputs)
    bias: Array
    stride: int = 1
    padding: int = 0
    extra: int = 0  # pixels added below and to the right

    @property
    def grown(self) -> int:
        kernel = int(self.weight.shape[0])
        return (self.size - 1) * self.stride + kernel - 2 * self.padding + self.extra


def array(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().float().cpu().numpy())


def rounded(layer: Weighted, source: tuple[int, ...] = (), *, exact: bool = False) -> Affine:
    """The nearest of 65,535 parts of the largest weight of each output; `exact` ones stay."""
    if not (np.isfinite(layer.weight).all() and np.isfinite(layer.bias).all()):
        raise Unsupported("some of its weights are not finite.")
    rest = (layer.bias, layer.stride, layer.padding, layer.extra, source)
    if exact:
        ones = np.ones(layer.weight.shape[3], np.float32)
        return Affine(layer.size, np.ascontiguousarray(layer.weight, np.float32), ones, *rest)
    most = np.abs(layer.weight).max((0, 1, 2))
    scale = np.where(most > 0, most / 32767, 1.0).astype(np.float32)
    whole = np.clip(np.round(layer.weight / scale), -32767, 32767).astype(np.int16)
    return Affine(layer.size, np.ascontiguousarray(whole), scale, *rest)
