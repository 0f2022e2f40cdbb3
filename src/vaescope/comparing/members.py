"""The runs of a comparison: which share all settings but the seed, and how others differ."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaescope.errors import RunError, UsageError
from vaescope.runs import Run
from vaescope.specs import Experiment, digest, to_dict
from vaescope.verdicts.verdict import listed

__all__ = ["Member", "differing", "letter", "letters", "one_shape", "read_members"]


@dataclass(frozen=True)
class Member:
    """A run and its place in the comparison."""

    run: Run
    spec: Experiment
    digest: str
    setting: int  # runs of the same number differ in their seeds only

    @property
    def name(self) -> str:
        return self.run.path.name

    @property
    def seed(self) -> int:
        return self.spec.seed


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


def read_members(runs: Sequence[Run]) -> tuple[Member, ...]:
    """The runs in their order, settings numbered by first appearance."""
    if len(runs) < 2:
        raise UsageError(
            f"A comparison needs at least two runs; got {len(runs)}.",
            "Give the folders of two or more, e.g. `vaescope compare runs/a runs/b`.",
        )
    settings: dict[str, int] = {}
    members = []
    for run in runs:
        spec = run.open()
        number = settings.setdefault(_setting(spec), len(settings))
        members.append(Member(run, spec, digest(spec), number))
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
        if tuple(member.spec.data.shape) != tuple(shape):
            raise RunError(
                f"{member.name} takes rows of shape {tuple(member.spec.data.shape)}; the data of "
                f"this comparison have {tuple(shape)}.",
                "Compare runs on images of one shape, or pass data that all of them take.",
            )


def differing(members: Sequence[Member]) -> dict[str, tuple[Any, ...]]:
    """Dotted settings that are not the same in all runs, with the value in each; None where a run
    has no such setting."""
    flat = [_flat(to_dict(member.spec)) for member in members]
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
