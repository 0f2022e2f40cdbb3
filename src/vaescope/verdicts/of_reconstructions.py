"""What is said where a model does not reconstruct the data: before anything else."""

import math

from vaescope.verdicts.thresholds import THRESHOLDS, Verdict, close

__all__ = ["reconstructs"]


_READ = (
    "Either the model is untrained or collapsed, or these are not its data, or its outputs were "
    "misinterpreted. Check what was inferred, and correct it with posterior=, output=, "
    "value_range= or likelihood= before you trust any number below."
)


def reconstructs(
    unexplained: float | None, *, read: bool = False, more: str = "Train longer"
) -> Verdict | None:
    """A warning where reconstructions are hardly nearer to the data than their mean; `read`: the
    model is somebody else's, and what it means was inferred. `more`: what training it needs."""
    limit = THRESHOLDS["reconstruction"].value
    if unexplained is None or unexplained < limit:
        return None
    rule = f"their error is below {limit:g} times that of the mean"
    if not math.isfinite(unexplained):
        return Verdict(
            "infinite", "warning",
            "The decoder returns values that are NaN or infinite: these examples have no "
            "reconstruction.",
            number=unexplained, shown="NaN", threshold=limit, rule=rule,
            advice="Look for the cause in the decoder before you use any number that depends "
            "on it.",
            section="reconstructions",
        )  # fmt: skip
    # Of 1, where a model explains nothing, to the limit it is a small way: a tenth of that.
    undecided = close(1 - unexplained, 1 - limit, "The share explained")
    better = "no closer to the data than" if unexplained >= 1 else "hardly closer to the data than"
    own = "The model is untrained or collapsed, or these are not its data."
    own += f" {more}, or lower beta." if more else " Lower beta."
    return Verdict(
        "unreconstructed", "warning",
        f"Reconstructions are {better} the mean of all examples: their squared error is "
        f"{unexplained:{'.2f' if unexplained < 100 else '.3g'}} times that of the mean.{undecided}",
        number=unexplained, shown=f"{unexplained:.2f}", threshold=limit, rule=rule,
        advice=_READ if read else own,
        section="reconstructions", borderline=bool(undecided),
    )  # fmt: skip
