"""Further pictures of a report: parts for the sections that they belong to."""

import base64
from typing import Any

import numpy as np

from vaescope.inspection import Inspection
from vaescope.inspection.gallery import Gallery
from vaescope.report.latents import factor_of
from vaescope.report.page import Part, Picture, Pictures, Prose, Scattered, Section
from vaescope.report.pictures import columns_of, heat_of, rows_of, sheet_of
from vaescope.report.signals import as_pictures, images_of
from vaescope.report.sliders import budget_beside
from vaescope.types import Floats

__all__ = ["action", "drawn", "grid", "scattered", "way", "worst"]

#: Bytes of the pictures of each kind, at most.
BUDGET = 150_000
#: Pixels of a thumbnail's side.
THUMBNAIL = 28
#: Pixels of the grid's side.
SIDE_PIXELS = 448
MINUS = "\N{MINUS SIGN}"


def _budget(inspection: Inspection) -> int:
    return min(BUDGET, budget_beside(inspection.network) // 4)


def _left_out(gallery: Gallery, name: str, what: str) -> list[Part]:
    reason = gallery.skipped.get(name, "the data are not images")
    return [Prose(f"{what} left out: {reason}.", aside=True)]


def action(inspection: Inspection) -> list[Part]:
    """Where each latent acts."""
    gallery = inspection.gallery
    if gallery is None or not gallery.acting:
        return []
    values = gallery.action
    images = images_of(inspection, values / (values.max() or 1.0), 1)
    what = "A map of where each latent acts is"
    if inspection.subject.kind != "images" and images is not None:
        images = as_pictures(values, values.shape[1:], (0.0, float(values.max())))
    if images is None:
        return _left_out(gallery, "action", what)
    maps = images.mean(axis=1)  # over channels
    names = {z.index: z for z in inspection.latents}
    pictures = tuple(
        Picture(png, f"Where latent {j} changes the output: darker is more.", label=str(j),
                extra=factor_of(inspection, names[j]), type=names[j].type)
        for j, png in zip(gallery.acting, heat_of(maps), strict=True)
    )  # fmt: skip
    caption = (
        "Where each used latent acts: the mean absolute change of each pixel with the latent, "
        "|dx/dz|, over the data. Each map has its own scale."
    )
    return [Pictures(caption, pictures, "maps"), *_feeding(inspection, gallery)]


def _feeding(inspection: Inspection, gallery: Gallery) -> list[Part]:
    """Which pixels feed each latent: the encoder's side."""
    values = gallery.feeding
    if values is None or inspection.subject.kind != "images":
        return []
    images = images_of(inspection, values / (values.max() or 1.0), 1)
    if images is None:
        return []
    pictures = tuple(
        Picture(png, f"Which pixels feed latent {j}: darker is more.", label=str(j))
        for j, png in zip(gallery.acting, heat_of(images.mean(axis=1)), strict=True)
    )
    caption = (
        "Which pixels feed each used latent: the mean absolute change of its posterior mean with "
        "each pixel, |d mean/dx|, over the data. Each map has its own scale."
    )
    return [Pictures(caption, pictures, "maps")]


def grid(inspection: Inspection) -> list[Part]:
    """Two latents moved together."""
    gallery = inspection.gallery
    if gallery is None:
        return []
    images = None if gallery.grid is None else images_of(inspection, gallery.grid, 2)
    if images is None:
        return _left_out(gallery, "grid", "A grid of two latents is")
    across, up = gallery.axes
    low, high = (f"{end:g}".replace("-", MINUS) for end in gallery.places[[0, -1]])
    square = _joined(images)
    png = rows_of(square[None, None], _budget(inspection), height=SIDE_PIXELS)[0]
    caption = (
        f"Latent {across} from left to right and latent {up} upwards, each from {low} to {high} "
        "standard deviations of the prior: the two that change the output most."
    )
    alt = f"A grid of outputs as latents {across} and {up} move together."
    return [Pictures(caption, (Picture(png, alt),), "square")]


def _joined(images: Floats) -> Floats:
    """(rows, columns, channels, height, width) as one image."""
    rows, columns, channels, height, width = images.shape
    moved = images.transpose(2, 0, 3, 1, 4)
    return moved.reshape(channels, rows * height, columns * width)


def worst(inspection: Inspection) -> list[Part]:
    """The examples that are reconstructed worst."""
    gallery = inspection.gallery
    if gallery is None:
        return []
    found = gallery.worst
    pairs = None
    if found is not None and found.originals.shape == found.outputs.shape:
        pairs = images_of(inspection, np.stack([found.originals, found.outputs], axis=1), 2)
    if pairs is None or found is None:
        return _left_out(gallery, "worst", "The worst reconstructions are")
    pictures = tuple(
        Picture(png, f"Original above its reconstruction: {label}, squared error {error:.3g}.",
                note=f"{error:.3g}")
        for png, label, error in zip(
            columns_of(pairs, _budget(inspection)), found.labels, gallery.errors, strict=True
        )
    )  # fmt: skip
    caption = (
        f"The {len(pictures)} worst of {gallery.judged:,} examples, each above its reconstruction, "
        "with the mean squared error."
    )
    return [Pictures(caption, pictures, "tiles")]


def way(inspection: Inspection) -> list[Part]:
    """Outputs between two examples."""
    gallery = inspection.gallery
    images = None if gallery is None else images_of(inspection, gallery.way, 1)
    if gallery is None or images is None:
        return (
            [] if gallery is None else _left_out(gallery, "way", "The path between two examples is")
        )
    first, last = gallery.ends
    png = rows_of(images[None], _budget(inspection))[0]
    caption = f"Decoded along the straight line between two codes ({first}; {last})."
    return [Pictures(caption, (Picture(png, f"Outputs between {first} and {last}."),), "strips")]


def drawn(inspection: Inspection) -> list[Part]:
    """Outputs at codes from the prior."""
    gallery = inspection.gallery
    if gallery is None:
        return []
    images = None if gallery.drawn is None else images_of(inspection, gallery.drawn, 1)
    if images is None:
        return _left_out(gallery, "drawn", "Samples from the prior are")
    half = len(images) // 2
    strips = rows_of(images[: 2 * half].reshape(2, half, *images.shape[1:]), _budget(inspection))
    assumed = ", assumed to be N(0, I)" if inspection.samples.assumed else ""
    caption = f"Outputs at {2 * half} codes drawn from the prior{assumed}."
    pictures = tuple(Picture(png, "Outputs at codes drawn from the prior.") for png in strips)
    return [Pictures(caption, pictures, "strips")]


def scattered(inspection: Inspection) -> Section | None:
    """Any two latents against each other, coloured by a factor, with thumbnails."""
    gallery = inspection.gallery
    if gallery is None or gallery.scatter is None:
        return None
    found = gallery.scatter
    images = images_of(inspection, found.originals, 1)
    content: dict[str, Any] = {
        "latents": list(found.latents),
        "mean": [[round(float(v), 3) for v in row] for row in found.mean],
        "names": list(found.names),
        "values": [[float(v) for v in row] for row in found.values],
        "labels": list(found.labels),
    }
    if images is not None:
        png, columns, size = sheet_of(images, THUMBNAIL)
        content |= {
            "sheet": "data:image/png;base64," + base64.b64encode(png).decode("ascii"),
            "across": columns, "width": size[0], "height": size[1],
        }  # fmt: skip
    by = ", coloured by a factor" if found.names else ""
    caption = f"Posterior means of {len(found.mean)} examples{by}."
    if images is not None:
        caption += " Point at an example to see it."
    if inspection.network is not None:
        caption += (
            " Click an example to decode its code, or anywhere else to decode that position; the "
            "other latents then have the values at which the sliders start."
        )
    part = Scattered(caption, f"Scatter of the codes of {len(found.mean)} examples.", content)
    lead = "The codes of the examples, two latents at a time."
    return Section("codes", "Codes", lead, (part,))
