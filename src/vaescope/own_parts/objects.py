"""Parts given as values of Python: named by import path where they can be, else by fingerprint.

A fingerprint holds the source, the structure and the numbers of an object, so that the same cell
of a notebook gives the same digest. Weights are apart: a run that is opened has its own.
"""

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from vaescope.errors import RunError, UsageError
from vaescope.objectives import Objective
from vaescope.own_parts.making import maker_of
from vaescope.own_parts.paths import find
from vaescope.own_parts.signature import settings_model
from vaescope.own_parts.specs import GROUPS, ImportedSpec, ObjectSpec
from vaescope.priors import as_prior
from vaescope.scheduling import schedule_settings
from vaescope.specs import Experiment
from vaescope.vae import VAE

__all__ = ["KEYWORDS", "attach", "by_group", "fingerprint", "is_object", "with_objects"]

#: Keywords of `vs.train` and `vs.open_run` that may be objects.
KEYWORDS = (*GROUPS, "encoder", "decoder", "vae")

#: Packages whose code is known by its version, which a run notes anyway.
_LIBRARIES = ("builtins", "torch", "numpy", "abc", "typing")


def is_object(value: Any) -> bool:
    """Whether a value stands for itself, not for a setting."""
    if isinstance(value, Mapping):
        return is_object(value.get("name"))
    return value is not None and not isinstance(value, str)


def by_group(given: Mapping[str, Any]) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Objects by the group whose part they are, with the keywords they came by.

    Raises:
        UsageError: they do not go together.
    """
    chosen = {name: _bound(value) for name, value in given.items() if value is not None}
    whole = {name for name in chosen if name in ("vae", "net", "encoder", "decoder")}
    if len(whole) > 1 and whole != {"encoder", "decoder"}:
        raise UsageError(
            f"{', '.join(sorted(whole))} were given together.",
            "Give vae=, or net=, or encoder= and decoder=.",
        )
    if whole in ({"encoder"}, {"decoder"}):
        raise UsageError(f"Only {whole.pop()}= was given.", "Give encoder= and decoder=.")
    if "vae" in chosen and {"posterior", "prior", "likelihood"} & set(chosen):
        raise UsageError(
            "vae= has its own posterior, prior and likelihood.", "Leave those out, or vae=."
        )
    parts: dict[str, tuple[tuple[str, ...], Any]] = {
        group: ((group,), chosen[group]) for group in GROUPS if group in chosen
    }
    if "vae" in chosen:
        if not isinstance(chosen["vae"], VAE):
            raise UsageError(
                f"vae is {type(chosen['vae']).__name__}, wanted a vs.VAE.",
                "Give encoder= and decoder=, or make one: vs.VAE(encoder, decoder, prior).",
            )
        parts |= {g: (("vae",), chosen["vae"]) for g in GROUPS if g != "objective"}
    if "encoder" in chosen:
        parts["net"] = (("encoder", "decoder"), (chosen["encoder"], chosen["decoder"]))
    return parts


def _bound(value: Any) -> Any:
    """A class or function with its settings beside it, as one object."""
    if not isinstance(value, Mapping):
        return value
    settings = {key: entry for key, entry in value.items() if key != "name"}
    maker = value["name"]
    return maker(**settings) if _is_objective(maker) else functools.partial(maker, **settings)


def _is_objective(maker: Any) -> bool:
    return isinstance(maker, type) and issubclass(maker, Objective)


def with_objects(spec: Experiment, given: Mapping[str, Any]) -> tuple[Experiment, dict[str, Any]]:
    """The experiment with objects for parts, and those of them that a folder cannot name."""
    if isinstance(given.get("vae"), VAE):
        spec = spec.model_copy(update={"latent": _latents(given["vae"], spec)})
    update: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    for group, (keywords, raw) in by_group(given).items():
        of_prior = group == "prior" and keywords == ("prior",) and not callable(raw)
        value = as_prior(raw, spec.latent) if of_prior else raw
        update[group] = _imported(group, value)
        if update[group] is None:
            objects[group] = value
            update[group] = ObjectSpec(
                says=_says(value), given=keywords, sha256=fingerprint(value), start=_weights(value)
            ).holding(value)
    return spec.model_copy(update=update), objects


def attach(spec: Experiment, objects: Mapping[str, Any], where: str) -> Experiment:
    """The experiment with the objects that it was trained with.

    Raises:
        RunError: one is not what it was then.
    """
    update = {}
    for group, value in objects.items():
        part = getattr(spec, group)
        if not isinstance(part, ObjectSpec):
            raise RunError(
                f"{where} has {group}.name={part.name}, not an object.", f"Leave {group} out."
            )
        if fingerprint(value) != part.sha256:
            raise RunError(
                f"{', '.join(part.given)} of {where} was {part.says}; the one given has other "
                "code, structure or settings.",
                "Give what it was trained with.",
            )
        update[group] = part.holding(value)
    return spec.model_copy(update=update)


def _latents(vae: VAE, spec: Experiment) -> int:
    with torch.no_grad():
        mean: Tensor = vae.encoder(torch.zeros(2, *spec.data.shape)).mean
    return int(mean.shape[1])


def _says(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_says, value))
    if isinstance(value, functools.partial):
        return _says(value.func)
    return value.__qualname__ if isinstance(value, FunctionType | type) else type(value).__name__


def _imported(group: str, value: Any) -> ImportedSpec | None:
    """The import path of an objective or of a function, where it says all there is to know."""
    settings: dict[str, Any] = {}
    if isinstance(value, functools.partial):
        value, settings = value.func, dict(value.keywords)
    if dataclasses.is_dataclass(value) and isinstance(value, Objective):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        settings = {name: schedule_settings(getattr(value, name)) for name in fields}
        value = type(value)
    if not isinstance(value, type | FunctionType):
        return None
    module, name = value.__module__, value.__qualname__
    if module == "__main__" or "<" in name:
        return None
    path = f"{module}:{name}"
    try:
        source = find(path)
    except UsageError:  # a module without a file, as notebooks and tests make them
        return None
    found, _ = maker_of(group, path)
    if code_of(found) != code_of(value):
        raise UsageError(
            f"{source.file} has changed since {module} was imported here.",
            f"Restart Python, or importlib.reload({module}).",
        )
    model = settings_model(found, path)
    try:
        checked = model.model_validate(settings)
    except ValidationError:
        return None
    return ImportedSpec(name=path, sha256=source.sha256, **checked.model_dump(mode="json"))


def fingerprint(value: Any) -> str:
    """sha256 of the code, structure and numbers of an object, without a module's weights."""
    text = json.dumps(_described(value, set()), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _weights(value: Any) -> str | None:
    """sha256 of the weights that modules come with, or None where there are none."""
    modules = value if isinstance(value, tuple) else (value,)
    if dataclasses.is_dataclass(value) and isinstance(value, Objective):
        modules = tuple(value.modules.values())
    states = [m.state_dict() for m in modules if isinstance(m, nn.Module)]
    tensors = [entry for state in states for entry in state.items()]
    if not tensors:
        return None
    return hashlib.sha256(json.dumps([[n, _numbers(t)] for n, t in tensors]).encode()).hexdigest()


def _numbers(tensor: Tensor) -> list[Any]:
    raw = tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
    return [list(tensor.shape), str(tensor.dtype), hashlib.sha256(raw).hexdigest()]


def _described(value: Any, seen: set[int]) -> Any:
    """JSON that differs where the object would do something else."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if id(value) in seen:
        return "again"
    seen = seen | {id(value)}

    def each(values: Any) -> list[Any]:
        return [_described(entry, seen) for entry in values]

    if isinstance(value, Tensor):
        return _numbers(value)
    if isinstance(value, np.ndarray | np.generic):
        return _numbers(torch.from_numpy(np.array(value)))
    if isinstance(value, list | tuple | set | frozenset):
        return each(sorted(value, key=str) if isinstance(value, set | frozenset) else value)
    if isinstance(value, Mapping):
        return each(value.items())
    if isinstance(value, functools.partial):
        return each([value.func, value.args, value.keywords])
    if isinstance(value, type):
        return [value.__qualname__, code_of(value)]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__qualname__, code_of(value), each([value.__defaults__, cells])]
    if isinstance(value, nn.Module):
        return _module(value, seen)
    # Objects of any class: what they hold, and the code that reads it.
    held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)} if (
        dataclasses.is_dataclass(value)
    ) else getattr(value, "__dict__", repr(value))  # fmt: skip
    return [_described(type(value), seen), _described(held, seen)]


def _module(value: nn.Module, seen: set[int]) -> Any:
    own = {
        name: entry for name, entry in vars(value).items()
        if not name.startswith("_") and name != "training"
    }  # fmt: skip
    shapes = [
        [name, list(tensor.shape), str(tensor.dtype)]
        for name, tensor in (*value._parameters.items(), *value._buffers.items())
        if tensor is not None
    ]
    children = [[name, _described(child, seen)] for name, child in value.named_children()]
    return [_described(type(value), seen), _described(own, seen), shapes, children]


def code_of(value: Callable[..., Any] | type) -> str:
    """sha256 of the compiled code of a function, or of a class and those it inherits from but
    libraries', with the functions of the same module that they call. Comments do not count."""
    functions = [value] if isinstance(value, FunctionType) else list(_functions(value))
    known = set(functions)
    for function in functions:  # which grows: those that it calls, of the same module
        for name in sorted(_names(function.__code__)):
            called = function.__globals__.get(name)
            same = getattr(called, "__module__", None) == function.__module__
            if isinstance(called, FunctionType) and same and called not in known:
                known.add(called)
                functions.append(called)
    plain = json.dumps([_code(function.__code__) for function in functions])
    return hashlib.sha256(plain.encode()).hexdigest()


def _names(code: CodeType) -> set[str]:
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def _functions(value: Any) -> Iterator[FunctionType]:
    for parent in inspect.getmro(value):
        if parent.__module__.partition(".")[0] in _LIBRARIES:
            continue
        for _, entry in sorted(vars(parent).items()):
            function = inspect.unwrap(getattr(entry, "fget", None) or entry)
            function = getattr(function, "__func__", function)
            # What dataclasses write themselves follows from the fields.
            if (
                isinstance(function, FunctionType)
                and "<string>" not in function.__code__.co_filename
            ):
                yield function


def _code(code: CodeType) -> list[Any]:
    constants = [
        _code(c) if isinstance(c, CodeType)
        else sorted(map(repr, c)) if isinstance(c, frozenset)  # in the order of each process
        else repr(c)
        for c in code.co_consts
    ]  # fmt: skip
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), constants]
