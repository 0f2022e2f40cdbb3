"""What is said of latents that are maps, as latent-diffusion models have them."""

import math
from typing import TYPE_CHECKING

import numpy as np

from vaescope.verdicts.thresholds import THRESHOLDS, Tone, Verdict, close, near_limit

if TYPE_CHECKING:
    from vaescope.encoding import Maps
    from vaescope.types import Floats

__all__ = ["scaled"]


def scaled(maps: "Maps | None") -> Verdict | None:
    """Whether the configured factor brings the latents to variance 1."""
    if maps is None:
        return None
    limit = THRESHOLDS["scaling"].value
    if not (math.isfinite(maps.scaling) and maps.scaling > 0):
        return Verdict(
            "scaling", "warning",
            "The latents are the same for all examples, so they have no scale.",
            number=0.0, shown="0", threshold=limit, rule="their standard deviation is above 0",
            advice="Check that the data differ and that the encoder uses them.",
            section="maps", paper="ldm",
        )  # fmt: skip
    if maps.configured_channels is not None:
        return _by_channel(maps, *maps.configured_channels)
    measured = f"1 / {1 / maps.scaling:.3g} = {maps.scaling:.4g}"
    if maps.configured is None:
        return Verdict(
            "scaling", "note",
            f"The latents have a standard deviation of {1 / maps.scaling:.3g} on these data.",
            number=maps.scaling, shown=f"{maps.scaling:.3g}", threshold=limit,
            rule="the model has a scaling factor that fits",
            advice=f"Multiply them by {measured} before you train a diffusion model on them.",
            section="maps", paper="ldm",
        )  # fmt: skip
    off = abs(maps.configured / maps.scaling - 1)
    tone: Tone = "good" if off < limit else "warning"
    return Verdict(
        "scaling", tone,
        f"The published scaling factor is {maps.configured:g}; these data need {measured}"
        f"{_shifted(maps)}.{close(off, limit, unit='%')}",
        number=off, shown=f"{off:.0%}", threshold=limit,
        rule=f"it is within {limit:.0%} of one over the standard deviation of the latents",
        advice="Keep it."
        if off < limit
        else f"Use {maps.scaling:.4g} for data like these; the table has the factor of "
        "each channel.",
        section="maps", paper="ldm", borderline=near_limit(off, limit),
    )  # fmt: skip


def _by_channel(maps: "Maps", mean: "Floats", std: "Floats") -> Verdict:
    """Whether the published mean and standard deviation of each channel fit these data."""
    limit = THRESHOLDS["scaling"].value
    scales = np.abs(std / maps.scale - 1.0)
    shifts = np.abs(mean - maps.shift) / maps.scale
    worst = int(np.argmax(np.maximum(scales, shifts)))
    off = float(max(scales[worst], shifts[worst]))
    return Verdict(
        "scaling", "good" if off < limit else "warning",
        f"Channel {worst} is the farthest from the published latents_mean and latents_std: "
        f"{mean[worst]:.3g} and {std[worst]:.3g} there, {maps.shift[worst]:.3g} and "
        f"{maps.scale[worst]:.3g} on these data.{close(off, limit, unit='%')}",
        number=off, shown=f"{off:.0%}", threshold=limit,
        rule=f"every channel's mean and standard deviation are within {limit:.0%} of the measured "
        "standard deviation",
        advice="Keep them." if off < limit else f"For data like these: {maps.pasted}.",
        section="maps", paper="ldm", borderline=near_limit(off, limit),
    )  # fmt: skip


def _shifted(maps: "Maps") -> str:
    """The shift, where one was published."""
    if not maps.configured_shift:
        return ""
    measured = float(maps.shift.mean())
    return f" after a shift of {measured:.3g}, where {maps.configured_shift:g} is published"
