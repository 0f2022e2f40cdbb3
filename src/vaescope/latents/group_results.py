"""What `vaescope.latents.groups` finds: frozen numbers, and how they are said."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from vaescope.notebook_card import bars_of, card_of
from vaescope.types import Double
from vaescope.wording import listed

__all__ = ["FactorShare", "LatentGroup", "LatentGroups", "Standing", "answer_text"]

Standing = Literal["held", "spread", "weak", "unnamed", "none"]


#: Degrees up to which angles are found: a smaller one is no rotation.
STRAIGHT = 5.0


@dataclass(frozen=True)
class FactorShare:
    """What latents encode of one factor: shares of its variance, on rows that no fit used."""

    name: str
    kind: str  # ordered, cyclic or classes: the interpretation that latents predict best
    standing: Standing  # how latents encode it
    latents: tuple[int, ...]  # the smallest set that encodes it; for a weak factor the best set
    share: float  # share of its variance that these latents explain
    interval: tuple[float, float]
    chance: float  # the largest of 20 fits to permuted factors
    joint: float  # share that all used latents explain
    single: float  # share that the best latent explains
    pair: float | None  # share that the best pair explains
    rotated: float | None = None  # share that its own axis explains after the rotation
    symmetry: int = 1  # an angle is determined up to this fraction of the circle
    otherwise: str = ""  # answer of other halves of the rows, if it differs (borderline)
    more: bool = False  # whether further latents help a weak factor, without a clear choice

    @property
    def doubt(self) -> str:
        """E.g. `; borderline: perhaps in 2`; empty where there is none."""
        return f"; borderline: perhaps {self.otherwise}" if self.otherwise else ""


def answer_text(standing: Standing, latents: Sequence[int], kind: str) -> str:
    """Where a factor is, in words that can follow its name.

    >>> answer_text("held", (1, 8), "ordered")
    'split over 1 and 8'
    """
    if standing == "held":
        return LatentGroup(tuple(latents), ("",), None, 0.0, kind).place
    words = {
        "weak": f"weakly encoded by {listed(latents)}",
        "none": "in no latent",
        "spread": "spread over all used latents",
        "unnamed": f"encoded by {listed(latents)}",
    }
    return words[standing]  # fmt: skip


@dataclass(frozen=True)
class LatentGroup:
    """Latents that together encode factors."""

    latents: tuple[int, ...]
    factors: tuple[str, ...]
    angle: float | None  # degrees, 0 to 45 for a pair; None: no rotation separates the factors
    share: float  # explained share of the factors' variance, mean over factors
    kind: str = "ordered"  # kind of its factor; cyclic: an angle around two latents
    otherwise: tuple[str, ...] = ()  # answers of other halves of the rows, if they differ

    @property
    def says(self) -> str:
        """E.g. `x and y in 4 and 8, rotated by about 45 degrees`."""
        return f"{self._factors} {self.where}"

    @property
    def _factors(self) -> str:
        return f"{listed(self.factors)}{' is' if self.place.startswith('split') else ''}"

    @property
    def measured(self) -> str:
        """E.g. `x and y in 4 and 8, rotated by about 45 degrees (0.99)`."""
        return f"{self._factors} {self.place} ({self.share:.2f}{self.doubt})"

    @property
    def where(self) -> str:
        """E.g. `in 2 (borderline: perhaps split over 0 and 2)`."""
        return f"{self.place} ({self.doubt[2:]})" if self.doubt else self.place

    @property
    def doubt(self) -> str:
        """E.g. `; borderline: perhaps split over 0 and 2`; empty where there is none."""
        return f"; borderline: perhaps {listed(self.otherwise)}" if self.otherwise else ""

    @property
    def straight(self) -> bool:
        """Whether each of its factors has an axis of its own already."""
        return self.angle is not None and self.angle < STRAIGHT

    @property
    def place(self) -> str:
        """E.g. `in 4 and 8, rotated by about 45 degrees`."""
        latents = listed(self.latents)
        if len(self.latents) == 1:
            return f"in {latents}"
        if self.kind == "cyclic":
            return f"as an angle on {latents}"
        if self.kind == "classes":
            return f"in {latents} together"
        if len(self.factors) == 1:
            return f"split over {latents}"
        if self.angle is None:
            return f"in {latents}, mixed in a way that no rotation undoes"
        if self.straight:
            return f"in {latents}, one axis each"
        return f"in {latents}, rotated by about {self.angle:.0f} degrees"


@dataclass(frozen=True, eq=False)
class LatentGroups:
    """Groups of latents, what they encode of each factor, and the rotation that gives each factor
    its axis.

    `rotation` R is orthogonal, (d, d): new latents are R z, rows of codes `mean @ R.T`. It is the
    identity except for groups of several latents whose factors a rotation separates.
    """

    groups: tuple[LatentGroup, ...]  # latents with their factors
    factors: tuple[FactorShare, ...]
    rotation: Double
    used: tuple[int, ...]  # latents that vary and are not passive
    n: int
    seed: int
    notes: tuple[str, ...] = ()
    axis_factor: Mapping[int, str] = field(default_factory=dict)  # factor of each axis, by row of R

    @property
    def rotated(self) -> tuple[LatentGroup, ...]:
        """Groups of several factors that a rotation separates."""
        return tuple(
            own for own in self.groups if (own.angle or 0.0) >= STRAIGHT and len(own.factors) > 1
        )

    def of(self, latent: int) -> LatentGroup | None:
        """The group that a latent is in, the smallest where there are several."""
        own = [group for group in self.groups if latent in group.latents]
        return min(own, key=lambda group: len(group.latents), default=None)

    def summary(self) -> str:
        """Sentences, e.g. `x and y in 4 and 8, rotated by about 45 degrees (0.99); ...`."""
        parts = [group.measured for group in self.groups]
        for factor in self.factors:
            latents, doubt = listed(factor.latents), factor.doubt
            if factor.standing == "spread":
                says = f"is spread over all used latents ({factor.joint:.2f}{doubt})"
            elif factor.standing == "weak":
                others = " and others" if factor.more else ""
                share = factor.share if factor.latents else factor.joint
                by = f"{latents}{others}" if latents else "all used latents together"
                says = f"is weakly encoded by {by} ({share:.2f}{doubt})"
            elif factor.standing == "unnamed":
                says = f"is also encoded by {latents} ({factor.share:.2f}{doubt})"
            elif factor.standing == "none" and doubt:
                says = f"found in no latent (n = {self.n:,}{doubt})"
            else:
                continue
            parts.append(f"{factor.name} {says}")
        unknown = [f.name for f in self.factors if f.standing == "none" and not f.doubt]
        if unknown:
            parts.append(f"{listed(unknown)} found in no latent (n = {self.n:,})")
        return "; ".join([*parts, *self.notes]) or "no latent is used"

    def to_dict(self) -> dict[str, Any]:
        return {
            "groups": [asdict(group) for group in self.groups],
            "factors": [asdict(factor) for factor in self.factors],
            "rotation": self.rotation.tolist(),
            "used": list(self.used),
            "n": self.n,
            "seed": self.seed,
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        return card_of(self, bars_of({group.says: group.share for group in self.groups}, full=1.0))
