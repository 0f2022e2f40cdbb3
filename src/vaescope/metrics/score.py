"""What a metric returns: the number, and all that is needed to derive it again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vaescope.types import Array

__all__ = ["Protocol", "Score"]


@dataclass(frozen=True)
class Protocol:
    """How a number was obtained."""

    name: str
    n: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "n": self.n, **self.settings}


@dataclass(frozen=True, eq=False)
class Score:
    """A value with its protocol and the arrays behind it."""

    value: float
    protocol: Protocol
    details: Mapping[str, Array] = field(default_factory=dict)
    interval: tuple[float, float] | None = None
