"""Which verdict follows from which: causes by weight, the consequences of each under it.

A model that did not train says little about its latents. What follows from such a cause is told,
but the only advice is the cause's own: so no two of them contradict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vaescope.verdicts.thresholds import Verdict

__all__ = ["CAUSES", "Cause", "ranked"]

_AXES = frozenset({"orthogonal", "skewed", "free", "between", "turned"})
_DECODER = _AXES | {"deaf", "heard", "silent"}
_LATENTS = frozenset({"polarised", "mixed", "full", "collapsed", "passive"})
_WHOLE = _DECODER | _LATENTS | {"mig", "prior"}
_TONES = ("warning", "note", "good")


@dataclass(frozen=True)
class Cause:
    """A warning that explains others."""

    id: str
    explains: frozenset[str]
    mended: str = ""  # when to look at these again; empty: their own advices hold


_UNSETTLED = Cause("unsettled", _WHOLE | {"unreconstructed"}, "when training has converged")
#: By weight: a verdict follows from the first of them that explains it.
CAUSES = (
    Cause("infinite", _DECODER | {"prior"}, "when the decoder gives finite values"),
    _UNSETTLED,
    Cause("deaf", _AXES | {"full", "unreconstructed"}, "when the decoder uses the latents"),
    Cause("collapsed", frozenset({"mig", "unreconstructed"}), "when a latent is active"),
    Cause(
        "unreconstructed",
        _DECODER | {"full", "prior"},
        "when reconstructions are closer to the data",
    ),
    Cause("heard", frozenset({"passive"})),
    Cause("turned", frozenset({"mig"})),
)
#: Where outputs may have been misread, all that was measured may be wrong.
_MISREAD = (Cause("unreconstructed", _WHOLE, "when the model is interpreted correctly"), *CAUSES)


def ranked(verdicts: Sequence[Verdict], *, read: bool = False) -> tuple[Verdict, ...]:
    """Warnings first, then notes, then what is good; each followed by its consequences. `read`: the
    model is somebody else's, and what it means was inferred."""
    by_id = {own.id: own for own in verdicts}
    causes = set[str]()
    for cause in _MISREAD if read else CAUSES:
        first = by_id.get(cause.id)
        if first is None or first.cause is not None or first.tone != "warning":
            continue
        for own in by_id.values():
            if own.id in cause.explains - causes - {cause.id} and own.cause is None:
                by_id[own.id] = _under(cause, own)
                causes.add(cause.id)
    order = sorted(by_id.values(), key=lambda own: _TONES.index(own.tone))
    roots = [own for own in order if own.cause is None]
    return tuple(
        one for root in roots for one in (root, *(own for own in order if own.cause == root.id))
    )


def _under(cause: Cause, verdict: Verdict) -> Verdict:
    advice = f"Look again {cause.mended}." if cause.mended else verdict.advice
    return replace(verdict, cause=cause.id, advice=advice)
