"""Sections of a thorough dissection: what takes longer and looks closer."""

from vaescope.inspection import Inspection
from vaescope.report.page import Column, PageTable, Part, Prose, Section, Value

__all__ = ["diagnostics", "likelihood"]


def likelihood(inspection: Inspection) -> Section | None:
    """zietlow2022 section 7.6: log p(x), and what separates it from the ELBO."""
    found = inspection.log_likelihood
    if found is None:
        return None
    rows: list[tuple[Value, ...]] = [
        ("Log-likelihood log p(x)", found.value),
        ("ELBO of the same examples", found.elbo),
        ("Gap: KL(q(z|x) || p(z|x))", found.gap),
    ]
    if found.contrast is not None and found.rest is not None:
        rows += [
            ("of it, the price of a diagonal posterior (IMA contrast)", found.contrast),
            ("of it, due to the encoder", found.rest),
        ]
    table = PageTable(
        "likelihood", f"Nats per example, means over {found.n:,} examples.",
        (Column("Quantity"), Column("Nats", "number", 2)), tuple(rows),
    )  # fmt: skip
    parts: list[Part] = [table, Prose(found.summary(), aside=True)]
    lead = (
        "How probable the data are under the model, whatever its objective was. Models with the "
        "same "
        "kind of likelihood can be compared by it."
    )
    return Section("likelihood", "Log-likelihood", lead, tuple(parts), open=False)


_NAMES = {
    "delta_kl": "Delta-KL",
    "precision_budget": "Precision budget",
    "reconstruction_parts": "Cross term of the reconstruction",
    "rotation_price": "Price of a rotation, nats",
    "self_consistency": "Self-consistency",
    "local_encoder": "Directions that encoder and decoder share",
    "data_bias": "Bias of the data, degrees",
    "coordinates": "Polar over straight axes",
}


def diagnostics(inspection: Inspection) -> Section | None:
    """Each number with its sentence, and what was left out."""
    found = inspection.closer_look
    if found is None:
        return None
    rows = tuple(
        (_NAMES[name], one.value,
         "" if one.interval is None else f"{one.interval[0]:.3g} to {one.interval[1]:.3g}",
         one.n, one.says)
        for name, one in found.found.items()
    )  # fmt: skip
    table = PageTable(
        "diagnostics", "What each number means for this model.",
        (
            Column("Diagnostic"), Column("Value", "number"), Column("95% interval"),
            Column("n", "number", 0), Column("Meaning"),
        ),
        rows,
    )  # fmt: skip
    parts: list[Part] = [table] if rows else []
    if found.skipped:
        why = "; ".join(
            f"{_NAMES[name]} ({reason.rstrip('.')})" for name, reason in found.skipped.items()
        )
        parts.append(Prose(f"Left out: {why}.", aside=True))
    lead = "A closer look at noise, axes, inversion and data."
    return Section("diagnostics", "Diagnostics", lead, tuple(parts), open=False)
