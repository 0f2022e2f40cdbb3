"""How a run went: distortion, rate, and how many latents are of each type."""

from matplotlib.figure import Figure

from vaescope.figures.axes import grid_of_axes, quiet
from vaescope.figures.palette import ACCENT, TYPES
from vaescope.inspection import Training

__all__ = ["draw_curves"]


def draw_curves(training: Training) -> Figure:
    """Three panels over the steps."""
    figure, (distortion, rate, types) = grid_of_axes(3, most=3, width=2.2, height=1.8)
    # A single record is a point, and a line through it would not show.
    marker = "o" if len(training.step) < 3 else None
    distortion.plot(training.step, training.distortion, color=ACCENT, lw=1, marker=marker)
    rate.plot(training.step, training.rate, color=ACCENT, lw=1, marker=marker)
    types.stackplot(
        training.step,
        training.active, training.mixed, training.passive,
        labels=list(TYPES), colors=list(TYPES.values()), step="pre", lw=0,
    )  # fmt: skip
    types.set_ylim(0, training.active[-1] + training.mixed[-1] + training.passive[-1])
    types.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for axes, title in (
        (distortion, "Distortion (nats)"), (rate, "Rate (nats)"), (types, "Latents by type"),
    ):  # fmt: skip
        quiet(axes, title)
        axes.set_xlabel("step", fontsize=7)
    distortion.set_ylim(bottom=0.0 if training.distortion.min() >= 0 else None)
    rate.set_ylim(bottom=0.0)
    return figure
