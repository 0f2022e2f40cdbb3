"""What is said of the examples, on which all that is said of a model rests."""

from typing import TYPE_CHECKING

from vaescope.verdicts.thresholds import THRESHOLDS, Verdict, close

if TYPE_CHECKING:
    from vaescope.inspection import MomentSummary

__all__ = ["repeated"]


def repeated(samples: "MomentSummary") -> Verdict | None:
    """Rows that were encoded twice are no further evidence."""
    limit = THRESHOLDS["repeated"].value
    share = samples.different / samples.n
    if share >= limit:
        return None
    undecided = close(share, limit, unit="%")
    return Verdict(
        "repeated", "note",
        f"Only {samples.different:,} of {samples.n:,} examples have a code of their own: the "
        f"others repeat these.{undecided}",
        number=share, shown=f"{share:.0%}", threshold=limit,
        rule=f"{limit:.0%} of the examples or more have codes that differ",
        advice="Intervals and chance levels assume independent examples, so they are too "
        "optimistic here: leave out copies.",
        section="latents", borderline=bool(undecided),
    )  # fmt: skip
