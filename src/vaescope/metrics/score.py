"""What a metric returns: the number, and all that is needed to derive it again."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from vaescope.notebook_card import card_of
from vaescope.types import Array

__all__ = ["Protocol", "Score", "versions"]


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Of the packages that numbers depend on."""
    return {name: version(name) for name in ("vaescope", "numpy", "scikit-learn")}


@dataclass(frozen=True)
class Protocol:
    """How a number was obtained: `settings` are the metric's own, as plain values.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.metrics.mig(codes).protocol.n
        600
    """

    name: str
    n: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    representation: str = "mean"
    supervised: bool = False  # the encoder saw the factors, so the score is no merit of its own

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "n": self.n,
            "representation": self.representation,
            "supervised": self.supervised,
            **self.settings,
            "versions": dict(versions()),
        }


@dataclass(frozen=True, eq=False)
class Score:
    """A value with its protocol and the arrays behind it."""

    value: float
    protocol: Protocol
    details: Mapping[str, Array] = field(default_factory=dict)
    interval: tuple[float, float] | None = None
    chance: float | None = None  # score of codes without information; None: not known
    #: Assumptions of the metric that the codes break, each with what the court measured there.
    validity: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert math.isfinite(self.value), "a metric returns a number or raises"

    def named(self, name: str) -> "Score":
        """The same score under the name of the protocol that chose its settings."""
        return replace(self, protocol=replace(self.protocol, name=name))

    def summary(self) -> str:
        """One line, e.g. `0.13 (0.12 to 0.14), by chance 0.01, mean, n = 10,000, default`."""
        spread = ""
        if self.interval is not None:
            spread = f" ({self.interval[0]:.3g} to {self.interval[1]:.3g})"
        if self.chance is not None:
            spread += f", by chance {self.chance:.2g}"
        protocol = self.protocol
        seen = ", supervised" if protocol.supervised else ""
        return (
            f"{self.value:.3g}{spread}, {protocol.representation}, n = {protocol.n:,}, "
            f"{protocol.name}{seen}{''.join(f'; {reason}' for reason in self.validity)}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "chance": self.chance,
            "validity": list(self.validity),
            "protocol": self.protocol.to_dict(),
            "details": {name: array.tolist() for name, array in self.details.items()},
        }

    _repr_html_ = card_of
