"""What the static figures share: an empty figure and quiet axes."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vaescope.figures.palette import INK, MUTED

__all__ = ["grid_of_axes", "quiet"]


def quiet(axes: Axes, title: str) -> None:
    """No box, small ticks, and the quantity on top rather than along the side."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.tick_params(labelsize=7, colors=INK, color=MUTED, length=2)
    axes.set_title(title, fontsize=8, loc="left", color=INK)


def grid_of_axes(
    panels: int, *, most: int, width: float, height: float
) -> tuple[Figure, list[Axes]]:
    """A figure of `panels` axes, at most `most` in a row, each of that size in inches."""
    columns = min(panels, most)
    rows = math.ceil(panels / columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, axes[:panels]
