"""What is said where a model does not reconstruct the data: before anything else."""

from vaescope.verdicts.verdict import THRESHOLDS, Verdict

__all__ = ["reconstructs"]


def reconstructs(unexplained: float | None) -> Verdict | None:
    """A warning where reconstructions are hardly nearer to the data than their mean."""
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
        advice="Either the model is untrained or collapsed, or these are not its data, or it was "
        "read wrong: see what was inferred before you believe any number below.",
        section="reconstructions",
    )  # fmt: skip
