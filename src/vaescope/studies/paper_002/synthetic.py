"""What the studies on paper 002's two synthetic tasks share: settings, and what is measured.

The thesis gives neither batch size nor how the squared error is reduced; here it is summed over
dimensions, as its remark that beta = 1 over-prunes implies (one variance dies at beta = 2 of it).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.models import OpenModel
from vaescope.runs import Run
from vaescope.studies.measuring import counts, distortion, ds, dto, subject
from vaescope.studies.study import Measured

__all__ = ["THESIS_STEPS", "decaying", "linear", "measure", "nonlinear", "portrait"]

#: 600 epochs of 40,000 rows in batches of 64. The thesis checks every 500 batches and has shares
#: of 99.8 and 99.9%, so its trainings had a few 100,000 steps: batches of about this size.
THESIS_STEPS = 375_000

#: Pixels of a side of a portrait, and how far from 0 it reaches.
SIDE, REACH = 64, 2.5


def decaying(start: float, steps: int) -> Mapping[str, Any]:
    """Settings of a run with a learning rate that falls to 0 along a cosine."""
    rate = {"name": "cosine", "start": start, "stop": 0.0, "steps": steps}
    return {"optimiser.lr": rate, "steps": steps}


def linear(*, rows: int = 50_000, ratio: float = 2.0) -> Mapping[str, Any]:
    """Settings of the linear task."""
    return {
        "data.name": "synth-linear", "data.n": rows, "data.ratio": ratio, "latent": 2, "batch": 128,
    }  # fmt: skip


def nonlinear(*, rows: int = 50_000) -> Mapping[str, Any]:
    """Settings of the nonlinear task; studies add `data.generator_seed`."""
    return {"data.name": "synth-nonlinear", "data.n": rows, "latent": 2, "batch": 64}


def measure(run: Run) -> Measured:
    """Scores of a run, how many of its latents are used, and a portrait of its codes."""
    of = subject(run)
    row: dict[str, float | int | NDArray[np.float64] | None] = {
        "dto": dto(of), "ds": ds(of), "distortion": distortion(of),
    }  # fmt: skip
    if of.codes.stochastic:
        row["used"] = of.codes.d - counts(of)["passive"]
    if of.experiment.seed == 0 and of.codes.d == 2:
        row["portrait"] = portrait(of)
    return row


def portrait(of: OpenModel) -> NDArray[np.float64]:
    """Two latents as a picture: where codes lie, in the colours of the two sources.

    Codes of a plain autoencoder have no scale, so all are shown in deviations from their mean.
    """
    assert of.data.sources is not None
    code = of.codes.mean.astype(np.float64)
    code = (code - code.mean(axis=0)) / np.maximum(code.std(axis=0), 1e-12)
    place = np.floor((code / REACH + 1.0) * SIDE / 2.0).astype(np.int64)
    inside = ((place >= 0) & (place < SIDE)).all(axis=1)
    cell = (SIDE - 1 - place[inside, 1]) * SIDE + place[inside, 0]
    hits = np.bincount(cell, minlength=SIDE * SIDE)
    picture = np.ones((SIDE * SIDE, 3))
    seen = hits > 0
    for channel, source in ((0, 0), (2, 1)):
        shade = np.bincount(cell, of.data.sources[of.rows][inside, source], minlength=SIDE * SIDE)
        picture[seen, channel] = shade[seen] / hits[seen]
    picture[seen, 1] = 0.3
    return picture.reshape(SIDE, SIDE, 3)
