"""What is said of the decoder's directions: whether they are orthogonal, and are its principal
components. Neither follows from the other: nearly parallel columns of very different lengths have
axes near the principal components, and equally long orthogonal ones have no such components."""

from typing import TYPE_CHECKING, Any

import numpy as np

from vaescope.verdicts.thresholds import THRESHOLDS, Tone, Verdict, close, listed

if TYPE_CHECKING:
    from vaescope.geometry.overview import Overview

__all__ = ["orthogonal"]


def _near(geometry: "Overview") -> list[tuple[int, int]]:
    """Pairs of used latents whose columns are equally long and orthogonal: they may turn."""
    norms: Any = geometry.measures["column_norm"]
    cosines: Any = geometry.measures["column_cosine"]
    lengths, columns = norms.per_column, geometry.columns
    alike, apart = 1 - THRESHOLDS["near"].value, THRESHOLDS["cosine"].value
    return [
        (columns[i], columns[j])
        for i in range(len(columns))
        for j in range(i + 1, len(columns))
        if min(lengths[i], lengths[j]) >= alike * max(lengths[i], lengths[j]) > 0
        and cosines.pairs[i, j] < apart
    ]


def _least_orthogonal(geometry: "Overview") -> tuple[float, int, int]:
    """Mean |cosine| of the pair of columns that has the largest, and the pair."""
    found: Any = geometry.measures["column_cosine"]
    pairs = np.where(np.triu(np.ones_like(found.pairs), 1) > 0, found.pairs, -1.0)
    i, j = np.unravel_index(pairs.argmax(), pairs.shape)
    return float(pairs[i, j]), geometry.columns[i], geometry.columns[j]


def orthogonal(geometry: "Overview | None", named: Verdict | None = None) -> Verdict | None:
    """zietlow2022: the diagonal posterior makes the decoder's columns orthogonal. `named` is what
    is said of axes and factors, if anything."""
    if geometry is None or "dto" not in geometry.measures:
        return None
    dto, haar = geometry.measures["dto"].value, geometry.measures["dto_haar"].value
    limit, random = (THRESHOLDS[name].value * haar for name in ("dto", "dto_random"))
    cosine, one, other = _least_orthogonal(geometry)
    parallel = f"{one} and {other} have a mean |cosine| of {cosine:.2f}"
    largest = f"the largest mean |cosine| is {cosine:.2f}, between {one} and {other}"
    near = _near(geometry)
    pairs = listed([f"{i} with {j}" for i, j in near])
    apart = cosine < THRESHOLDS["cosine"].value
    # Only of axes that are neither is it asked whether they are closer than chance.
    neither = dto >= limit and not apart
    close_by = close(dto, limit, "DtO") or (close(dto, random, "DtO") if neither else "")
    close_by += close(cosine, THRESHOLDS["cosine"].value, "The |cosine|")
    undecided = bool(close_by)
    if near:
        close_by = (
            " Orthogonal columns whose lengths differ by less than "
            f"{THRESHOLDS['near'].value:.0%} may "
            f"rotate into each other: {pairs}.{close_by}"
        )
    tone: Tone = "note"
    if dto < limit and apart:
        key, tone = "orthogonal", "good"
        says = (
            "the axes are close to the local principal components of the decoder's output, and its "
            f"directions are nearly orthogonal ({largest})."
        )
        advice = "Interpret latents one by one; compare seeds before you give them names."
        if near:
            advice = "Interpret latents one by one, except pairs that may rotate into each other."
        if named is not None and named.tone == "warning":
            advice = "The decoder's directions need not be your factors: here they are not."
    elif dto < limit:
        key = "skewed"
        says = (
            "the axes are close to the local principal components of the decoder's output, but its "
            f"directions are not orthogonal: {parallel}."
        )
        advice = "Moving one latent may change what another encodes: look at the traversals."
    elif apart:
        key = "free"
        says = (
            f"the decoder's directions are nearly orthogonal ({largest}), but "
            "they are not the local principal components of its output."
        )
        advice = "Compare seeds before you give latents names: their axes may rotate."
    elif dto < random:
        key = "between"
        says = (
            "the axes are closer to the local principal components of the decoder's output than "
            f"chance, but not close ({largest})."
        )
        advice = (
            "Moving one latent may change a little of what another encodes: look at the traversals."
        )
    else:
        key, tone = "turned", "warning"
        says = (
            "the axes are hardly closer to the local principal components of the decoder's output "
            f"than chance, and not orthogonal: {parallel}."
        )
        advice = (
            "Do not interpret latents one by one. Train with a diagonal posterior, or rotate the "
            "used latents."
        )
        if named is not None and named.tone == "good":
            advice = "Rely on the table of factors rather than on the decoder's directions."
    turning = tuple(sorted({index for pair in near for index in pair}))
    return Verdict(
        key, tone,
        f"DtO is {dto:.2f} against {haar:.2f} for randomly rotated axes: {says}{close_by}",
        number=dto, shown=f"{dto:.2f}", threshold=limit,
        rule=f"DtO is below {limit:.2f}, half of the value for random axes, and the largest "
        f"|cosine| is below {THRESHOLDS['cosine'].value:g}"
        + (f"; a warning from {random:.2f}, four fifths of it, on" if neither else ""),
        advice=advice, section="geometry", paper="zietlow2022",
        latents=geometry.columns if key == "turned" else turning, borderline=undecided,
    )  # fmt: skip
