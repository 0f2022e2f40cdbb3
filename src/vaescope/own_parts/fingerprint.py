"""What an object of Python is, as one hash: its code, structure and numbers.

The same cell of a notebook gives the same fingerprint. Weights are apart: a run that is opened has
its own.
"""

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.objectives import Objective

__all__ = ["code_of", "fingerprint", "weights_of"]

#: Packages whose code is known by its version, which a run notes anyway.
_LIBRARIES = ("builtins", "torch", "numpy", "abc", "typing")

#: What torch itself keeps in a module.
_INTERNAL = frozenset(vars(nn.Module()))


def fingerprint(value: Any) -> str:
    """sha256 of the code, structure and numbers of an object, without a module's weights."""
    text = json.dumps(_described(value, set()), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def weights_of(value: Any) -> str | None:
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
    raw = tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()
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
    if isinstance(value, BuiltinFunctionType):
        return value.__qualname__
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
        if name not in _INTERNAL
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
    libraries', with what of the same module they use: functions, classes, constants. Comments do
    not count."""
    waiting: list[Any] = [value]
    known, seen = {id(value)}, list[Any]()
    while waiting:
        functions, constants = _pieces(waiting.pop(0))
        seen.append([[_code(function.__code__) for function in functions], constants])
        for function in functions:
            for name in sorted(_names(function.__code__)):
                used = function.__globals__.get(name)
                if _is_plain(used):
                    seen.append([name, repr(used)])
                same = getattr(used, "__module__", None) == function.__module__
                if isinstance(used, FunctionType | type) and same and id(used) not in known:
                    known.add(id(used))
                    waiting.append(used)
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex | str | bytes | tuple)


def _names(code: CodeType) -> set[str]:
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def _pieces(value: Any) -> tuple[list[FunctionType], list[Any]]:
    """The functions that a class or function is made of, and its constants."""
    if isinstance(value, FunctionType):
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        return [value], [repr(default) for default in defaults if _is_plain(default)]
    functions, constants = [], []
    for parent in inspect.getmro(value):
        if parent.__module__.partition(".")[0] in _LIBRARIES:
            continue
        for name, entry in sorted(vars(parent).items()):
            function = inspect.unwrap(getattr(entry, "fget", None) or entry)
            function = getattr(function, "__func__", function)
            # What dataclasses write themselves follows from the fields.
            if isinstance(function, FunctionType) and function.__code__.co_filename != "<string>":
                functions.append(function)
            elif _is_plain(entry) and not name.startswith("__"):
                constants.append([name, repr(entry)])
    return functions, constants


def _code(code: CodeType) -> list[Any]:
    constants = [
        _code(c) if isinstance(c, CodeType)
        else sorted(map(repr, c)) if isinstance(c, frozenset)  # in the order of each process
        else repr(c)
        for c in code.co_consts
    ]  # fmt: skip
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), constants]
