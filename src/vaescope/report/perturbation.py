"""A perturbed dataset as a page: what it looks like, and how large the changes are."""

from pathlib import Path

import numpy as np

from vaescope import __version__
from vaescope.perturbing.result import Perturbation
from vaescope.report.page import Column, Fact, Page, PageTable, Picture, Pictures, Prose, Section
from vaescope.report.pictures import rows_of
from vaescope.report.render import write_page

__all__ = ["preview_page", "save_preview"]


def save_preview(found: Perturbation, path: Path) -> None:
    """Writes the page."""
    write_page(preview_page(found), path)


def preview_page(found: Perturbation) -> Page:
    """Originals, changes magnified around grey, and the perturbed images."""
    change = found.images - found.originals
    strength = 0.5 / max(float(np.abs(change).max()), 1e-9)
    strips = np.stack([found.originals, 0.5 + strength * change, found.images])
    labels = (
        "original",
        f"change, magnified {strength:.3g} times; grey: no change",
        "perturbed",
    )
    pictures = tuple(
        Picture(png, f"{label} of {len(found.images)} images", label)
        for png, label in zip(rows_of(strips), labels, strict=True)
    )
    facts = (
        Fact("images", f"{found.n:,}", found.source),
        Fact("epsilon", f"{found.settings.epsilon:g}", "largest change allowed"),
        Fact("largest change", f"{found.largest:.4f}", "of any pixel of any image"),
        Fact("RMS", f"{found.rms:.4f}", "over all pixels and images"),
    )
    sections = [
        Section("images", "Images", "", (Pictures("", pictures, "rows"),)),
        Section("models", "Models that the change was trained against", "", (_models(found),)),
        Section(
            "use", "How to use it", "",
            (Prose(f"Train on it with data.name=perturbed data.path={found.path.name}, compare "
                   "with the original and with pixel noise of the same epsilon (data.pixel_noise): "
                   "a method whose scores fall on the perturbed data alone relies on local "
                   "structure. A control of the same form (reversed, one-factor) may have "
                   "the same effect: compare with the controls before you name a cause."),),
        ),
    ]  # fmt: skip
    kind = found.settings.kind
    return Page(
        f"{found.source}, {kind}",
        f"x' = x + epsilon m(w), {'as printed' if kind == 'perturbed' else f'control: {kind}'}.",
        facts, (), tuple(sections),
        (f"Made by vaescope {__version__}. This file loads nothing from the network.",),
    )  # fmt: skip


def _models(found: Perturbation) -> Prose | PageTable:
    if found.selection is None:
        return Prose("None: the network was not trained.")
    sides = (
        *(("entangled", model) for model in found.selection.entangled),
        *(("disentangled", model) for model in found.selection.disentangled),
    )
    rows = tuple((side, str(model.seed), model.mig, model.used) for side, model in sides)
    columns = (
        Column("side"),
        Column("seed"),
        Column("MIG", "number"),
        Column("latents in use", "number", 0),
    )
    return PageTable("models", f"Of a pool of {len(found.selection.pool)}.", columns, rows)
