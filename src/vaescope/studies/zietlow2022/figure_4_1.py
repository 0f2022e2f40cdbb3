"""A surface whose local axes are turned, and its global ones are not. zietlow2022 Fig. 4.1, (ii) to
(iii), computed on x = (a u, b v, epsilon sin(k n.w)): nothing is trained.

With n = (1, 1) the change varies along both factors w = (u, v) at once, so that their directions
are orthogonal no more; with n = (1, 0), a scalar of one factor, they stay so. |change| <= epsilon
however steep it is, and steepness k epsilon is what turns the axes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vaescope.geometry.data_bias import data_bias
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, identities
from vaescope.studies.effects import Level
from vaescope.studies.panels import Dots, Images
from vaescope.studies.study import Cell, Computed, Measured, Scale, Study
from vaescope.types import Matrix, Single

__all__ = ["STUDY", "compute"]


#: Which factors the change depends on.
ARMS: Mapping[str, tuple[float, float]] = {
    "original": (0.0, 0.0), "both factors": (1.0, 1.0), "one factor": (1.0, 0.0),
}  # fmt: skip
EPSILON = 0.03
SIDE = 161  # values of a factor: steps that are short against the waves


def surface(w: Matrix, sides: Matrix, steepness: float, arm: str) -> Matrix:
    """x of factors in [-1, 1]."""
    change = EPSILON * np.sin(steepness / EPSILON * (w @ np.array(ARMS[arm])))
    return np.concatenate([w * sides, change[:, None]], axis=1)


def slopes(w: Matrix, sides: Matrix, steepness: float, arm: str) -> Matrix:
    """Its derivative by the factors: (row, 3, 2)."""
    n = np.array(ARMS[arm])
    wave = steepness * np.cos(steepness / EPSILON * (w @ n))
    plane = np.broadcast_to(np.diag(sides), (len(w), 2, 2))
    return np.concatenate([plane, (wave[:, None] * n)[:, None]], axis=1)


def _angles(slope: Matrix) -> Matrix:
    """Between the factors' directions and the principal axes, degrees: (row, 2)."""
    axes = np.linalg.svd(slope, full_matrices=False)[0]  # (row, 3, 2)
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    cosines = np.abs(np.einsum("rij,rik->rjk", slope / length, axes)).max(axis=2)
    return np.asarray(np.degrees(np.arccos(np.clip(cosines, 0.0, 1.0))))


def _turn(before: Matrix, after: Matrix) -> float:
    """Between the largest global principal axes, degrees."""
    first, second = (np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][0]
                     for x in (before, after))  # fmt: skip
    return float(np.degrees(np.arccos(min(1.0, abs(first @ second)))))


def compute(columns: Mapping[str, Any]) -> Measured:
    """One arm of one surface; its sides and steepness are drawn by the seed."""
    arm, draw = str(columns["arm"]), rng(int(columns["seed"]), "figure-4.1")
    sides = np.array([1.0, draw.uniform(0.6, 0.8)])
    steepness = float(draw.uniform(0.4, 0.6))
    classes = np.stack(np.meshgrid(*2 * [np.arange(SIDE)], indexing="ij"), -1).reshape(-1, 2)
    w = 2.0 * classes / (SIDE - 1) - 1.0
    before, after = (surface(w, sides, steepness, one) for one in ("original", arm))
    bias = data_bias(after, classes, points=400)
    exact = float(_angles(slopes(w, sides, steepness, arm)).mean())
    return {
        "angle": exact, "measured": float(bias.value), "miss": abs(float(bias.value) - exact),
        "largest": float(np.abs(after - before).max()), "turn": _turn(before, after),
        "surface": _picture(sides, steepness, arm),
    }  # fmt: skip


def _picture(sides: Matrix, steepness: float, arm: str, size: int = 240) -> Single:
    """The surface from above at a slant, shaded by its slope, with lines of either factor."""
    line = np.linspace(-1.0, 1.0, 4 * size)
    w = np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)
    x = surface(w, sides, steepness, arm)
    shade = 0.82 + 0.14 * np.tanh(2.0 * slopes(w, sides, steepness, arm)[:, 2].sum(axis=1))
    colour = np.repeat(shade[:, None], 3, axis=1)
    near = np.abs((w * 4.0) % 1.0 - 0.5) > 0.46  # lines at eighths of a factor's range
    colour[near[:, 0]], colour[near[:, 1]] = (0.7, 0.2, 0.2), (0.2, 0.3, 0.7)
    # What is nearer to the eye is drawn later: rows go by falling v.
    order = np.argsort(-w[:, 1], kind="stable")
    across = (0.5 + 0.45 * x[:, 0]) * (size - 1)
    down = (0.5 - 0.45 * x[:, 1] - 1.0 * x[:, 2]) * (size - 1)
    picture = np.ones((size, size, 3), dtype=np.float32)
    places = np.clip(np.round([down[order], across[order]]), 0, size - 1).astype(np.int64)
    picture[places[0], places[1]] = colour[order]
    return picture


def _work(scale: Scale) -> Computed:
    cells = tuple(
        Cell({}, {"seed": seed, "arm": arm})
        for seed in range(2 if scale == "smoke" else 12)
        for arm in ARMS
    )
    return Computed("zietlow2022-figure-4.1", cells, compute)


def _of(arm: str) -> Mapping[str, str]:
    return {"arm": arm}


STUDY = Study(
    "zietlow2022/figure-4.1",
    "A surface whose local axes are turned and whose global ones are not",
    _work,
    identities(
        Claim(
            "Factors are the local principal axes of the plane.",
            "zietlow2022 Fig. 4.1 (ii)", Level("angle", _of("original")), "below", 1e-4,
        ),
        Claim(
            "A change of 0.03 that depends on both factors turns the local axes by more than 5 "
            "degrees in the mean.",
            "zietlow2022 Fig. 4.1 (iii)", Level("angle", _of("both factors")), "above", 5.0,
        ),
        Claim(
            "No point of it moves further than 0.03.",
            "zietlow2022 eq. 4.6", Level("largest", _of("both factors")), "below", 0.03 + 1e-12,
        ),
        Claim(
            "The largest global axis turns by less than a degree.",
            "zietlow2022 section 4.2.1", Level("turn", _of("both factors")), "below", 1.0,
        ),
        Claim(
            "A change of the same size and steepness that depends on one factor turns no local "
            "axis.",
            "zietlow2022 Fig. 4.1, our control", Level("angle", _of("one factor")), "below", 1e-4,
        ),
        Claim(
            "`data_bias` measures the angle of the derivative, within a degree.",
            "zietlow2022 section 4.1, our check", Level("miss"), "below", 1.0,
        ),
    ),
    (
        Images("The surface, with lines of both factors", "surface", "arm"),
        Dots("Angle of factors to local axes, degrees", "angle", "arm"),
        Dots("Angle measured by steps, degrees", "measured", "arm"),
    ),
    ("zietlow2022 Fig 2.4, 3.1-3.3, 4.1-4.2",),
    "Surfaces x = (u, b v, 0.03 sin(k n.w)) with b from 0.6 to 0.8 and k 0.03 from 0.4 to 0.6, of "
    "161 x 161 points; angles by the derivative, and by `vs.geometry.data_bias` from steps of one "
    "factor at 400 points. Nothing is trained.",
)  # fmt: skip
