"""dSprites, re-rendered from geometry fitted to real frames. Matthey et al. 2017,
https://github.com/deepmind/dsprites-dataset.

Always called "re-rendered" where numbers are shown: single edge pixels differ from the official
file in some images.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset, grid_choice
from vaescope.data.dsprites_render import render
from vaescope.data.factors import Factors
from vaescope.data.stores import Bits

__all__ = ["CARD", "FACTORS", "dsprites"]

FACTORS = Factors(
    ("shape", "scale", "orientation", "x", "y"),
    (
        np.array(["square", "ellipse", "heart"]),
        np.linspace(0.5, 1.0, 6),
        np.linspace(0.0, 2.0 * np.pi, 40),
        np.linspace(0.0, 1.0, 32),
        np.linspace(0.0, 1.0, 32),
    ),
)

CARD = Card(
    "dsprites",
    (1, 64, 64),
    FACTORS.n,
    "Apache-2.0",
    "dsprites",
    dict(zip(FACTORS.names, FACTORS.sizes, strict=True)),
    notes="re-rendered from geometry fitted to 258 real frames; drawn at any size",
)


def dsprites(*, size: int = 64, grid: Mapping[str, Sequence[int]] | None = None) -> Dataset:
    """Binary images drawn at `size` pixels: the whole grid of 737,280 or the classes in `grid`."""
    keep = grid_choice(FACTORS.names, FACTORS.sizes, grid or {})
    packed = render(*(chosen.tolist() for chosen in keep), size=size)
    return Dataset(CARD, Bits(packed, (1, size, size)), FACTORS.restrict(keep))
