"""Settings as text: `key=value` and YAML, read by one rule, merged into a preset, checked once."""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import resources
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from vaescope.errors import UsageError
from vaescope.presets import PRESETS
from vaescope.specs import FORMAT, Experiment, to_dict

__all__ = ["dump_yaml", "experiment", "load_yaml", "preset", "read_scalar", "settings_of", "start"]

Tree = dict[str, Any]


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def read_scalar(text: str) -> Any:
    """JSON where it is JSON, else text: `1e-4` is a number, `on` is text, `NaN` is text.

    >>> read_scalar("1e-4"), read_scalar("on"), read_scalar("[1, 2]")
    (0.0001, 'on', [1, 2])
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
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
        return yaml.load(text, Loader=_Loader)  # noqa: S506, a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise UsageError(f"{where} is not YAML: {error}.", "Correct that line.") from error


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
    tree: Tree = json.loads(json.dumps(base))
    for path, value in sorted(settings, key=lambda item: item[0][-1] != "name"):
        if path[0] == "pruned":
            raise UsageError("pruned is no setting.", "Train a run, then use `vaescope prune`.")
        _merge(tree, path, value)
    return tree


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
}


def _explain(error: ValidationError, tree: Mapping[str, Any]) -> UsageError:
    detail = error.errors()[0]
    known = settings_of()
    key: list[str] = []
    spot: Any = tree
    for part in detail["loc"]:
        # Union tags stand in the location too; only what is in the settings is a key.
        inside = part in spot if isinstance(spot, Mapping) else isinstance(spot, list)
        if inside:
            key.append(str(part))
            spot = spot[part]
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
    if detail["type"] == "missing":
        missing = ".".join([*key, str(detail["loc"][-1])])
        return UsageError(f"The setting {missing} is missing.", f"Give {missing}=...")
    context = detail.get("ctx", {})
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        expected = context.get("expected_tags", "a name")
        if "number" in str(expected):
            wanted = "a number, or a schedule such as {name: linear, start: 0, stop: 4, steps: 100}"
        else:
            dotted, wanted = f"{dotted}.name", f"one of {expected}"
            spot = spot.get("name") if isinstance(spot, Mapping) else spot
    elif detail["type"] == "literal_error":
        wanted = f"one of {context['expected']}"
    else:
        wanted = _WANTED.get(detail["type"], detail["msg"].removeprefix("Input should be "))
    return UsageError(f"{dotted} must be {wanted}; got {json.dumps(spot)}.", f"Change {dotted}=...")


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
        return Experiment.model_validate(content)
    except ValidationError as error:
        raise _explain(error, content) from error


def from_command_line(name: str, settings: Iterable[str]) -> Experiment:
    """The experiment of `vaescope train NAME key=value ...`."""
    return experiment(start(preset(name), [_parse(setting) for setting in settings]))


def from_python(name: str, data: Mapping[str, Any] | None, bare: Mapping[str, Any]) -> Experiment:
    """The experiment of `vs.train(NAME, data, beta=4)`: bare keys must match one setting."""
    base = preset(name)
    if data is not None:
        base["data"] = dict(data)
    chosen = to_dict(experiment(base))
    open_keys = settings_within(chosen)
    settings = []
    for key, value in bare.items():
        matches = [full for full in open_keys if full.split(".")[-1] == key or full == key]
        if key in open_keys:
            matches = [key]
        if len(matches) != 1:
            near = get_close_matches(key, [full.split(".")[-1] for full in open_keys], n=1)
            raise UsageError(
                f"{key!r} matches {', '.join(matches)}." if matches else f"No setting is {key!r}.",
                f"Choose one of {', '.join(matches)} and give it in a preset or spec."
                if matches
                else (f"Did you mean {near[0]}?" if near else f"Settings: {', '.join(open_keys)}."),
            )
        settings.append((matches[0].split("."), value))
    return experiment(start(base, settings))


def settings_within(tree: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The dotted keys of one experiment's own settings."""
    keys: list[str] = []
    for name, value in tree.items():
        if isinstance(value, Mapping):
            keys += settings_within(value, f"{prefix}{name}.")
        if not isinstance(value, Mapping) or not value:
            keys.append(prefix + name)
    return keys
