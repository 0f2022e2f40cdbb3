"""From a grid of settings to experiments: products, pairs and chains, in YAML or in Python."""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, final, overload

from vaescope.errors import UsageError
from vaescope.own_parts.specs import GROUPS, ImportedSpec
from vaescope.reading import within
from vaescope.runs import Run
from vaescope.settings import experiment, load_yaml, preset, start
from vaescope.specs import Experiment, digest, resolve

__all__ = ["Plan", "chain", "nest", "plan", "product", "read_plan", "zipped"]

#: Seeds that `0..9` may stand for: a slip of the finger must not fill the memory.
MOST = 1_000_000

#: Dotted keys to values, of one run; `preset` may stand among them.
Settings = dict[str, Any]
Axes = Mapping[str, Iterable[Any]]

_KEYS = ("preset", "fixed", "grid", "zip", "chain")


def product(axes: Axes) -> list[Settings]:
    """Every value of each key with every value of the others; the last key moves fastest.

    >>> product({"objective.beta": [1, 4], "seed": range(2)})[1]
    {'objective.beta': 1, 'seed': 1}
    """
    lists = [list(values) for values in axes.values()]
    _require_cells(math.prod(len(values) for values in lists))
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*lists)]


def zipped(axes: Axes) -> list[Settings]:
    """First values together, second values together, and so on.

    >>> zipped({"latent": [2, 5], "steps": [100, 200]})
    [{'latent': 2, 'steps': 100}, {'latent': 5, 'steps': 200}]
    """
    lists = {key: list(values) for key, values in axes.items()}
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"{key} has {len(values)}" for key, values in lists.items())
        raise UsageError(f"A zip needs lists of equal length; {lengths}.", "Make them equal.")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def chain(*parts: Iterable[Settings]) -> list[Settings]:
    """One part after another."""
    return list(itertools.chain(*parts))


def nest(outer: Iterable[Settings], inner: Iterable[Settings]) -> list[Settings]:
    """Every part of `outer` with every part of `inner`, whose values win."""
    first, second = list(outer), list(inner)
    _require_cells(len(first) * len(second))
    return [{**out, **one} for out in first for one in second]


def _require_cells(count: int) -> None:
    try:
        within("CELLS", count, "the number of its cells is")
    except ValueError as error:
        raise UsageError(f"The grid is too large: {error}.", "Give fewer values.") from error


@final
@dataclass(frozen=True)
class Plan(Sequence[Experiment]):
    """The experiments of a sweep, made when asked for: ten thousand cost a few megabytes.

    `names` are the run folders, in the order of the experiments.
    """

    names: tuple[str, ...]
    _cells: tuple[Settings, ...]
    _bases: Mapping[str, Mapping[str, Any]]  # settings by preset

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, at: int) -> Experiment: ...
    @overload
    def __getitem__(self, at: slice) -> "list[Experiment]": ...
    def __getitem__(self, at: int | slice) -> "Experiment | list[Experiment]":
        if isinstance(at, slice):
            return [_made(cell, self._bases) for cell in self._cells[at]]
        return _made(self._cells[at], self._bases)


def _made(cell: Settings, bases: Mapping[str, Mapping[str, Any]]) -> Experiment:
    settings = [(key.split("."), value) for key, value in cell.items() if key != "preset"]
    return resolve(experiment(start(bases[cell["preset"]], settings)))


def plan(cells: Iterable[Settings], *, preset_name: str = "", where: str = "The grid") -> Plan:
    """The experiments of cells, all checked. Cells that mean the same experiment are one run.

    `preset_name` stands for cells without a `preset`; `where` names the grid in errors.
    """
    bases: dict[str, Mapping[str, Any]] = {}
    kept: dict[str, tuple[str, Settings]] = {}  # digest -> name, cell
    with_names = set()
    for cell in cells:
        chosen = {"preset": preset_name, **cell}
        if not chosen["preset"]:
            raise UsageError(f"{where} names no preset.", "Add a line such as preset: beta-vae.")
        chosen["preset"] = str(chosen["preset"])
        try:
            if chosen["preset"] not in bases:
                bases[chosen["preset"]] = preset(chosen["preset"])
            spec = _made(chosen, bases)
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
        own = digest(spec)
        if own in kept:
            continue
        # What was planned is what is trained: a source that changes meanwhile is refused.
        chosen |= {
            f"{group}.sha256": part.sha256
            for group in GROUPS
            if isinstance(part := getattr(spec, group), ImportedSpec)
        }
        name = Run.of(spec, chosen["preset"], Path()).path.name
        # Names hold a quarter of the digest: two in four thousand million may meet.
        assert name not in with_names, f"two experiments are called {name}"
        with_names.add(name)
        kept[own] = (name, chosen)
    if not kept:
        raise UsageError(f"{where} has no runs.", "Give at least one.")
    names, chosen_cells = zip(*kept.values(), strict=True)
    return Plan(names, chosen_cells, bases)


def read_plan(path: Path) -> Plan:
    """The experiments of a sweep file."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.",
            "Give the path of a YAML file.",
        ) from error
    block = load_yaml(text, str(path))
    return plan(_block(block, str(path), frozenset()), where=str(path))


def _block(block: Any, where: str, taken: frozenset[str]) -> Iterator[Settings]:
    """Fixed settings, with all of grid, zip and chain nested in this order."""
    if not isinstance(block, Mapping):
        raise UsageError(f"{where} has no keys.", f"A sweep file has the keys {', '.join(_KEYS)}.")
    for key in block:
        if key not in _KEYS:
            near = get_close_matches(str(key), _KEYS, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(_KEYS)}."
            raise UsageError(f"{where} has an unknown key {key}.", hint)
    cells: list[Settings] = [_group(block, "fixed", where)]
    if "preset" in block:
        cells[0]["preset"] = block["preset"]
    here = {part: frozenset(_group(block, part, where)) for part in ("fixed", "grid", "zip")}
    for part, keys in here.items():
        before = taken.union(*(other for name, other in here.items() if name != part))
        for key in sorted(keys & before):
            remedy = "Name it once; a block of a chain may only change what is fixed outside it."
            raise UsageError(f"{where} gives {key} in {part} and elsewhere.", remedy)
    cells = nest(cells, product(_axes(block, "grid", where)))
    if block.get("zip"):
        try:
            cells = nest(cells, zipped(_axes(block, "zip", where)))
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", error.remedy) from error
    if "chain" in block:
        parts = block["chain"]
        if not isinstance(parts, list) or not parts:
            raise UsageError(f"{where}: chain must be a list of blocks.", "Begin each with a dash.")
        moved = taken | here["grid"] | here["zip"]
        inner = (_block(part, f"{where}, chain[{i}]", moved) for i, part in enumerate(parts))
        cells = nest(cells, itertools.chain(*inner))
    yield from cells


def _group(block: Mapping[str, Any], part: str, where: str) -> dict[str, Any]:
    content = block.get(part)
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        remedy = f"Write for example {part}: {{seed: [0, 1]}}."
        raise UsageError(f"{where}: {part} must be a group of settings.", remedy)
    return {str(key): value for key, value in content.items()}


def _axes(block: Mapping[str, Any], part: str, where: str) -> dict[str, list[Any]]:
    return {
        key: _values(values, f"{where}: {part}.{key}")
        for key, values in _group(block, part, where).items()
    }


def _values(values: Any, where: str) -> list[Any]:
    """A list as it stands, or `0..9`, which is inclusive as it is on the command line."""
    span = re.fullmatch(r"(\d+)\.\.(\d+)", values) if isinstance(values, str) else None
    if span:
        first, last = int(span[1]), int(span[2])
        if last - first >= MOST:
            raise UsageError(f"{where}={values} is more than {MOST:,} values.", "Give fewer.")
        values = list(range(first, last + 1))
    if not isinstance(values, list) or not values:
        raise UsageError(f"{where} must be a list of values.", "Write [0, 1, 2], or 0..2.")
    return values
