"""The models of a comparison: which share all settings but the seed, and how others differ."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaescope.errors import RunError, UsageError
from vaescope.runs import Run
from vaescope.specs import Experiment, digest, to_dict
from vaescope.wording import listed

__all__ = ["Member", "differing", "letter", "letters", "one_shape", "read_members"]


@dataclass(frozen=True, eq=False)
class Member:
    """A model and its place in the comparison."""

    model: Any  # a run, or what `vs.open_model` takes
    name: str
    setting: int  # runs of the same number differ in their seeds only
    spec: Experiment | None = None  # of runs

    @property
    def digest(self) -> str | None:
        return None if self.spec is None else digest(self.spec)

    @property
    def path(self) -> str | None:
        return str(self.model.path) if isinstance(self.model, Run) else None

    @property
    def data(self) -> str | None:
        """What it was trained on, where that is known."""
        return None if self.spec is None else str(self.spec.data.name)

    @property
    def seed(self) -> int | None:
        return None if self.spec is None else self.spec.seed


def letter(place: int) -> str:
    """A short name for a run: `A` to `Z`, then `R27`.

    >>> letter(0), letter(26)
    ('A', 'R27')
    """
    return chr(ord("A") + place) if place < 26 else f"R{place + 1}"


def letters(places: Sequence[int]) -> str:
    """`A`, `A and B`, `A to E`.

    >>> letters([0, 1]), letters([2, 3, 4, 5]), letters([0, 2, 3, 4])
    ('A and B', 'C to F', 'A, C, D and E')
    """
    if len(places) > 3 and list(places) == list(range(places[0], places[-1] + 1)):
        return f"{letter(places[0])} to {letter(places[-1])}"
    return listed([letter(place) for place in places])


def read_members(models: Sequence[Any], names: Sequence[str | None]) -> tuple[Member, ...]:
    """The models in their order, settings numbered by first appearance."""
    if len(models) < 2:
        raise UsageError(
            f"A comparison needs at least two models; got {len(models)}.",
            "Give the folders of two or more, e.g. `vaescope compare runs/a runs/b`.",
        )
    settings: dict[str, int] = {}
    members = []
    for place, (model, name) in enumerate(zip(models, names, strict=True)):
        spec = model.open() if isinstance(model, Run) else None
        key = f"model {place}" if spec is None else _setting(spec)
        number = settings.setdefault(key, len(settings))
        called = model.path.name if isinstance(model, Run) else type(model).__name__
        members.append(Member(model, name or called, number, spec))
    return tuple(members)


def _setting(spec: Experiment) -> str:
    """All that makes a model but its seed. A pruned run names its origin, which has one too."""
    content = to_dict(spec)
    for key in ("seed", "logging"):
        del content[key]
    content.get("pruned", {}).pop("run", None)
    return json.dumps(content, sort_keys=True)


def one_shape(members: Sequence[Member], shape: tuple[int, ...]) -> None:
    """Refuses runs that cannot see the same images."""
    for member in members:
        if member.spec is not None and tuple(member.spec.data.shape) != tuple(shape):
            raise RunError(
                f"{member.name} takes rows of shape {tuple(member.spec.data.shape)}; the data of "
                f"this comparison have {tuple(shape)}.",
                "Compare runs on images of one shape, or pass data that all of them take.",
            )


def differing(members: Sequence[Member]) -> dict[str, tuple[Any, ...]]:
    """Dotted settings that are not the same in all runs, with the value in each; None where a run
    has no such setting, as models of other makers."""
    flat = [{} if own.spec is None else _flat(to_dict(own.spec)) for own in members]
    keys = dict.fromkeys(key for own in flat for key in own)
    found = {key: tuple(own.get(key) for own in flat) for key in keys}
    return {key: values for key, values in found.items() if any(v != values[0] for v in values)}


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in content.items():
        found |= (
            _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        )
    return found
