"""The section of the latents: their types, and the rule in the units that it is decided in."""

from collections.abc import Sequence
from typing import Any

from vaescope.figures.charts import LEAST_KL, latents_chart
from vaescope.inspection import Inspection, Latent
from vaescope.latents import Types
from vaescope.report.chart_parts import figure
from vaescope.report.page import Column, PageTable, Part, Prose, Section
from vaescope.verdicts import THRESHOLDS
from vaescope.wording import listed

__all__ = ["HOLD", "SHOWN_LATENTS", "SUPERVISED", "cut", "factor_of", "is_point", "latents_section",
           "named"]  # fmt: skip

#: Latents in figures, the most certain ones; tables have all.
SHOWN_LATENTS = 40

HOLD = "\N{NO-BREAK SPACE}"

#: Said of models whose encoder saw the factors.
SUPERVISED = (
    " The encoder saw the factors (supervised): a score does not show what it learns without them."
)


def is_point(latents: Sequence[Latent]) -> bool:
    """Whether this is a plain autoencoder, of which types say nothing."""
    return all(latent.kl_nats is None for latent in latents)


def cut(latents: Sequence[Latent]) -> str:
    more = len(latents) - SHOWN_LATENTS
    return f" The {more} latents of largest variance are left out here." if more > 0 else ""


def named(latent: Latent) -> str:
    knows = f", encodes {latent.factor} best" if latent.factor else ""
    return f"latent {latent.index}, {latent.type}{knows}"


def factor_of(inspection: Inspection, latent: Latent) -> str:
    """The name beside a latent: the factors of its group, which no single latent has where it is
    rotated; else the factor that it encodes best."""
    group = None if inspection.groups is None else inspection.groups.of(latent.index)
    return listed(group.factors) if group is not None else latent.factor or ""


#: What decides the type, over the posterior variances as the table has them.
_BY_VARIANCE = (
    "Active: mean variance at most 0.1. Passive: mean variance from 0.9 to 1.1, and a variance of "
    "the means below 0.1. In both, the variance of the variance is below 0.1; any other latent is "
    "mixed. The rule is that of Bonheme and Grzes 2023; the condition on the means is ours."
)
_BY_RATIO = (
    "Variances are divided by that of a latent that ignores the data, so the scale of the latents "
    "does not matter. Active: a mean ratio of at most 0.1. Passive: from 0.9 to 1.1, and means "
    "that move by less than 0.1. In both, the variance of the ratio is below 0.1; any other latent "
    "is mixed."
)
_BY_SPIKE = (
    "The posterior of a latent that ignores the data lies in the prior's spike. Passive: the "
    "mean ratio to its "
    "variance is from 0.9 to 1.1 with a variance below 0.1, and means move by less than 0.1. "
    "Active: variances are at most a tenth of the whole prior's. Any other latent is mixed."
)


def _rule(kinds: Types | None) -> str:
    if kinds is None or not kinds.rescaled:
        rule = _BY_VARIANCE
    else:
        rule = _BY_RATIO if kinds.spread is None else _BY_SPIKE
    return rule if kinds is None or not kinds.why else f"{rule} Here {kinds.why}."


def _typed_columns(
    latents: Sequence[Latent], kinds: Types | None
) -> tuple[list[Column], list[tuple[Any, ...]]]:
    """Statistics in the units that types are decided in: others say nothing where the scale of a
    latent is free."""
    rescaled = kinds is not None and kinds.rescaled
    columns = [
        Column("Latent", "number", 0),
        Column("Type", "type"),
        Column(f"KL{HOLD}(nats)", "bar", full=LEAST_KL),
        Column("Mean ratio" if rescaled else "Mean variance", "number"),
        Column("Variance of ratio" if rescaled else "Variance of variance", "number", 4),
        Column("Movement of mean" if rescaled else "Variance of mean", "number"),
    ]
    rows: list[tuple[Any, ...]] = []
    for z in latents:
        own = (z.mean_variance, z.variance_of_variance, z.variance_of_mean)
        if rescaled and kinds is not None:
            of = (kinds.mean_ratio, kinds.variance_of_ratio, kinds.movement)
            own = tuple(float(values[z.index]) for values in of)  # type: ignore[assignment]
        rows.append((z.index, z.type, z.kl_nats, *own))
    return columns, rows


def latents_section(inspection: Inspection) -> Section:
    latents, kinds = inspection.latents, inspection.types
    known, point = inspection.factors is not None, is_point(latents)
    columns = [Column("Latent", "number", 0), Column("Variance of mean", "number")]
    rows: list[tuple[Any, ...]] = [(z.index, z.variance_of_mean) for z in latents]
    if not point:
        columns, rows = _typed_columns(latents, kinds)
    variances = [z.mean_variance if point else row[3] for z, row in zip(latents, rows, strict=True)]
    if known:
        columns += [Column("Encodes best", "text"), Column("Share", "number", 2)]
        rows = [(*row, z.factor, z.knowledge) for row, z in zip(rows, latents, strict=True)]
    n = inspection.subject.n
    over = " over that of an unused latent" if kinds is not None and kinds.rescaled else ""
    table = PageTable(
        "latents", f"Latents by mean posterior variance{over}, over {n:,} examples.",
        tuple(columns), tuple(rows),
    )  # fmt: skip
    alt = "Bars of the KL of each latent beside dots of its posterior variance. " + "; ".join(
        f"{named(z)}: {'no KL' if z.kl_nats is None else f'{z.kl_nats:.2f} nats'}, variance{over} "
        f"{variance:.2f}"
        for z, variance in zip(latents[:SHOWN_LATENTS], variances, strict=False)
    )
    drawn = figure(
        "latents-figure", latents_chart(latents[:SHOWN_LATENTS], kinds),
        "Rate and posterior variance of each latent. Shaded: where a latent counts as active "
        f"or as passive.{cut(latents)}", alt,
    )  # fmt: skip
    rule = _rule(kinds)
    if known:
        least = THRESHOLDS["knows"].value
        rule += (
            " The share of a factor is I(z; factor) / H(factor) by 20 bins of the means; shares "
            f"below {least:g} and those of passive latents are left out."
            f"{SUPERVISED if inspection.supervised else ''}"
        )
    lead = "An active latent has a small posterior variance; a passive one ignores the data."
    parts: list[Part] = [table, drawn, Prose(rule, aside=True)]
    if point:
        lead = "The posteriors of this model are points: latents have no variance, rate or type."
        parts = [table]
    return Section("latents", "Latents", lead, tuple(parts))
