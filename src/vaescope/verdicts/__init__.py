"""Sentences about a model, each with its number, its threshold and what to do about it.

All thresholds are in one table, each with its reason.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vaescope.verdicts.of_axes import correlated, orthogonal, separated
from vaescope.verdicts.of_latents import fills_prior, polarised, settled, silent
from vaescope.verdicts.of_maps import scaled
from vaescope.verdicts.verdict import PAPERS, THRESHOLDS, Paper, Threshold, Tone, Verdict, listed

if TYPE_CHECKING:
    from vaescope.encoding import Maps
    from vaescope.geometry.overview import Overview
    from vaescope.inspection import Factors, Latent, Moments, Training
    from vaescope.measures import Measures
    from vaescope.traversals import Traversals

__all__ = ["PAPERS", "THRESHOLDS", "Paper", "Threshold", "Tone", "Verdict", "judge", "listed"]


def judge(
    latents: "Sequence[Latent]",
    samples: "Moments",
    *,
    factors: "Factors | None" = None,
    measures: "Measures | None" = None,
    geometry: "Overview | None" = None,
    traversals: "Traversals | None" = None,
    training: "Training | None" = None,
    maps: "Maps | None" = None,
) -> tuple[Verdict, ...]:
    """What can be said from the parts that are there, the weightiest first."""
    verdicts = (
        polarised(latents),
        correlated(latents, measures),
        silent(latents, traversals),
        orthogonal(geometry),
        separated(factors),
        None if maps is not None else fills_prior(latents, samples),
        scaled(maps),
        settled(training),
    )
    return tuple(verdict for verdict in verdicts if verdict is not None)
