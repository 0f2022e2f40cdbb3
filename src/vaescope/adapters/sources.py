"""Where a model keeps its encoder and decoder."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.adapters.output_format import UNIT
from vaescope.distributions import Distribution
from vaescope.errors import UsageError
from vaescope.vae import VAE

__all__ = ["Function", "Source", "source_of"]

#: Of a batch, and of what it is conditioned on where there is something.
Function = Callable[[Tensor, Tensor | None], Any]
Given = Callable[..., Any]

#: What wrappers call the model that they hold.
_HELD = ("module", "model", "vae", "net", "network", "autoencoder", "_orig_mod")


@dataclass(frozen=True, eq=False)
class Source:
    """Functions as the model has them, most telling first; `range` where the library fixes it."""

    name: str
    encoders: tuple[tuple[str, Function], ...]
    decoders: tuple[tuple[str, Function], ...]
    module: nn.Module | None
    forwards: tuple[Function, ...] = ()  # whole passes through the model, where it has them
    model: Any = None  # the object itself, which may say more
    range: tuple[float, float] | None = None
    scaling: float | None = None
    says: str = ""  # which library
    likelihood: Callable[[Tensor], Distribution] | None = None  # of our own models
    batch: int | None = None  # rows of every batch, where the model takes no other


def source_of(
    model: Any = None, encode: Given | None = None, decode: Given | None = None
) -> Source:
    """The functions given, or else those of the model."""
    if model is None and (encode is None or decode is None):
        raise UsageError(
            "Neither a model nor both functions were given.",
            "Pass a model, or encode= and decode=.",
        )
    if isinstance(model, type):
        raise UsageError(
            f"{model.__name__} is a class; wanted a model.", f"Pass {model.__name__}(...), trained."
        )
    model = _unwrapped(model)
    if encode is None and decode is None and _is_estimator(model):
        return _estimator(model)
    if encode is None and decode is None and isinstance(model, VAE):
        return _vae(model)
    module = _module(model, encode, decode)
    encoders = [("encode=", encode)] if encode else _methods(model, "encode", "encoder")
    decoders = [("decode=", decode)] if decode else _methods(model, "decode", "decoder")
    forwards = _forwards(model, encode, decode)
    name = "functions" if model is None else type(model).__name__
    for found, what in ((encoders, "encode"), (decoders, "decode")):
        if not found and not forwards:
            raise UsageError(
                f"{name} has neither {what} nor {what}r.",
                f"Pass {what}= as a function of a batch of tensors.",
            )
    called = [tuple((word, _placed(f, module)) for word, f in found)
              for found in (encoders, decoders)]  # fmt: skip
    passes = tuple(_placed(f, module) for f in forwards)
    scaling = getattr(getattr(model, "config", None), "scaling_factor", None)
    if isinstance(scaling, float) and name.startswith("Autoencoder"):
        return Source(name, called[0], called[1], module, (), model, (-1.0, 1.0), scaling,
                      "diffusers' autoencoders take and give images in [-1, 1]")  # fmt: skip
    return Source(name, called[0], called[1], module, passes, model)


def _unwrapped(model: Any) -> Any:
    """The model in wrappers that neither encode nor decode themselves."""
    while isinstance(model, nn.Module) and not _methods(model, "encode", "encoder"):
        held = [
            value for name in _HELD if isinstance(value := getattr(model, name, None), nn.Module)
        ]
        if len(held) != 1:
            return model
        model = held[0]
    return model


def _methods(model: Any, *names: str) -> list[tuple[str, Given]]:
    return [(name, f) for name in names if callable(f := getattr(model, name, None))]


def _forwards(model: Any, encode: Given | None, decode: Given | None) -> list[Given]:
    """Calls of the whole model: on a batch, or on a dictionary that holds it as pythae's do."""
    if not isinstance(model, nn.Module) or encode is not None or decode is not None:
        return []
    if type(model).forward is nn.Module.forward:
        return []

    def of_dictionary(x: Tensor) -> Any:
        return model({"data": x})

    return [model, of_dictionary]


def _placed(function: Given, module: nn.Module | None) -> Function:
    """The function, fed on the device and in the precision of the module behind it: contiguous
    copies, since it may change them in place, and `view` fails on other layouts."""
    conditional = _positional(function) > 1

    def call(values: Tensor, u: Tensor | None = None) -> Any:
        parameters = iter(()) if module is None else module.parameters()
        own = next((p for p in parameters if p.is_floating_point()), values)
        fed = values.to(own.device, own.dtype, copy=True).contiguous()
        if u is None or not conditional:
            return function(fed)
        return function(fed, u.to(own.device, own.dtype if u.is_floating_point() else u.dtype))

    call.__wrapped__ = function  # type: ignore[attr-defined] # whose code says what it returns
    call.conditional = conditional  # type: ignore[attr-defined]
    return call


def _positional(function: Given) -> int:
    """How many arguments a function takes by place."""
    try:
        known = inspect.signature(getattr(function, "forward", function)).parameters.values()
    except (TypeError, ValueError):
        return 1
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in known):
        return 2
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds for one in known)


def _module(model: Any, *functions: Any) -> nn.Module | None:
    """The modules behind a model or functions: themselves, or what they hold and name."""
    held = [value for owner in (model, *functions) for value in _held(owner)]
    parts = list(dict.fromkeys(value for value in held if isinstance(value, nn.Module)))
    return parts[0] if len(parts) == 1 else nn.ModuleList(parts) if parts else None


def _held(owner: Any) -> list[Any]:
    """An object, what its attributes hold, and the variables that a function uses."""
    if isinstance(owner, partial):
        return [own for part in (owner.func, *owner.args, *owner.keywords.values())
                for own in _held(part)]  # fmt: skip
    owner = getattr(owner, "__self__", owner)
    held = [owner, *getattr(owner, "__dict__", {}).values()]
    if isinstance(owner, FunctionType):
        held += [cell.cell_contents for cell in owner.__closure__ or ()]
        held += [owner.__globals__.get(name) for name in owner.__code__.co_names]
    return held


def _vae(model: VAE) -> Source:
    """Our own, of which nothing has to be guessed."""
    own = model.decoder.likelihood
    encoders = (("encoder", _placed(model.encoder, model)),)
    if own.width != 1:  # more outputs than values of x: the mean is read
        whole = (("decoder", _placed(model.decoder, model)),)
        return Source("VAE", encoders, whole, model, range=UNIT)
    decoders = (("decoder", _placed(model.decoder.body, model)),)
    return Source("VAE", encoders, decoders, model, range=UNIT, likelihood=own,
                  says="its data are as they are")  # fmt: skip


def _is_estimator(model: Any) -> bool:
    return callable(getattr(model, "transform", None)) and callable(
        getattr(model, "inverse_transform", None)
    )


def _estimator(model: Any) -> Source:
    """scikit-learn: rows in, rows out. Codes without noise."""
    own = getattr(getattr(model, "components_", None), "dtype", np.float64)  # some take no other

    def encode(x: Tensor, _: Tensor | None = None) -> Tensor:
        rows = x.flatten(1).cpu().numpy().astype(own)
        return torch.from_numpy(np.asarray(model.transform(rows))).float()

    def decode(z: Tensor, _: Tensor | None = None) -> Tensor:
        rows = z.cpu().numpy().astype(own)
        return torch.from_numpy(np.asarray(model.inverse_transform(rows))).float()

    return Source(type(model).__name__, (("transform", encode),),
                  (("inverse_transform", decode),), None)  # fmt: skip
