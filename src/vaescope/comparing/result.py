"""What a comparison finds: frozen numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from vaescope.comparing.compared_runs import Member, letter, letters
from vaescope.comparing.intervals import Side, SideGap
from vaescope.comparing.matching import Match
from vaescope.comparing.pictures import ComparedPictures
from vaescope.latent_exchange import Exchange
from vaescope.latents import Types
from vaescope.verdicts import Verdict
from vaescope.wording import listed

__all__ = ["ComparedLatent", "ComparedNumber", "Comparison"]

#: Of squared rank correlation: below, two latents share less than half of their variance.
SAME = 0.5
#: Settings beside a run's name in the summary; the page has all.
SHOWN = 3


@dataclass(frozen=True)
class ComparedNumber:
    """A number of each run, and the gap on each side."""

    values: tuple[float | None, ...]  # by run
    gaps: tuple[SideGap, ...]  # by side

    def to_dict(self, sides: tuple[Side, ...]) -> dict[str, Any]:
        return {
            "values": list(self.values),
            "differs": _any(gap.differs for gap in self.gaps),
            "differences": [
                {"first_runs": list(side.first), "second_runs": list(side.second),
                 "over": side.basis, **gap.to_dict()}
                for side, gap in zip(sides, self.gaps, strict=True)
            ],
        }  # fmt: skip


def _any(answers: Any) -> bool | None:
    """Whether one is true; None where none is and one is not known."""
    known = list(answers)
    return True if True in known else None if None in known or not known else False


@dataclass(frozen=True)
class ComparedLatent:
    """One latent as it stands in each run."""

    match: Match  # by run
    types: tuple[str | None, ...]  # by run
    judged: tuple[bool, ...]  # by side: not where it is passive in all runs
    measured: Mapping[str, ComparedNumber]  # kl and mean_variance
    alone: tuple[bool, ...]  # by side: whether only one has it

    def differs_in(self, side: int) -> tuple[str, ...]:
        """In what the sides differ beyond the interval."""
        alone = ("counterpart",) if self.alone[side] else ()
        return alone + tuple(name for name, own in self.measured.items() if own.gaps[side].differs)

    @property
    def differs(self) -> bool:
        return any(self.differs_in(side) for side in range(len(self.alone)))

    def to_dict(self, sides: tuple[Side, ...]) -> dict[str, Any]:
        names = dict.fromkeys(
            name for side in range(len(sides)) for name in self.differs_in(side)
        )  # fmt: skip
        return {
            "latents": [None if found is None else found.latent for found in self.match],
            "matched_by": [None if found is None else found.how for found in self.match],
            "correlation": [None if found is None else found.correlation for found in self.match],
            "sign": [None if found is None else found.sign for found in self.match],
            "types": list(self.types),
            "differs": self.differs,
            "differs_in": list(names),
            **{name: own.to_dict(sides) for name, own in self.measured.items()},
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs side by side on the same images, latents matched."""

    members: tuple[Member, ...]
    kinds: tuple[Types, ...]  # of the latents of each run
    sides: tuple[Side, ...]
    latents: tuple[ComparedLatent, ...]
    metrics: Mapping[str, ComparedNumber]
    spec_diff: Mapping[str, tuple[Any, ...]]  # dotted setting -> its value in each run
    data: str
    n: int  # images that all runs saw
    of: int
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    shown: ComparedPictures | None = None
    exchanges: tuple[Exchange, ...] = ()  # with the first run, both ways
    names: tuple[str | None, ...] = ()  # by matched latent: what factors call it, where they do

    def name_of(self, place: int) -> str | None:
        """What factors call a matched latent."""
        return self.names[place] if self.names else None

    def __repr__(self) -> str:
        names = ", ".join(own.name for own in self.members)
        return f"Comparison({names} on {self.n:,} rows of {self.data}; see .summary())"

    @property
    def differs(self) -> bool:
        """Whether any latent or metric differs beyond its interval."""
        measured = [gap.differs for own in self.metrics.values() for gap in own.gaps]
        return True in measured or any(latent.differs for latent in self.latents)

    def summary(self) -> str:
        """Which run is which letter, the verdicts, what the intervals are over, which numbers do
        not differ, and what else must be said; one a line."""
        runs = [
            f"{letter(place)} = {own.name}{self._setting_of(place)}"
            for place, own in enumerate(self.members)
        ]
        pairs: dict[str, list[str]] = {}  # by what is said: once where it is the same of several
        for own in self.exchanges:
            pairs.setdefault(own.says, []).append(f"{own.a} to {own.b}")
        spaces = [f"{listed(found)}: {says}" for says, found in pairs.items()]
        verdicts = [one.says for one in self.verdicts]
        sides = [self._of_side(place) for place in range(len(self.sides))]
        return "\n".join(["; ".join(runs), *verdicts, *sides, *spaces, *self.notes])

    def _setting_of(self, place: int) -> str:
        """The first settings that differ, as this run has them."""
        said = [
            f"{key}={values[place]}"
            for key, values in self.spec_diff.items()
            if values[place] is not None and key.split(".")[-1] not in ("seed", "sha256")
        ]
        return f" ({', '.join(said[:SHOWN])})" if said else ""

    def _of_side(self, place: int) -> str:
        """What an interval is over, and which numbers it shows no difference of."""
        side = self.sides[place]
        gaps = {name: own.gaps[place] for name, own in self.metrics.items()}
        alike = [
            f"{name} ({gap.first:.3g} to {gap.second:.3g})"
            for name, gap in gaps.items()
            if gap.differs is False
        ]
        others = "the others" if side.basis == "other seeds" else letters(side.first)
        over = "images, which says nothing about other seeds" if side.basis == "images" else "seeds"
        within = f" No difference shown in {', '.join(alike)}." if alike else ""
        return f"{letters(side.second)} against {others}: the interval is over {over}.{within}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data in the shape of the interface."""
        return {
            "runs": [
                {
                    "run": letter(place), "name": own.name, "path": own.path,
                    "digest": own.digest, "seed": own.seed, "setting": own.setting,
                    "data": own.data, "d": len(kinds.names), "types": list(kinds.names),
                }
                for place, (own, kinds) in enumerate(zip(self.members, self.kinds, strict=True))
            ],
            "matching": [
                {"name": self.name_of(place), **latent.to_dict(self.sides)}
                for place, latent in enumerate(self.latents)
            ],
            "metrics": {name: own.to_dict(self.sides) for name, own in self.metrics.items()},
            "spec_diff": {key: list(values) for key, values in self.spec_diff.items()},
            "differs": self.differs,
            "data": self.data,
            "n": self.n,
            "skipped": dict(self.skipped),
            "notes": list(self.notes),
            "exchange": [own.to_dict() for own in self.exchanges],
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }  # fmt: skip

    def save(self, path: str | Path, *, images: bool = True) -> None:
        """Writes one HTML file. `images=False` leaves pictures of the data out."""
        # By name: the report stands above this floor and is only there for those who ask for it.
        import_module("vaescope.report.comparison").save_comparison(self, path, images=images)

    def _repr_html_(self) -> str:
        return str(import_module("vaescope.report.cards").comparison_card(self))
