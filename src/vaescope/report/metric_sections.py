"""Sections of what was measured: mean against sample, metrics, geometry, decomposition."""

from collections.abc import Mapping

import numpy as np

from vaescope.encoding import Maps
from vaescope.figures.matrices import correlations_chart
from vaescope.geometry import GeometryMeasure
from vaescope.inspection import Inspection
from vaescope.inspection.closer_look import overlap_to_dict
from vaescope.latents.correlation import MeanAgainstSample, left_by_lot
from vaescope.latents.pairwise import as_correlation
from vaescope.report.chart_parts import figure
from vaescope.report.page import Column, PageTable, Part, Prose, Section, Value

__all__ = ["correlation", "decomposition", "geometry", "inferred", "maps", "metrics"]

#: Latents in the matrices: more cannot be read.
SHOWN = 24

_SUBSETS = {
    "": "all latents",
    "_without_passive": "without passive",
    "_active": "active only",
}


def correlation(inspection: Inspection) -> Section | None:
    """bonheme2023: what the passive latents do to the means."""
    measures = inspection.measures
    if measures is None or measures.d < 2:
        return None
    found = measures.correlation
    rows: list[tuple[Value, ...]] = []
    for suffix, which in _SUBSETS.items():
        for name in ("mean", "sample"):
            own = found.of.get(f"{name}{suffix}")
            if own is not None:
                rows.append(
                    (f"{name}s, {which}", own.total_correlation, own.total_correlation_rank,
                     own.mutual_information, own.effective_rank, own.effective_rank_correlation)
                )  # fmt: skip
    rows += _controls(found, measures.n, measures.d)
    table = PageTable(
        "correlation", f"Means and samples over {measures.n:,} examples.",
        (
            Column("Representation"), Column("Total correlation", "number"),
            Column("TC of ranks", "number"), Column("Mutual information", "number"),
            Column("Effective rank", "number", 2), Column("Rank of correlations", "number", 2),
        ),
        tuple(rows),
    )  # fmt: skip
    shown = inspection.latents[:SHOWN]
    matrices = {
        "means": as_correlation(found.mean.covariance),
        "samples": as_correlation(found.sample.covariance),
    }
    alt = "Two tables of the size of the correlation between each two latents. " + "; ".join(
        f"{name}: the largest between different latents is {_largest(matrix):.2f}"
        for name, matrix in matrices.items()
    )
    caption = "Absolute correlation between latents, of the means and of the samples."
    lead = "Whether latents are correlated, and whether the passive latents are the reason."
    text = (
        "Total correlation and mutual information in nats: 0 for independent latents. The "
        "effective rank counts the directions that vary; that of the correlation matrix ignores "
        "their size (Bonheme and Grzes 2023). Means of passive latents hardly vary, but may still "
        "be correlated; their samples are noise and are not. Fewer latents always have a lower "
        "total correlation: passive latents are the reason only if dropping them leaves less "
        "than dropping as many latents at random (mean of 20 draws). Independent latents have "
        "about d(d - 1) / "
        "4n by chance."
    )
    chart = correlations_chart(matrices, shown)
    drawn = figure("correlations", chart, caption, alt)
    return Section(
        "correlation", "Mean against sample", lead, (table, drawn, Prose(text, aside=True))
    )


def _controls(found: MeanAgainstSample, n: int, d: int) -> list[tuple[Value, ...]]:
    """As many latents as are passive, dropped at random; what independent latents have by
    chance.
    """
    rows: list[tuple[Value, ...]] = []
    for name, pairs in (("mean", found.mean), ("sample", found.sample)):
        own = left_by_lot(pairs, len(found.types.passive))
        if own is not None:
            rows.append(
                (f"{name}s, as many dropped at random", own.total_correlation,
                 own.total_correlation_rank, own.mutual_information, own.effective_rank,
                 own.effective_rank_correlation)
            )  # fmt: skip
    chance = d * (d - 1) / (4.0 * n)
    return [*rows, ("independent latents, by chance", chance, None, None, None, None)]


def _largest(matrix: np.ndarray) -> float:
    off = np.abs(matrix - np.diag(np.diag(matrix)))
    return float(off.max(initial=0.0))


def metrics(inspection: Inspection) -> Section | None:
    """Every score with its protocol."""
    measures = inspection.measures
    if measures is None or not any(measures.scores.values()):
        return None
    names = list(dict.fromkeys(name for own in measures.scores.values() for name in own))
    rows: list[tuple[Value, ...]] = []
    for name in names:
        values = [measures.scores.get(where, {}).get(name) for where in ("mean", "sample")]
        first = next(score for score in values if score is not None)
        ends = first.interval
        rows.append(
            (name, *(None if score is None else score.value for score in values),
             "" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}",
             ", ".join(f"{key} {value}" for key, value in first.protocol.to_dict().items()
                       if key not in ("versions", "name") and not isinstance(value, dict | list)))
        )  # fmt: skip
    table = PageTable(
        "metrics", f"Scores of means and samples over {measures.n:,} examples, one model"
        f"{', supervised: the encoder saw the factors' if inspection.supervised else ''}.",
        (
            Column("Metric"), Column("Of means", "number"), Column("Of samples", "number"),
            Column("95% interval"), Column("Protocol"),
        ),
        tuple(rows),
    )  # fmt: skip
    parts: list[Part] = [table]
    if measures.skipped:
        parts.append(Prose(f"Left out: {_left_out(measures.skipped)}.", aside=True))
    text = (
        "Libraries use one name for different metrics: compare numbers of the same protocol "
        "only. Intervals are over examples, not over training seeds."
    )
    parts.append(Prose(text, aside=True))
    lead = "Scores that compare latents with the ground truth; 1 is best."
    return Section("metrics", "Metrics", lead, tuple(parts), open=False)


_MEANINGS = {
    "dto": "Distance to orthogonality: 0 where columns of the Jacobian are orthogonal",
    "dto_haar": "the same for randomly rotated axes",
    "dto_random_decoder": "the same for this decoder before training",
    "od_score": "OD-Score, corrected: 0 for orthogonal columns",
    "column_cosine": "Mean absolute cosine between columns",
    "column_norm": "Mean length of a column",
    "ima_contrast": "IMA contrast in nats: 0 for orthogonal columns",
    "variance_law": "Slope of log variance on log squared length; near -1 by theory",
    "stochastic_loss": "Reconstruction loss due to the posterior's noise",
}


def geometry(inspection: Inspection) -> Section | None:
    """zietlow2022 and bhowal2024: the decoder's Jacobian."""
    found = inspection.geometry
    if found is None:
        if not inspection.skipped:
            return None
        reason = next(iter(inspection.skipped.values()))
        lead = "How the decoder's output moves along each latent."
        return Section("geometry", "Geometry", lead, (Prose(f"Left out: {reason}"),), open=False)
    rows: list[tuple[Value, ...]] = []
    for key, measured in found.measures.items():
        rows.append(
            (_MEANINGS[key], measured.value, _between(measured), measured.n, measured.space)
        )
    table = PageTable(
        "geometry", f"Over the latents that are not passive: {', '.join(map(str, found.columns))}.",
        (
            Column("Measure"), Column("Value", "number"), Column("95% interval"),
            Column("Points", "number", 0), Column("Space"),
        ),
        tuple(rows),
    )  # fmt: skip
    parts: list[Part] = [table] if rows else []
    loss = found.measures.get("stochastic_loss")
    errors = getattr(loss, "relative_errors", None)
    if errors:
        parts.append(
            PageTable(
                "local-decoders",
                "Relative errors of estimates of the loss due to the posterior's noise.",
                (Column("Estimate by"), Column("Error", "number"), Column("Points", "number", 0)),
                tuple((name, spread.value, spread.n) for name, spread in errors.items()),
            )
        )  # fmt: skip
    parts += [Prose(note, aside=True) for note in found.notes]
    if found.skipped:
        parts.append(Prose(f"Left out: {_left_out(found.skipped)}.", aside=True))
    lead = "Whether the decoder's output moves in orthogonal directions, one for each latent."
    return Section("geometry", "Geometry", lead, tuple(parts))


def _left_out(skipped: Mapping[str, str]) -> str:
    """Each reason once, after the names of what it keeps out."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        by_reason.setdefault(reason.rstrip("."), []).append(name)
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in by_reason.items())


def _between(measured: GeometryMeasure) -> str:
    ends = measured.interval
    return "" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"


def decomposition(inspection: Inspection) -> Section | None:
    """mathieu2019: overlap, and match with the prior."""
    measures = inspection.measures
    if measures is None:
        return None
    content = measures.decomposition.to_dict()
    meanings = {
        "index_code_information": "Information of codes about examples, nats: low if they overlap",
        "posterior_entropy": "Mean entropy of a posterior, nats",
        "mmd": "MMD between samples and prior: 0 where they match",
        "inclusive_kl": "KL from the prior to the aggregate posterior, nats",
        "hoyer": "Hoyer sparsity of the means: 1 for one latent per example",
    }
    rows = tuple((text, content.get(key)) for key, text in meanings.items())
    table = PageTable(
        "decomposition", f"Over {measures.n:,} examples.",
        (Column("Measure"), Column("Value", "number")), rows,
    )  # fmt: skip
    parts: list[Part] = [table]
    overlap = overlap_to_dict(measures.decomposition.overlap, inspection.subject.of)
    if overlap is not None:
        parts.append(Prose(f"Overlap: {overlap['says']}", aside=True))
    lead = "How much encodings overlap, and how well they match the prior (Mathieu et al. 2019)."
    return Section("decomposition", "Decomposition", lead, tuple(parts), open=False)


def maps(inspection: Inspection) -> Section | None:
    """Latents that are maps: scale and shift of each channel."""
    found = inspection.maps
    if found is None:
        return None
    rows = tuple(
        (channel, float(found.shift[channel]), float(found.scale[channel]),
         None if found.kl_nats is None else float(found.kl_nats[channel]))
        for channel in range(len(found.shift))
    )  # fmt: skip
    size = " x ".join(map(str, found.shape))
    table = PageTable(
        "channels", f"Channels of the {size} latent maps, over all examples and places.",
        (
            Column("Channel", "number", 0), Column("Shift", "number"), Column("Scale", "number"),
            Column("KL per place (nats)", "number"),
        ),
        rows,
    )  # fmt: skip
    kl = found.kl_by_place
    published = "" if found.configured is None else f"; {found.configured:g} is published"
    if found.configured_shift:
        published += f", after a shift of {found.configured_shift:g}"
    by_place = "" if kl is None else f" The KL of a place is {kl.min():.3g} to {kl.max():.3g} nats."
    text = (
        f"One over the standard deviation of all latents is {found.scaling:.5g}{published}."
        f"{by_place} All other "
        "sections are about spatial means of the channels; a traversal moves a whole channel. "
        f"To paste into a configuration: {found.pasted}."
    )
    lead = "The scale that a diffusion model on these latents has to undo."
    places = _places(found)
    parts = (table, *((places,) if places is not None else ()), Prose(text, aside=True))
    return Section("maps", "Channels", lead, parts)


def _places(found: Maps) -> PageTable | None:
    """The KL of each place, those with the most first."""
    if found.kl_by_place is None:
        return None
    flat = np.asarray(found.kl_by_place).ravel()
    order = np.argsort(-flat)[:SHOWN].tolist()
    rows = tuple(
        (", ".join(str(int(i)) for i in np.unravel_index(place, found.shape)), float(flat[place]))
        for place in order
    )
    more = f", the {len(rows)} with the most" if len(flat) > len(rows) else ""
    return PageTable(
        "places", f"KL of each place over all channels{more}.",
        (Column("Place"), Column("KL (nats)", "bar")), rows,
    )  # fmt: skip


def inferred(inspection: Inspection) -> Section | None:
    """What was inferred about somebody else's model."""
    if not inspection.inferred:
        return None
    rows = tuple((one.what, one.read, one.why) for one in inspection.inferred)
    table = PageTable(
        "inferred", "How the outputs were interpreted, and the evidence.",
        (Column("What"), Column("Read as"), Column("Because")), rows,
    )  # fmt: skip
    lead = "How this model was interpreted. If a line is wrong, all numbers are wrong: correct it."
    return Section("inferred", "Inferred about the model", lead, (table,), open=False)
