"""What is said where a model does not reconstruct the data: before anything else."""

from vaescope.verdicts.verdict import THRESHOLDS, Verdict

__all__ = ["reconstructs"]


_READ = (
    "Either the model is untrained or collapsed, or these are not its data, or it was read wrong: "
    "see what was inferred, and say otherwise with posterior=, output=, value_range= or "
    "likelihood= before you believe any number below."
)
_OWN = "It is untrained or collapsed, or these are not its data: train longer, or lower beta."


def reconstructs(unexplained: float | None, *, read: bool = False) -> Verdict | None:
    """A warning where reconstructions are hardly nearer to the data than their mean; `read`: the
    model is somebody else's, and what it means was inferred."""
    limit = THRESHOLDS["reconstruction"].value
    if unexplained is None or unexplained < limit:
        return None
    better = "no nearer to the data than" if unexplained >= 1 else "hardly nearer to the data than"
    return Verdict(
        "unreconstructed", "warning",
        f"Reconstructions are {better} the mean of all examples: their squared error is "
        f"{unexplained:.2f} of its.",
        number=unexplained, shown=f"{unexplained:.2f}", threshold=limit,
        rule=f"below {limit:g} of the mean image's error",
        advice=_READ if read else _OWN,
        section="reconstructions",
    )  # fmt: skip
