"""What the decoder shows along each latent."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from vaescope.errors import UsageError
from vaescope.figures.axes import grid_of_axes, quiet
from vaescope.inspection import Latent
from vaescope.traversals import Traversals
from vaescope.types import Floats

__all__ = ["draw_traversals"]


def draw_traversals(traversals: Traversals, latents: Sequence[Latent]) -> Figure:
    """A row of images per latent, passive ones dimmed; lines where outputs are vectors."""
    outputs = traversals.outputs
    if outputs is None:
        raise UsageError(
            "These traversals hold numbers only.", "Inspect the run again with images=True."
        )
    draw = _images if outputs.ndim == 5 else _lines
    return draw(traversals, outputs, latents)


def _images(traversals: Traversals, outputs: Floats, latents: Sequence[Latent]) -> Figure:
    steps = len(traversals.values)
    close = ConstrainedLayoutEngine(w_pad=0.01, h_pad=0.01, wspace=0.0, hspace=0.0)
    figure = Figure(figsize=(0.5 * steps + 0.9, 0.5 * len(latents)), layout=close)
    grid = figure.subplots(len(latents), steps, squeeze=False)
    for row, latent in zip(grid, latents, strict=True):
        for axes, image in zip(row, outputs[latent.index], strict=True):
            axes.imshow(
                np.clip(np.moveaxis(image, 0, -1), 0.0, 1.0),
                cmap="gray", vmin=0.0, vmax=1.0, alpha=0.25 if latent.type == "passive" else 1.0,
            )  # fmt: skip
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
        row[0].set_ylabel(
            f"{latent.index}  {latent.factor or ''}",
            rotation=0,
            fontsize=7,
            ha="right",
            va="center",
        )
    for axes, value in zip(grid[0], traversals.values, strict=True):
        axes.set_title(f"{value:.1f}", fontsize=6)
    return figure


def _lines(traversals: Traversals, outputs: Floats, latents: Sequence[Latent]) -> Figure:
    figure, panels = grid_of_axes(len(latents), most=5, width=1.5, height=1.2)
    low, high = float(outputs.min()), float(outputs.max())
    for axes, latent in zip(panels, latents, strict=True):
        lines = outputs[latent.index].reshape(len(traversals.values), -1)  # (steps, outputs)
        axes.plot(traversals.values, lines, lw=0.8)
        axes.set_ylim(low, high)
        quiet(axes, f"{latent.index}, {latent.type}")
    return figure
