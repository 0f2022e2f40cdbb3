"""The public names, and what their docstrings say, in sections."""

import ast
import inspect
import pkgutil
import re
import textwrap
import tokenize
import types
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from io import StringIO
from typing import Any

import vaescope

#: Sections of a docstring, in their order.
SECTIONS = ("Args", "Returns", "Raises", "Reference", "Example")
_HEADER = re.compile(rf"^({'|'.join(SECTIONS)}):\s*(.*)$")
_ENTRY = re.compile(r"^(\**\w[\w, *]*):\s*(.*)$")
#: A paper by address or by the key of one of the five.
REFERENCE = re.compile(r"https?://|arXiv|grzes2023|bonheme2023|zietlow2022|bhowal2024|mathieu2019")
#: Fields that mean the same wherever they stand.
FIELDS = {
    "value": "the measure",
    "interval": "95% interval, or None",
    "n": "number of examples or points behind the value",
    "space": "space of the outputs in which it is measured",
    "columns": "latents that are measured",
    "seed": "seed of all random draws",
    "beta": "weight of the rate, a schedule",
    "gamma": "weight of the penalty, a schedule",
    "weight": "weight of the penalty or the rate",
    "notes": "remarks for the reader",
    "name": "name of the object",
    "prior": "p(z), or p(z|u)",
    "loc": "means",
    "per_point": "the value at each point",
    "per_column": "the value of each latent",
    "method": "how Jacobians were computed",
    "linear": "error of a linear local decoder",
    "tanh": "error of a local decoder with a tanh",
    "quadratic": "error of a quadratic local decoder",
    "intercept": "error of a linear local decoder with an intercept",
    "tanh_gain": "share by which a tanh lowers the error",
    "quadratic_gain": "share by which quadratic terms lower the error",
    "protocol": "how it was measured",
    "details": "arrays behind the value, by name",
    "kind": "kind of the object",
    "draws": "number of samples behind the value",
    "kl_nats": "rate in nats",
    "approximate_kl_nats": "approximate rate in nats",
    "criterion": "rule by which types were decided",
    "types": "types of the latents",
    "names": "type of each latent",
    "representation": "mean or sample",
    "off_diagonal": "weight of squared covariances, a schedule",
    "diagonal": "weight of squared deviations of variances from 1, a schedule",
    "factors": "ground truth, or its names",
    "factor_names": "name of each factor",
    "factor_sizes": "classes of each factor",
    "latents": "the latents, or their number",
    "u": "auxiliary variable; in an OD-Score the term of the left singular vectors",
    "s": "term of the singular values",
    "v": "term of the right singular vectors",
    "x": "rows of the data",
    "dataset_size": "rows of the whole dataset",
    "loss": "loss to minimise",
    "parts": "terms of the loss by name",
    "posterior": "q(z|x) of the batch",
    "path": "path of the folder",
    "logits": "logits of the probabilities",
    "log_variance": "logarithms of variances",
    "log_scale": "logarithms of scales",
    "covariance": "covariance of the aggregate posterior",
    "train": "training rows",
    "test": "test rows",
    "engine": "estimator that was trained",
    "bins": "number of bins of each latent",
    "resamples": "number of bootstrap resamples",
    "mean_variance": "mean posterior variance of each latent",
    "variance_of_variance": "variance of posterior variances of each latent",
    "variance_of_mean": "variance of posterior means of each latent",
    "variance_of_ratio": "variance of variances in units of an unused latent's",
    "skipped": "reasons why parts are missing, by name",
    "says": "description in one sentence",
    "k": "nearest neighbours",
    "alpha": "weight of the divergence, a schedule",
    "critic": "a network that separates joint from shuffled codes",
    "divergence": "divergence between aggregate posterior and prior",
    "data": "the dataset",
    "rows": "rows of the dataset that are used",
    "likelihood": "maps the output to p(x|z)",
    "environment": "versions and machine of a run",
    "features": "width of the encoder's output",
}


@dataclass(frozen=True)
class Public:
    """A public name and its object."""

    name: str  # as a user writes it, e.g. metrics.mig
    value: Any

    @property
    def kind(self) -> str:
        if inspect.isclass(self.value):
            return "class"
        return "function" if inspect.isfunction(inspect.unwrap(self.value)) else "data"

    @property
    def doc(self) -> "Doc":
        return parse(inspect.getdoc(self.value) or "")

    @property
    def module_doc(self) -> str:
        module = getattr(self.value, "__module__", None)
        return inspect.getdoc(import_module(module)) or "" if module else ""


@dataclass(frozen=True)
class Doc:
    """A docstring: its text, and its sections."""

    text: str
    args: dict[str, str]
    returns: str
    raises: dict[str, str]
    reference: str
    example: str


def modules() -> dict[str, list[Public]]:
    """Pages of the reference: "" for the names of the package itself, else a public module."""
    own, found = [], {}
    for name in vaescope.__all__:
        value = getattr(vaescope, name)
        if not isinstance(value, types.ModuleType):
            own.append(Public(name, value))
        else:
            found[name] = list(_of(value, name))
    return {"": own, **found}


def _of(module: types.ModuleType, name: str) -> Iterator[Public]:
    if not hasattr(module, "__all__"):  # a package of modules, e.g. information
        for inner in pkgutil.iter_modules(module.__path__):
            yield from _of(import_module(f"{module.__name__}.{inner.name}"), f"{name}.{inner.name}")
        return
    for one in module.__all__:
        value = getattr(module, one)
        if not isinstance(value, types.ModuleType):
            yield Public(f"{name}.{one}", value)


def everything() -> list[Public]:
    """All public names, each object once."""
    seen: dict[int, Public] = {}
    for page in modules().values():
        for one in page:
            seen.setdefault(id(one.value), one)
    return list(seen.values())


def parse(text: str) -> Doc:
    """A docstring in sections; what is above the first is text. A doctest without a heading counts
    as the example."""
    above: list[str] = []
    parts: dict[str, list[str]] = {}
    section = ""
    for line in text.splitlines():
        found = _HEADER.match(line)
        if found:
            section = found[1]
            parts[section] = [found[2]] if found[2] else []
        elif section and line.strip() and not line.startswith(" "):
            section = ""
            above.append(line)
        elif section:
            parts[section].append(line)
        else:
            above.append(line)
    body = {name: textwrap.dedent("\n".join(lines)).strip() for name, lines in parts.items()}
    return Doc(
        "\n".join(above).strip(),
        _entries(body.get("Args", "")),
        body.get("Returns", ""),
        _entries(body.get("Raises", "")),
        body.get("Reference", ""),
        body.get("Example", "") or ("\n".join(above) if ">>>" in "\n".join(above) else ""),
    )


def _entries(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    last: list[str] = []
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            last = [name.strip(" *`") for name in entry[1].split(",")]
            found.update(dict.fromkeys(last, entry[2]))
        else:
            for name in last:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def parameters(value: Any) -> dict[str, inspect.Parameter]:
    """What a caller passes."""
    try:
        given = dict(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return {}
    return {name: one for name, one in given.items() if name not in ("self", "args", "kwargs")}


def comments(value: Any) -> dict[str, str]:
    """What stands beside or above each field of a dataclass in its source, its bases' too."""
    found: dict[str, str] = {}
    for base in reversed(value.__mro__):
        if is_dataclass(base) and base.__module__.startswith("vaescope"):
            found |= _comments(base)
    return {field.name: found.get(field.name, "") for field in fields(value)}


def _comments(base: Any) -> dict[str, str]:
    source = textwrap.dedent(inspect.getsource(base))
    beside = {
        token.start[0]: (token.string.lstrip("#: ").strip(), token.line.strip().startswith("#"))
        for token in tokenize.generate_tokens(StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            said, _ = beside.get(node.end_lineno or node.lineno, ("", False))
            line, above = node.lineno - 1, ""
            while line in beside and beside[line][1]:
                above, line = f"{beside[line][0]} {above}".strip(), line - 1
            said = said or above
            found[node.target.id] = "" if said.startswith("type: ignore") else said
    return found
