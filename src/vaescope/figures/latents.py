"""Rate and posterior variance of every latent, sorted by the latter."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from vaescope.figures.axes import quiet
from vaescope.figures.palette import TYPES
from vaescope.inspection import Latent

__all__ = ["draw_latents"]


def draw_latents(latents: Sequence[Latent]) -> Figure:
    """KL of each latent beside its mean posterior variance, with the bands that decide its type."""
    figure = Figure(figsize=(6.0, 0.6 + 0.2 * len(latents)), layout="constrained")
    rate, variance = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(latents))
    colours = [TYPES[latent.type] for latent in latents]
    rate.barh(places, [latent.kl_nats or 0.0 for latent in latents], color=colours, height=0.7)
    rate.set_yticks(places, [str(latent.index) for latent in latents])
    rate.set_ylim(len(latents) - 0.4, -0.6)
    variance.axvspan(0.0, 0.1, color=TYPES["active"], alpha=0.12, lw=0)
    variance.axvspan(0.9, 1.1, color=TYPES["passive"], alpha=0.2, lw=0)
    means = [latent.mean_variance for latent in latents]
    spreads = np.sqrt([latent.variance_of_variance for latent in latents])
    variance.hlines(places, means - spreads, means + spreads, colors=colours, lw=1)
    variance.scatter(means, places, c=colours, s=16, zorder=3)
    variance.set_xlim(0.0, max(1.2, *means))
    quiet(rate, "KL per latent (nats)")
    quiet(variance, "Posterior variance (mean ± sd)")
    rate.set_ylabel("latent", fontsize=7)
    return figure
