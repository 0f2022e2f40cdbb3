"""What the studies on zietlow2022's two synthetic tasks share: settings, and what is measured.

The thesis gives neither batch size nor how the squared error is reduced; here it is summed over
dimensions, as its remark that beta = 1 over-prunes implies (one variance dies at beta = 2 of it).
Where there are enough rows, models train on 80% of them and are scored on another 10%.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vaescope.models import OpenModel
from vaescope.runs import Run
from vaescope.studies.measuring import counts, distortion, ds, dto, subject
from vaescope.studies.study import Measured, Scale
from vaescope.types import Double

__all__ = [
    "BETA",
    "SPLIT",
    "THESIS_BETA",
    "THESIS_STEPS",
    "decaying",
    "linear",
    "measure",
    "nonlinear",
    "portrait",
    "thesis",
    "training",
]

#: 600 epochs of 40,000 rows in batches of 64. The thesis checks every 500 batches and has shares
#: of 99.8 and 99.9%, so its trainings had a few 100,000 steps: batches of about this size.
THESIS_STEPS = 375_000
#: Its beta of each task (Table 3.1), and its split (section 3.3.1).
THESIS_BETA = {"linear": 1e-4, "nonlinear": 1e-3}
SPLIT = {"split.shares": [0.8, 0.1, 0.1]}
#: On the plateau of each task (figure 3.7). At 0.3 ten of 24 nonlinear models of seeds below 1000
#: lost a latent, and with it their DtO; at 0.03 three.
BETA = {"linear": 0.05, "nonlinear": 0.03}
#: Rows of the thesis' data. With fewer, for a try, a tenth is too little to be scored.
ROWS = 50_000

#: Pixels of a side of a portrait, and how far from 0 it reaches.
SIDE, REACH = 64, 2.5
#: Restarts that are portrayed, as in figure 3.5.
RESTARTS = 4


def decaying(start: float, steps: int) -> Mapping[str, Any]:
    """Settings of a run with a learning rate that falls to 0 along a cosine."""
    rate = {"name": "cosine", "start": start, "stop": 0.0, "steps": steps}
    return {"optimiser.lr": rate, "steps": steps}


def _split(rows: int) -> Mapping[str, Any]:
    return SPLIT if rows >= ROWS else {}


def linear(*, rows: int = ROWS, ratio: float = 2.0) -> Mapping[str, Any]:
    """Settings of the linear task."""
    return {
        "data.name": "synth-linear", "data.n": rows, "data.ratio": ratio, "latent": 2, "batch": 128,
        **_split(rows),
    }  # fmt: skip


def nonlinear(*, rows: int = ROWS) -> Mapping[str, Any]:
    """Settings of the nonlinear task, with larger variances than the thesis' (see
    `data.synthetic.synth_nonlinear`); studies add `data.generator_seed`."""
    return {
        "data.name": "synth-nonlinear", "data.n": rows, "latent": 2, "batch": 64, **_split(rows),
    }  # fmt: skip


def thesis(task: str, *, rows: int = ROWS) -> Mapping[str, Any]:
    """Settings of a task as Table 3.1 and section 3.3.1 have them; batch 64 is ours."""
    if task == "linear":
        own: Mapping[str, Any] = {"data.ratio": 2.0, "net.name": "linear"}
    else:
        own = {
            "data.initialisation": "fan-in", "net.name": "mlp", "net.encoder": [60, 40, 20],
            "net.decoder": [60, 40, 20], "net.encoder_activation": "tanh",
            "net.decoder_activation": "tanh",
        }  # fmt: skip
    return {
        "data.name": f"synth-{task}", "data.n": rows, **own, "latent": 2, "optimiser.lr": 1e-3,
        "batch": 64, "steps": THESIS_STEPS, **_split(rows),
    }  # fmt: skip


def training(task: str, scale: Scale) -> Mapping[str, Any]:
    """Settings of a task under a falling learning rate; at the paper's scale the thesis' own."""
    if scale == "paper":
        return thesis(task)
    rows = 500 if scale == "smoke" else 50_000
    if task == "linear":
        return {**linear(rows=rows), **decaying(1e-2, 10 if scale == "smoke" else 10_000)}
    return {**nonlinear(rows=rows), **decaying(5e-3, 3 if scale == "smoke" else 5000)}


def measure(run: Run) -> Measured:
    """Scores of a run, how many of its latents are used, and a portrait of its codes."""
    of = subject(run)
    row: dict[str, float | int | Double | None] = {
        "dto": dto(of), "ds": ds(of), "distortion": distortion(of),
    }  # fmt: skip
    if of.codes.stochastic:
        row["used"] = of.codes.d - counts(of)["passive"]
    if of.experiment.seed % 1000 < RESTARTS and of.codes.d == 2:
        row["portrait"] = portrait(of)
    return row


def portrait(of: OpenModel) -> Double:
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
