"""Settings as text: `key=value` and YAML, read by one rule, merged into a preset, checked once."""

import json
import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import resources
from typing import Any, get_args

import numpy as np
import yaml
from pydantic import BaseModel, ValidationError

from vaescope.data.specs import FilesSpec
from vaescope.data.user_files import complete
from vaescope.errors import UsageError
from vaescope.presets import PRESETS
from vaescope.reading import parse_json, within
from vaescope.specs import FORMAT, Experiment, to_dict

__all__ = ["dump_yaml", "experiment", "load_yaml", "preset", "read_scalar", "settings_of", "start"]

Tree = dict[str, Any]

#: Groups that an experiment has only where they are asked for.
ABSENT = ("split", "validation")


def read_scalar(text: str) -> Any:
    """JSON where it is JSON, else text: `1e-4` is a number, `on` is text, `NaN` is text.

    >>> read_scalar("1e-4"), read_scalar("on"), read_scalar("[1, 2]")
    (0.0001, 'on', [1, 2])
    """
    try:
        return parse_json(text, constants=False)
    except ValueError:
        return text


class _Loader(yaml.SafeLoader):
    """YAML whose plain scalars follow `read_scalar`; what stands in quotes is text."""


def _scalar(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    text = loader.construct_scalar(node)  # type: ignore[arg-type]
    if node.style is not None:  # type: ignore[attr-defined]
        return text
    return None if text == "" else read_scalar(str(text))


_Loader.yaml_implicit_resolvers = {}
_Loader.add_constructor("tag:yaml.org,2002:str", _scalar)


def load_yaml(text: str, where: str) -> Any:
    """Plain data from YAML; `where` names the file in the error."""
    try:
        within("YAML_BYTES", len(text), "its size in characters is")
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _refuse_repeats(node, where)
            within("YAML_NODES", _written_out(node, {}), "with aliases written out its length is")
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except RecursionError as error:
        raise UsageError(f"{where} is nested too deeply.", "Give it fewer levels.") from error
    # What is not YAML; and what a tag such as !!int raises of a value that is not of that type.
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{where} is not YAML: {error}.", "Correct that line.") from error


def _written_out(node: yaml.Node, known: dict[int, int]) -> int:
    """How many nodes there are where every alias stands for a copy."""
    if id(node) not in known:
        known[id(node)] = sys.maxsize  # until it is known: a node within itself has no end
        parts = node.value if isinstance(node, yaml.SequenceNode) else ()
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        known[id(node)] = 1 + sum(_written_out(part, known) for part in parts)
    return known[id(node)]


def _refuse_repeats(node: yaml.Node, where: str) -> None:
    """Of two equal keys YAML's own reader takes the last, and the first is lost in silence."""
    waiting, seen = [node], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.ScalarNode) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        keys = set()
        for key, value in node.value:
            waiting += [key, value]
            if isinstance(key, yaml.ScalarNode) and key.value in keys:
                line = key.start_mark.line + 1
                raise UsageError(f"{where} gives {key.value} twice (line {line}).", "Give it once.")
            keys.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))


def dump_yaml(content: Mapping[str, Any]) -> str:
    """YAML that `load_yaml` and other readers take back as the same data."""
    return yaml.safe_dump(dict(content), sort_keys=False, default_flow_style=None, width=100)


def preset(name: str) -> Tree:
    """The settings of a preset by name."""
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(
            f"There is no preset {name}.{hint}", f"The presets are {', '.join(PRESETS)}."
        )
    file = resources.files("vaescope.presets") / f"{name}.yaml"
    loaded = load_yaml(file.read_text("utf-8"), f"{name}.yaml")
    assert isinstance(loaded, dict)
    return loaded


def _parse(setting: str) -> tuple[list[str], Any]:
    key, equals, value = setting.partition("=")
    if not equals or not key:
        raise UsageError(
            f"{setting!r} is not a setting.", "Write key=value, e.g. objective.beta=4 steps=3000."
        )
    return key.split("."), read_scalar(value)


def _merge(base: Tree, path: list[str], value: Any) -> None:
    """Sets one dotted key in place. A group's new name resets the group's other keys."""
    key, rest = path[0], path[1:]
    old = base.get(key)
    if rest:
        if not isinstance(old, dict):
            base[key] = old = {}
        if rest == ["name"] and old.get("name") != value:
            base[key] = {"name": value}
        else:
            _merge(old, rest, value)
    elif isinstance(value, Mapping):
        if not isinstance(old, dict) or old.get("name") != value.get("name", old.get("name")):
            base[key] = {}
        for inner in sorted(value, key=lambda name: name != "name"):
            _merge(base, [key, inner], value[inner])
    else:
        base[key] = value


def start(base: Mapping[str, Any], settings: Iterable[tuple[list[str], Any]]) -> Tree:
    """`base` with settings merged in; names first, so that order on the command line is free."""
    tree: Tree = _as_json(base, "These settings")
    for path, value in sorted(settings, key=lambda item: item[0][-1] != "name"):
        if path[0] == "pruned":
            raise UsageError("pruned is no setting.", "Train a run, then use `vaescope prune`.")
        _merge(tree, path, _as_json(value, ".".join(path)))
    return tree


def _as_json(value: Any, where: str) -> Any:
    """A copy as YAML would have it: lists for tuples, ranges and arrays, Python's own numbers."""
    try:
        return parse_json(json.dumps(value, default=_plain))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{where} must be plain values; got {value!r}.",
            "Give numbers, text, lists, or groups of these by key.",
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, range):
        return list(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(type(value).__name__)


def settings_of(model: type[BaseModel] = Experiment, prefix: str = "") -> list[str]:
    """Every dotted key that an experiment may have, over all names of each group."""
    keys: list[str] = []
    for name, field in model.model_fields.items():
        keys.append(prefix + name)
        for part in [field.annotation, *get_args(field.annotation)]:
            for option in [part, *get_args(part)]:
                if isinstance(option, type) and issubclass(option, BaseModel):
                    keys += settings_of(option, f"{prefix}{name}.")
    return list(dict.fromkeys(keys))


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


def _explain(error: ValidationError, tree: Mapping[str, Any]) -> UsageError:
    detail = error.errors()[0]
    known = settings_of()
    key: list[str] = []
    spot: Any = tree
    for part in detail["loc"]:
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
        hint = f"Did you mean {near[0]}?" if near else f"Settings are {', '.join(known)}."
        if dotted in known:
            hint = f"Give a {group}.name that has it."
        return UsageError(f"There is no setting {dotted}{of}.", hint)
    if detail["type"] == "missing" and not isinstance(spot, list):
        missing = ".".join([*key, str(detail["loc"][-1])])
        return UsageError(f"The setting {missing} is missing.", f"Give {missing}=...")
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        expected = detail.get("ctx", {}).get("expected_tags", "a name")
        if "number" in str(expected):
            wanted = "a number, or a schedule such as {name: linear, start: 0, stop: 4, steps: 100}"
        else:
            dotted, wanted = f"{dotted}.name", f"one of {expected}"
            spot = spot.get("name") if isinstance(spot, Mapping) else spot
    else:
        wanted = _wanted(error)
    remedy = f"Change {dotted}=..."
    if dotted == "data.name":
        remedy += " or, of your own files, data.name=files data.path=..."
    return UsageError(f"{dotted} must be {wanted}; got {json.dumps(spot)}.", remedy)


def experiment(tree: Mapping[str, Any]) -> Experiment:
    """The checked experiment of merged settings."""
    content = dict(tree)
    version = content.pop("format", FORMAT)
    if not isinstance(version, int) or version > FORMAT:
        raise UsageError(
            f"These settings have format {version}; this vaescope reads up to {FORMAT}.",
            "Install a newer vaescope.",
        )
    for name, field in Experiment.model_fields.items():
        # A group may be named by its keys alone: it is then the one that stands by default.
        default = field.default.model_dump() if isinstance(field.default, BaseModel) else {}
        if isinstance(content.get(name), dict) and "name" in default:
            content[name] = {"name": default["name"], **content[name]}
    try:
        checked = Experiment.model_validate(content)
    except ValidationError as error:
        raise _explain(error, content) from error
    if isinstance(checked.data, FilesSpec):
        return checked.model_copy(update={"data": complete(checked.data)})
    return checked


def from_command_line(name: str, settings: Iterable[str]) -> Experiment:
    """The experiment of `vaescope train NAME key=value ...`."""
    return experiment(start(preset(name), [_parse(setting) for setting in settings]))


def from_python(name: str, data: Mapping[str, Any] | None, bare: Mapping[str, Any]) -> Experiment:
    """The experiment of `vs.train(NAME, data, beta=4)`: bare keys must match one setting."""
    base = preset(name)
    if data is not None:
        base["data"] = _as_json(data, "data")
    chosen = to_dict(experiment(base))
    open_keys = settings_within(chosen)
    settings = []
    for key, value in bare.items():
        matches = [full for full in open_keys if full.split(".")[-1] == key or full == key]
        if key in open_keys:
            matches = [key]
        elif not matches:  # of groups that are not there unless they are asked for
            absent = [full for full in settings_of() if full.split(".")[0] in ABSENT]
            matches = [full for full in absent if key in (full, full.split(".")[-1])]
        if len(matches) != 1:
            raise _unmatched(key, matches, open_keys, chosen)
        settings.append((matches[0].split("."), value))
    return experiment(start(base, settings))


def _unmatched(
    key: str, matches: list[str], open_keys: list[str], chosen: Mapping[str, Any]
) -> UsageError:
    """Why a bare key is not one setting of the chosen names."""
    if matches:
        return UsageError(
            f"{key!r} matches {', '.join(matches)}.",
            f'Name one of them in full, e.g. **{{"{matches[0]}": ...}}.',
        )
    for full in settings_of():
        group, _, last = full.rpartition(".")
        if last == key and group in chosen:
            return UsageError(
                f"{group}.name={chosen[group]['name']} has no {key}.",
                f"Take a preset, or a {group}.name, that has it.",
            )
    near = get_close_matches(key, [full.split(".")[-1] for full in open_keys], n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Settings: {', '.join(open_keys)}."
    return UsageError(f"No setting is {key!r}.", hint)


def settings_within(tree: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The dotted keys of one experiment's own settings."""
    keys: list[str] = []
    for name, value in tree.items():
        if isinstance(value, Mapping):
            keys += settings_within(value, f"{prefix}{name}.")
        if not isinstance(value, Mapping) or not value:
            keys.append(prefix + name)
    return keys
