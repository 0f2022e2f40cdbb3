"""Sentences about a model, each with its number, its threshold and what to do about it.

All thresholds are in one table, each with its reason.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vaescope.verdicts.of_axes import correlated, known_to_passive, separated
from vaescope.verdicts.of_examples import repeated
from vaescope.verdicts.of_geometry import orthogonal
from vaescope.verdicts.of_latents import averaged, heard, polarised, silent
from vaescope.verdicts.of_maps import scaled
from vaescope.verdicts.of_prior import fills_prior
from vaescope.verdicts.of_reconstructions import reconstructs
from vaescope.verdicts.of_training import more_training, settled
from vaescope.verdicts.ranking import ranked
from vaescope.verdicts.thresholds import PAPERS, THRESHOLDS, Paper, Threshold, Tone, Verdict, listed

if TYPE_CHECKING:
    from vaescope.encoding import Maps
    from vaescope.geometry.overview import Overview
    from vaescope.inspection import FactorSummary, Latent, MomentSummary, Training
    from vaescope.latents import LatentGroups, Types
    from vaescope.measures import Measures
    from vaescope.pruning.price import Price
    from vaescope.traversals import Traversals

__all__ = ["PAPERS", "THRESHOLDS", "Paper", "Threshold", "Tone", "Verdict", "judge", "listed"]


def judge(
    latents: "Sequence[Latent]",
    samples: "MomentSummary",
    *,
    types: "Types | None" = None,
    factors: "FactorSummary | None" = None,
    groups: "LatentGroups | None" = None,
    measures: "Measures | None" = None,
    geometry: "Overview | None" = None,
    traversals: "Traversals | None" = None,
    training: "Training | None" = None,
    maps: "Maps | None" = None,
    unexplained: float | None = None,
    read: bool = False,
    price: "Price | None" = None,
    supervised: bool = False,
) -> tuple[Verdict, ...]:
    """What can be said from the parts that are there: causes by weight, the consequences of each
    under it. Each says so where the encoder saw the factors."""
    trained = settled(training)
    more = more_training(trained)
    factored = separated(factors, latents, groups)
    known = known_to_passive(factors, latents)
    by_place = averaged(latents, maps)
    by_example = () if by_place is not None else (
        polarised(
            latents, types, traversals, more=more,
            beyond=() if traversals is None else samples.beyond(float(traversals.values[-1])),
        ),
        correlated(
            latents, measures, types, price, heard(latents, traversals),
            known=known, rows=samples.different,
        ),
        silent(
            latents, traversals, types, more=more, wanted=_wanted(price, known),
        ),
    )  # fmt: skip
    verdicts = (
        reconstructs(unexplained, read=read, more=more),
        repeated(samples),
        by_place,
        *by_example,
        orthogonal(geometry, factored),
        factored,
        None if maps is not None else fills_prior(latents, samples),
        scaled(maps),
        trained,
    )
    said = ranked([verdict for verdict in verdicts if verdict is not None], read=read)
    if supervised:
        said = tuple(
            replace(one, says=f"(supervised) {one.says}", shown=f"{one.shown}, supervised")
            for one in said
        )
    return said


def _wanted(price: "Price | None", known: Sequence[str]) -> str:
    """Why means that the decoder can do without should stay; else empty."""
    if price is None:
        return f"their means encode {listed(known)} best" if known else ""
    loses = price.linear.matters or price.neighbours.matters
    return "some models that take the means lose accuracy" if loses else ""
