"""A claim is data: a sentence, what is measured for it, and what would be measured without it."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, final

import numpy as np

from vaescope.studies.effects import Effect, Level, Trend
from vaescope.types import Booleans, Floats

__all__ = ["CAP", "Claim", "Condition", "Control", "Kind", "Side", "Test", "identities"]

#: identity: an equation, checked and never evidence. prediction: a closed form gives the number.
#: comparison and trend: a direction. sameness: no difference beyond a margin.
Kind = Literal["identity", "prediction", "comparison", "trend", "sameness"]
Side = Literal["above", "below", "within"]
Votes = Booleans

#: Units that an undecided primary claim is run to, unless its registration says otherwise.
CAP = 48


@final
@dataclass(frozen=True)
class Test:
    """On which side of a threshold an effect is to lie, or within which margin of it."""

    __test__ = False  # not one of pytest's

    effect: Effect
    side: Side
    threshold: float
    margin: float = 0.0

    def words(self) -> str:
        if self.side == "within":
            return f"{self.effect.words()}, within {self.margin:g} of {self.threshold:g}"
        return f"{self.effect.words()}, {self.side} {self.threshold:g}"

    def inner(self, values: Floats) -> list[Votes]:
        """Votes for it, for a margin at each of its ends. A missing number votes for nothing."""
        if self.side == "above":
            return [values > self.threshold]
        if self.side == "below":
            return [values < self.threshold]
        return [values > self.threshold - self.margin, values < self.threshold + self.margin]

    def outer(self, values: Floats) -> list[Votes]:
        """Votes against it: strictly beyond the threshold, or beyond either end of the margin."""
        if self.side == "above":
            return [values < self.threshold]
        if self.side == "below":
            return [values > self.threshold]
        return [values > self.threshold + self.margin, values < self.threshold - self.margin]

    def beyond(self, values: Floats, control: Floats) -> Votes:
        """Units in which the effect is farther on the claimed side than its control."""
        if self.side == "above":
            return values > control
        if self.side == "below":
            return values < control
        return np.asarray(np.abs(values - self.threshold) < np.abs(control - self.threshold))


@final
@dataclass(frozen=True)
class Control:
    """The claim's effect where what it is said to come from is absent."""

    says: str  # as registered
    effect: Effect

    @property
    def shown(self) -> str:
        """`says` in the words of docs/style.md, which is younger than some registrations."""
        return self.says.replace("by lot", "at random")


@final
@dataclass(frozen=True)
class Condition:
    """What must hold of a unit for the sentence to be about it; other units do not vote."""

    says: str
    effect: Level
    side: Literal["above", "below"]
    threshold: float

    def holds(self, values: Floats) -> Votes:
        return values > self.threshold if self.side == "above" else values < self.threshold


@final
@dataclass(frozen=True)
class Claim:
    """One sentence as a check over units, usually seeds: it holds for most of them."""

    says: str
    where: str  # in the paper: "zietlow2022 Tab. 3.3"
    effect: Effect
    side: Side
    threshold: float
    paper: str = ""  # its own number, in words
    substituted: str = ""  # data that stand for the paper's, where they do
    _: KW_ONLY
    margin: float = 0.0  # of a claim "within" it
    also: tuple[Test, ...] = ()  # what must hold besides, in the same sentence
    sort: Kind | None = None  # None: by its effect and side
    primary: bool = False  # the sentence that the paper draws from this table or figure
    quote: str = ""  # of a primary claim, at most 25 words
    control: Control | None = None
    needs: Condition | None = None
    own: bool = False  # a claim of ours: no paper's sentence
    #: What a reader must know of its words, printed beside them. Not registered: words that were
    #: registered stay, and what they say too much is said here.
    remark: str = ""
    by_definition: bool = False  # in part: counted, and said beside the count

    @property
    def kind(self) -> Kind:
        if self.sort is not None:
            return self.sort
        if self.side == "within":
            return "sameness"
        return "trend" if isinstance(self.effect, Trend) else "comparison"

    @property
    def tests(self) -> tuple[Test, ...]:
        return (Test(self.effect, self.side, self.threshold, self.margin), *self.also)

    def words(self) -> str:
        """What is measured and what is wanted of it."""
        return "; and ".join(test.words() for test in self.tests)

    def to_dict(self) -> dict[str, Any]:
        control = None if self.control is None else self.control.shown
        return {
            "says": self.says,
            "where": self.where,
            "kind": self.kind,
            "primary": self.primary,
            "quote": self.quote,
            "measured": self.words(),
            "control": control,
            "needs": None if self.needs is None else self.needs.says,
            "own": self.own,
            "paper": self.paper,
            "substituted": self.substituted,
            "remark": self.remark,
        }

    def registered(self) -> dict[str, Any]:
        """All that a registration fixes of it; wording of what the paper printed may be mended."""
        control = None if self.control is None else [self.control.says, repr(self.control.effect)]
        return {
            "says": self.says,
            "tests": [repr(test) for test in self.tests],
            "kind": self.kind,
            "primary": self.primary,
            "control": control,
            "needs": repr(self.needs),
        }


def identities(*claims: Claim) -> tuple[Claim, ...]:
    """Claims that are equations: no training is asked, so that none of them is evidence."""
    return tuple(replace(claim, sort="identity") for claim in claims)
