"""The settings of a class or function: its parameters, beside those that vaescope gives."""

import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, Strict, create_model

from vaescope.errors import UsageError
from vaescope.model_specs import Group, Number, whole
from vaescope.own_parts.function_objective import STEP, is_objective_function
from vaescope.schedules import Schedule
from vaescope.scheduling import build_schedule, schedule_settings
from vaescope.specs import CosineSpec, LinearSpec, Value

__all__ = ["GIVEN", "arguments", "given_to", "parameters_of", "settings_model"]

#: Parameters that vaescope gives, by name: shape of x, number of latents, outputs that the
#: likelihood reads per value of x, features that the encoder's body makes.
GIVEN = ("shape", "latent", "outputs", "features")
#: Keys of a group that cannot be settings too.
RESERVED = ("name", "sha256")

_PLAIN: Mapping[Any, Any] = {
    float: Number,
    int: Annotated[int, BeforeValidator(whole), Strict()],
    bool: Annotated[bool, Strict()],
    str: Annotated[str, Strict()],
    types.NoneType: None,
    Schedule: Value,
}


def _parameters(maker: Callable[..., Any], path: str) -> Mapping[str, inspect.Parameter]:
    """Those that are asked for when it is made: an objective's batch comes with each step."""
    try:
        parameters = inspect.signature(maker).parameters
        per_step = STEP if is_objective_function(maker) else ()
        return {name: part for name, part in parameters.items() if name not in per_step}
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{path} has no signature that can be inspected.", "Give a class or a function."
        ) from error


def parameters_of(maker: Callable[..., Any], path: str) -> tuple[str, ...]:
    """The names of those that are the user's to set."""
    free = (
        name
        for name, part in _parameters(maker, path).items()
        if part.kind not in (part.VAR_POSITIONAL, part.VAR_KEYWORD)
    )
    return tuple(name for name in free if name not in (*GIVEN, *RESERVED))


def given_to(maker: Callable[..., Any], path: str) -> tuple[str, ...]:
    """Which of `GIVEN` it takes."""
    return tuple(name for name in _parameters(maker, path) if name in GIVEN)


def settings_model(maker: Callable[..., Any], path: str) -> type[BaseModel]:
    """The parameters that are settings, with their types and defaults. Parameters of other types
    keep their defaults.

    Raises:
        UsageError: a parameter without a default has a type that text cannot give.
    """
    hints = _hints(maker)
    parts = dataclasses.fields(maker) if dataclasses.is_dataclass(maker) else ()
    factories = {
        part.name: part.default_factory for part in parts if callable(part.default_factory)
    }
    fields: dict[str, Any] = {}
    for name, parameter in _parameters(maker, path).items():
        if name in GIVEN or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        default = factories[name]() if name in factories else parameter.default
        required = default is parameter.empty
        kind = _setting(hints.get(name, type(default)))
        if kind is None or name in RESERVED or name.startswith("_"):
            if required:
                raise UsageError(
                    f"{path} needs {name}, which is not a setting: those are numbers, text, true "
                    "or false, lists of these, and schedules, under any name but name and sha256.",
                    f"Give it a default or a type, e.g. {name}=1.0 or {name}: float; or give a "
                    f"function that makes it from its settings and from {', '.join(GIVEN)}; or "
                    "pass the object itself in Python.",
                )
            continue
        fields[name] = (kind, ...) if required else (kind, schedule_settings(default))
    return create_model("Settings", __base__=Group, **fields)


def arguments(maker: Callable[..., Any], checked: BaseModel) -> dict[str, Any]:
    """Checked settings as arguments: schedules are made of theirs."""
    hints = _hints(maker)
    values = {name: getattr(checked, name) for name in type(checked).model_fields}
    return {
        name: build_schedule(value)
        if hints.get(name) is Schedule or isinstance(value, LinearSpec | CosineSpec)
        else value
        for name, value in values.items()
    }


def _hints(maker: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(maker.__init__ if inspect.isclass(maker) else maker)


def _setting(hint: Any) -> Any:
    """The type as settings have it, or None if text cannot give it."""
    if hint in _PLAIN:
        return _PLAIN[hint] if hint is not types.NoneType else types.NoneType
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return hint
    if origin in (Union, types.UnionType):
        kinds = [_setting(part) for part in inner]
        return None if None in kinds else Union[tuple(kinds)]  # noqa: UP007
    if origin in (tuple, list) and inner:
        kinds = [part if part is ... else _setting(part) for part in inner]
        return None if None in kinds else Annotated[origin[tuple(kinds)], Strict(False)]
    return None
