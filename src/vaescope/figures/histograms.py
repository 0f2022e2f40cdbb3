"""Means and samples of each latent against the prior."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from vaescope.figures.axes import grid_of_axes, quiet
from vaescope.figures.palette import INK, MUTED, TYPES
from vaescope.inspection import Histograms, Latent

__all__ = ["draw_histograms"]


def draw_histograms(histograms: Histograms, latents: Sequence[Latent]) -> Figure:
    """One panel per latent: samples filled, means as a line, the prior dashed.

    Heights are cut: the means of a passive latent are a spike at zero.
    """
    figure, panels = grid_of_axes(len(latents), most=5, width=1.5, height=1.2)
    for axes, latent in zip(panels, latents, strict=True):
        sample, mean = histograms.sample[latent.index], histograms.mean[latent.index]
        axes.stairs(sample, histograms.edges, fill=True, color=TYPES[latent.type], alpha=0.45)
        axes.stairs(mean, histograms.edges, color=INK, lw=0.8)
        prior = histograms.prior[latent.index]
        axes.plot(histograms.middles, prior, color=MUTED, lw=0.8, ls="--")
        axes.set_ylim(0.0, histograms.top)
        axes.set_yticks([])
        quiet(axes, f"{latent.index}, {latent.type}")
    handles = [*panels[0].patches, *panels[0].lines]
    figure.legend(
        handles, ["samples", "means", "prior"], loc="outside lower left", ncols=3, fontsize=7,
        frameon=False,
    )  # fmt: skip
    return figure
