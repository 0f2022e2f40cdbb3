"""Where a model keeps its encoder and decoder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.errors import UsageError

__all__ = ["Function", "Source", "source_of"]

Function = Callable[[Tensor], Any]


@dataclass(frozen=True, eq=False)
class Source:
    """Functions as the model has them, most telling first; `range` where the library fixes it."""

    name: str
    encoders: tuple[tuple[str, Function], ...]
    decoders: tuple[tuple[str, Function], ...]
    module: nn.Module | None
    range: tuple[float, float] | None = None
    scaling: float | None = None
    says: str = ""  # which library


def source_of(
    model: Any = None, encode: Function | None = None, decode: Function | None = None
) -> Source:
    """The functions given, or else those of the model."""
    if model is None and (encode is None or decode is None):
        raise UsageError(
            "Neither a model nor both functions were given.",
            "Pass a model, or encode= and decode=.",
        )
    if hasattr(model, "inverse_transform") and hasattr(model, "transform"):
        return _estimator(model)
    module = _module(model, encode, decode)
    encoders = [("encode=", encode)] if encode else _methods(model, "encode", "encoder")
    decoders = [("decode=", decode)] if decode else _methods(model, "decode", "decoder")
    name = "functions" if model is None else type(model).__name__
    for found, what in ((encoders, "encode"), (decoders, "decode")):
        if not found:
            raise UsageError(
                f"{name} has neither {what} nor {what}r.",
                f"Pass {what}= as a function of a batch of tensors.",
            )
    scaling = getattr(getattr(model, "config", None), "scaling_factor", None)
    if isinstance(scaling, float) and name.startswith("Autoencoder"):
        return Source(name, tuple(encoders), tuple(decoders), module, (-1.0, 1.0), scaling,
                      "diffusers' autoencoders take and give images in [-1, 1]")  # fmt: skip
    return Source(name, tuple(encoders), tuple(decoders), module)


def _methods(model: Any, *names: str) -> list[tuple[str, Function]]:
    return [(name, f) for name in names if callable(f := getattr(model, name, None))]


def _module(model: Any, *functions: Any) -> nn.Module | None:
    """The parameters behind the functions: of the model, or of modules passed as functions."""
    if isinstance(model, nn.Module):
        return model
    owners = [getattr(f, "__self__", f) for f in functions if f is not None]
    parts = [owner for owner in owners if isinstance(owner, nn.Module)]
    return nn.ModuleList(parts) if parts else None


def _estimator(model: Any) -> Source:
    """scikit-learn: rows in, rows out. Codes without noise."""

    def encode(x: Tensor) -> Tensor:
        rows = x.flatten(1).double().cpu().numpy()
        return torch.from_numpy(np.asarray(model.transform(rows))).float()

    def decode(z: Tensor) -> Tensor:
        rows = z.double().cpu().numpy()
        return torch.from_numpy(np.asarray(model.inverse_transform(rows))).float()

    return Source(type(model).__name__, (("transform", encode),),
                  (("inverse_transform", decode),), None)  # fmt: skip
