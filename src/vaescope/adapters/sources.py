"""Where a model keeps its encoder and decoder."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.adapters.arguments import Call, fed, required_of
from vaescope.adapters.condition import Form
from vaescope.adapters.losses import loss_passes
from vaescope.adapters.output_format import UNIT
from vaescope.adapters.time_first import TimeFirst
from vaescope.distributions import Distribution
from vaescope.errors import UsageError
from vaescope.types import Floats
from vaescope.vae import VAE

__all__ = ["Function", "Source", "is_of", "source_of", "source_of_encoder"]

#: Of a batch, and of what it is conditioned on where there is something.
Function = Callable[[Tensor, Tensor | None], Any]
Given = Callable[..., Any]
Functions = tuple[tuple[str, Function], ...]

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
    scaling: float | None = None  # what pipelines multiply latents by, after they take `shift`
    shift: float | None = None
    channels: tuple[Floats, Floats] | None = None  # mean and std of each, where pipelines have them
    says: str = ""  # which library
    likelihood: Callable[[Tensor], Distribution] | None = None  # of our own models
    batch: int | None = None  # rows of every batch, where the model takes no other
    prior: Callable[[], Any] | None = None  # where the model states it
    #: Passes whose losses show the likelihood, and their names.
    losses: tuple[tuple[str, Function], ...] = ()
    told_likelihood: bool = False  # whether decoders give what the user's likelihood= makes of them


def source_of(
    model: Any = None, encode: Given | None = None, decode: Given | None = None,
    *, form: Form | None = None, batch_axis: int = 0,
) -> Source:  # fmt: skip
    """The functions given, or else those of the model. `form` says what they get beside x and z,
    `batch_axis` where their batches lie."""
    if model is None and (encode is None or decode is None):
        raise UsageError(
            "Neither a model nor both functions were given.",
            "Pass a model, or encode= and decode=.",
        )
    if isinstance(model, type):
        raise UsageError(
            f"{model.__name__} is a class; wanted a model.",
            f"Pass a trained instance, {model.__name__}(...).",
        )
    if encode is None and decode is None and _has_programs(model):
        return _pyro(model, form)
    step = _step(model) if encode is None and decode is None else None
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
    called = [tuple((word, _placed(f, module, form, batch_axis, data=found is decoders))
                    for word, f in found) for found in (encoders, decoders)]  # fmt: skip
    called = [_whole(functions, form) for functions in called]
    passes = tuple(_placed(f, module, form, batch_axis) for f in forwards)
    losses: Functions = (("forward", passes[0]),) if passes else ()
    if passes:
        losses += tuple((word, _placed(f, module, form, batch_axis)) for word, f in
                        loss_passes(model))  # fmt: skip
    if step is not None:
        losses, passes = (step, *losses), (*passes, step[1])
    if is_of(model, "diffusers") and encoders and decoders:
        return _diffusers(name, called[0], called[1] if decode else (), model)
    return Source(name, called[0], called[1], module, passes, model, losses=losses)


def _step(model: Any) -> tuple[str, Function] | None:
    """The training step of Lightning's and Keras's models, which may hold the VAE: its name, and
    itself."""
    if is_of(model, "keras"):
        from vaescope.adapters import keras

        return "train_step", _placed(keras.step_of(model), model)
    if any(is_of(model, name) for name in ("lightning", "pytorch_lightning")):
        from vaescope.adapters import lightning

        step = lightning.step_of(model)
        return None if step is None else ("training_step", _placed(step, model))
    return None


def source_of_encoder(model: Any, encode: Given | None) -> Source:
    """The encoder alone, as it is: it is given whatever its batches are."""
    model = _unwrapped(model)
    encoders = [("encode", encode)] if encode else _methods(model, "encode", "encoder")
    if not encoders and not isinstance(model, nn.Module):
        raise UsageError(
            f"{type(model).__name__} has neither encode nor encoder.",
            "Pass encode= as a function encode(batch) that returns (mean, logvar).",
        )
    name = "functions" if model is None else type(model).__name__
    return Source(name, tuple(encoders), (), _module(model, encode), (), model)


def _unwrapped(model: Any) -> Any:
    """The model in wrappers that neither encode nor decode themselves."""
    while isinstance(model, nn.Module) and not _methods(model, "encode", "encoder"):
        held = [
            value for name in _HELD if isinstance(value := getattr(model, name, None), nn.Module)
        ]
        if len(held) != 1 or not _is_wrapper(model, held[0]):
            return model
        model = held[0]
    return model


def _is_wrapper(model: nn.Module, held: nn.Module) -> bool:
    """Whether what it holds is the model: that encodes, or is all that has parameters. Else it is
    a part, such as a decoder that is called net."""
    own = {id(parameter) for parameter in held.parameters()}
    whole = all(id(parameter) in own for parameter in model.parameters())
    return whole or bool(_methods(_unwrapped(held), "encode", "encoder"))


def _methods(model: Any, *names: str) -> list[tuple[str, Given]]:
    return [(name, f) for name in names if callable(f := getattr(model, name, None))]


def _forwards(model: Any, encode: Given | None, decode: Given | None) -> list[Given]:
    """Calls of the whole model: on a batch, or on a dictionary that holds it as pythae's do."""
    if not isinstance(model, nn.Module) or encode is not None or decode is not None:
        return []
    # Of a scripted module the class has no forward to look at, but it has one of its own.
    if not isinstance(model, torch.jit.ScriptModule) and type(model).forward is nn.Module.forward:
        return []

    def of_dictionary(x: Tensor) -> Any:
        return model({"data": x})

    return [model, of_dictionary]


def _placed(
    function: Given, module: nn.Module | None, form: Form | None = None, batch_axis: int = 0,
    *, data: bool = False,
) -> Function:  # fmt: skip
    """The function, fed on the device and in the precision of the module behind it; with `data`, it
    may be given the data beside latents, as decoders that see the tokens before are."""
    call = Call(TimeFirst(function) if batch_axis else function, form, function, sees_data=data)

    def placed(values: Tensor, u: Tensor | None = None) -> Any:
        parameters = iter(()) if module is None else module.parameters()
        own = next((p for p in parameters if p.is_floating_point()), values)
        dtype = own.dtype if own.is_floating_point() else torch.float32
        beside = u if u is None else u.to(own.device)
        return call(fed(values, dtype, own.device), beside)

    placed.__wrapped__ = function  # type: ignore[attr-defined] # its code says what it returns
    placed.takes_more = call.takes_more  # type: ignore[attr-defined]
    return placed


def _whole(functions: Functions, form: Form | None) -> Functions:
    """Those that take what is given beside, or need it where nothing is, if there are any:
    encode(x, y) may call encoder(x), which would leave y out without a word."""
    needing = tuple((word, f) for word, f in functions if _needs_more(f, form))
    return needing or functions


def _needs_more(function: Any, form: Form | None) -> bool:
    return bool(required_of(function.__wrapped__) > 1 if form is None else function.takes_more)


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
                  says="its data are passed unchanged")  # fmt: skip


def is_of(value: Any, library: str) -> bool:
    """Whether a class of the library is among those that the value is of; imports nothing."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(value).__mro__)


def _has_programs(model: Any) -> bool:
    """Whether an object has the two programs of Pyro."""
    programs = (getattr(model, name, None) for name in ("model", "guide"))
    return "pyro" in sys.modules and all(map(callable, programs))


def _pyro(model: Any, form: Form | None) -> Source:
    """Two programs that say all but the range of the images."""
    from vaescope.adapters.pyro import Programs

    programs, module = Programs(model), _module(model)
    posterior = _placed(programs.posterior, module, form)
    likelihood = _placed(programs.likelihood, module, form)
    for function, program in ((posterior, model.guide), (likelihood, model.model)):
        function.__wrapped__ = program  # type: ignore[attr-defined] # its parameters say what it takes
    return Source(
        type(model).__name__, (("guide", posterior),), (("model", likelihood),), module,
        model=model, prior=programs.prior,
    )  # fmt: skip


def _diffusers(name: str, encoders: Functions, decoders: Functions, model: nn.Module) -> Source:
    from vaescope.adapters.diffusers import decoder_of, published, published_channels

    decoders = decoders or (("decode", _placed(decoder_of(model), model)),)
    scaling, shift = published(model)
    return Source(
        name, encoders, decoders, model, model=model, range=(-1.0, 1.0), scaling=scaling,
        shift=shift, channels=published_channels(model),
        says="diffusers' autoencoders take and give images in [-1, 1]",
    )  # fmt: skip


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
