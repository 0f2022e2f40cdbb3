"""What the decoders of a comparison make of the same images and of the same latents."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from vaescope.codes import central
from vaescope.comparing.matching import Match
from vaescope.models import OpenModel
from vaescope.traversals import Decode, reconstruct, traverse
from vaescope.types import Floats

__all__ = ["ComparedPictures", "show"]

EXAMPLES = 12
STEPS = 9


@dataclass(frozen=True, eq=False)
class ComparedPictures:
    """Pictures of the first runs. Mirrored latents run backwards, so that all rows agree."""

    runs: int  # so many of the runs
    originals: Floats  # (examples, *event)
    outputs: Floats  # (runs, examples, *event)
    values: tuple[float, ...]  # along a row, of the match's first latent
    strips: tuple[tuple[Floats | None, ...], ...]  # match, run: (steps, *event)


def show(opened: Sequence[OpenModel], matches: Sequence[Match], *, most: int) -> ComparedPictures:
    """Of the first `most` runs. All traversals start from the same image, that of a typical code of
    the first run."""
    rows = opened[0].rows
    few = np.unique(np.linspace(0, len(rows) - 1, EXAMPLES + 2).astype(np.int64)[1:-1])
    originals = opened[0].data.rows(rows[few])
    typical = central(opened[0].codes.mean)
    outputs, moved = [], []
    for own in opened[:most]:
        decode = _means(own)
        each = _means(own, own.u(rows[few]))
        outputs.append(reconstruct(each, own.codes.mean[few], originals, rows[few], ()).outputs)
        moved.append(traverse(decode, own.codes.mean[typical], steps=STEPS))
    strips = tuple(
        tuple(
            None if found is None or own.outputs is None
            else own.outputs[found.latent][:: found.sign]
            for found, own in zip(match, moved, strict=False)
        )
        for match in matches
    )  # fmt: skip
    values = tuple(float(value) for value in moved[0].values)
    return ComparedPictures(len(moved), originals, np.stack(outputs), values, strips)


def _means(model: OpenModel, u: Tensor | None = None) -> Decode:
    """Codes -> means, of rows that have this u each; without it, as the decoder has them."""
    if u is None:
        return lambda z: model.decode_codes(z.to(model.device)).mean
    return lambda z: model.decode(z.to(model.device), u).mean
