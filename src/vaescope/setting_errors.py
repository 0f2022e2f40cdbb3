"""What is wrong with settings, as a user reads it."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from vaescope.errors import UsageError
from vaescope.own_parts.specs import GROUPS

__all__ = ["explain"]

_WANTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "finite_number": "a finite number",
    "tuple_type": "a list, e.g. [60, 40, 20]",
    "list_type": "a list, e.g. [0, 1]",
    "dict_type": "a group of keys",
    "model_type": "a group of keys, e.g. {name: ...}",
    "model_attributes_type": "a group of keys, e.g. {name: ...}",
}


def _wanted(error: ValidationError) -> str:
    """What the first mistake stands in the place of."""
    first = error.errors()[0]
    context = first.get("ctx", {})
    if first["type"] == "literal_error":
        return f"one of {context['expected']}"
    if first["type"] in ("too_short", "too_long"):
        least, most = context.get("min_length"), context.get("max_length")
        return f"a list of {f'{least} or more' if most is None else f'at most {most}'}"
    if first["type"] == "missing":  # the end of a list
        lacking = [one["loc"][-1] for one in error.errors() if one["loc"][:-1] == first["loc"][:-1]]
        return f"a list of {int(lacking[-1]) + 1}"
    return _WANTED.get(first["type"], first["msg"].removeprefix("Input should be "))


def _few(expected: str, got: str, *, most: int = 12) -> str:
    """Names that a message has room for: of many, those nearest to what was given."""
    names = expected.split(", ")
    if len(names) <= most:
        return expected
    near = get_close_matches(f"'{got}'", names, n=3, cutoff=0.4) or names[:6]
    return f"{', '.join(near)} or {len(names) - len(near)} others"


def explain(
    error: ValidationError,
    tree: Mapping[str, Any],
    known: Sequence[str],
    at: tuple[str, ...] = (),
) -> UsageError:
    """The first mistake of the settings in `tree`, whose part below `at` was checked; `known` are
    all dotted keys."""
    detail = error.errors()[0]
    key: list[str] = []
    spot: Any = tree
    for part in (*at, *detail["loc"]):
        # Union tags stand in the location too; only what is in the settings is a key.
        if isinstance(spot, Mapping) and part in spot:
            key.append(str(part))
            spot = spot[part]
        elif isinstance(spot, list) and isinstance(part, int) and part < len(spot):
            spot = spot[part]  # a list is given as a whole: its key stays
    dotted = ".".join(key)
    if detail["type"] == "extra_forbidden":
        near = get_close_matches(dotted, known, n=1) or get_close_matches(key[-1], known, n=1)
        if not near:
            near = [name for name in known if name.split(".")[-1] == key[-1]][:1]
        group = dotted.rpartition(".")[0]
        name = tree.get(group, {}).get("name") if group else None
        of = f" of {group}.name={name}" if name else ""
        groups = dict.fromkeys(one.split(".")[0] for one in known)
        hint = f"Did you mean {near[0]}?" if near else f"Settings are {', '.join(groups)}."
        if dotted in known:
            hint = f"Choose a {group}.name that has it."
        return UsageError(f"There is no setting {dotted}{of}.", hint)
    if detail["type"] == "missing" and not isinstance(spot, list):
        missing = ".".join([*key, str(detail["loc"][-1])])
        return UsageError(f"The setting {missing} is missing.", f"Give {missing}=...")
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        expected = detail.get("ctx", {}).get("expected_tags", "a name")
        if "number" in str(expected):
            wanted = "a number, or a schedule such as {name: linear, start: 0, stop: 4, steps: 100}"
        else:
            spot = spot.get("name") if isinstance(spot, Mapping) else spot
            dotted, wanted = f"{dotted}.name", f"one of {_few(str(expected), str(spot))}"
    else:
        wanted = _wanted(error)
    remedy = f"Change {dotted}=..."
    if dotted == "data.name":
        remedy += " or, for your own files, data.name=files data.path=..."
    if dotted in {f"{group}.name" for group in GROUPS}:
        remedy += f" or, for your own, {dotted}=module:Name, a class or function of module.py"
    return UsageError(f"{dotted} must be {wanted}; got {json.dumps(spot)}.", remedy)
