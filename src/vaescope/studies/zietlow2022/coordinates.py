"""Polar against cartesian codes of the same factors, for metrics and for downstream tasks.
zietlow2022 sections 4.3.6 and 4.4.

Codes are made by rule: two latents have a cyclic hue and an orientation as their angle and radius,
or one each. Noise of the same size is on both.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.metrics.mig import mig
from vaescope.metrics.sap import sap
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, identities
from vaescope.studies.effects import Gap, Level
from vaescope.studies.panels import Dots
from vaescope.studies.study import Computed, Measured, Scale, Study, cells

__all__ = ["STUDY", "compute", "made"]

Matrix = NDArray[np.float64]

#: Classes of hue and orientation, rows, standard deviation of the noise.
HUES, ORIENTATIONS, NOISE = 10, 15, 0.05
ROWS: Mapping[Scale, int] = {"smoke": 300, "laptop": 3000, "paper": 10_000}
#: The third has the polar latents of other images: nothing is left to read.
ARMS = ("polar", "cartesian", "polar, shuffled", "cartesian, shuffled")


def made(seed: int, rows: int, arm: str) -> Codes:
    """Codes of random hues and orientations; hue begins at an angle of the seed's."""
    draw = rng(seed, "coordinates")
    factors = np.column_stack(
        [draw.integers(HUES, size=rows), draw.integers(ORIENTATIONS, size=rows)]
    )
    hue, orientation = factors[:, 0] / HUES, factors[:, 1] / (ORIENTATIONS - 1.0)
    angle, radius = 2.0 * np.pi * (hue + draw.uniform()), 0.5 + 1.5 * orientation
    if arm.startswith("polar"):
        mean = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    else:
        mean = np.column_stack([hue, orientation])
    mean = (mean - mean.mean(axis=0)) / mean.std(axis=0)
    mean = mean + NOISE * draw.normal(size=mean.shape)
    if arm.endswith("shuffled"):
        mean = mean[draw.permutation(rows)]
    variance = np.full_like(mean, NOISE**2)
    sample = mean + NOISE * draw.normal(size=mean.shape)
    return Codes(mean, variance, sample, factors, ("hue", "orientation"), (HUES, ORIENTATIONS))


def _linear(z: Matrix, targets: Matrix) -> float:
    """Share of variance that least squares explain on the second half."""
    design, half = np.column_stack([z, np.ones(len(z))]), len(z) // 2
    solution = np.linalg.lstsq(design[:half], targets[:half], rcond=None)[0]
    left = targets[half:] - design[half:] @ solution
    return float(1.0 - (left.var(axis=0) / targets[half:].var(axis=0)).mean())


def compute(columns: Mapping[str, Any]) -> Measured:
    """Metrics, and what a linear map tells of the colour (cosine and sine of the hue) and of the
    orientation; nearest neighbours tell both."""
    codes = made(int(columns["seed"]), int(columns["rows"]), str(columns["arm"]))
    assert codes.factors is not None
    mean = codes.mean.astype(np.float64)
    angle = 2.0 * np.pi * codes.factors[:, 0] / HUES
    return {
        "mig": mig(codes, resamples=0).value, "sap": sap(codes).value,
        "colour": _linear(mean, np.column_stack([np.cos(angle), np.sin(angle)])),
        "orientation": _linear(mean, codes.factors[:, 1:].astype(np.float64)),
        "neighbours": _neighbours(codes),
    }  # fmt: skip


def _neighbours(codes: Codes) -> float:
    """Accuracy of both classes by five nearest neighbours in all latents, on the second half."""
    from sklearn.neighbors import KNeighborsClassifier

    assert codes.factors is not None
    half, found = codes.n // 2, []
    for y in codes.factors.T:
        model = KNeighborsClassifier(5).fit(codes.mean[:half], y[:half])
        found.append(float((model.predict(codes.mean[half:]) == y[half:]).mean()))
    return float(np.mean(found))


def _work(scale: Scale) -> Computed:
    seeds = {"smoke": 2, "laptop": 16, "paper": 48}[scale]
    return Computed(
        "zietlow2022-coordinates",
        tuple(
            cell
            for seed in range(seeds)
            for arm in ARMS
            for cell in cells([{"seed": seed}], arm=arm, rows=ROWS[scale])
        ),
        compute,
    )


_POLAR, _CARTESIAN = {"arm": "polar"}, {"arm": "cartesian"}
_WHERE = "zietlow2022 section 4.4"

STUDY = Study(
    "zietlow2022/coordinates",
    "Polar against cartesian codes, for metrics and for downstream tasks",
    _work,
    identities(
        Claim(
            "MIG is over 0.5 higher of cartesian codes than of polar codes of the same factors.",
            _WHERE, Gap("mig", _CARTESIAN, _POLAR), "above", 0.5,
            "most metrics favor the cartesian representation",
        ),
        Claim(
            "SAP is higher of cartesian codes too.",
            _WHERE, Gap("sap", _CARTESIAN, _POLAR), "above", 0.0,
            "most metrics favor the cartesian representation",
        ),
        Claim(
            "A linear map tells the colour (cosine and sine of the hue) better from polar codes: "
            "over 30% more of its variance.",
            _WHERE, Gap("colour", _POLAR, _CARTESIAN), "above", 0.3, "depends on the task at hand",
        ),
        Claim(
            "It tells the orientation better from cartesian ones: over 90% more of its variance.",
            _WHERE, Gap("orientation", _CARTESIAN, _POLAR), "above", 0.9,
            "depends on the task at hand",
        ),
        Claim(
            "Nearest neighbours read both classes from polar codes, in over 80% of the rows.",
            "zietlow2022 section 4.3.6", Level("neighbours", _POLAR), "above", 0.8,
            "the representations are very interpretable",
        ),
    ),
    (
        Dots("MIG", "mig", "arm"),
        Dots("SAP", "sap", "arm"),
        Dots("Colour by a linear map, share of variance", "colour", "arm"),
        Dots("Orientation by a linear map, share of variance", "orientation", "arm"),
        Dots("Both classes by nearest neighbours", "neighbours", "arm", threshold=0.8),
    ),
    ("zietlow2022 polar against cartesian codes downstream",),
    "Ten hues on a full circle and fifteen orientations in 3,000 random rows. Polar codes have the "
    "hue as their angle and the orientation as their radius, from 0.5 to 2; cartesian ones have "
    "each in a latent. Both have noise of 0.05 of a latent's standard deviation. Half of the rows "
    "trains the linear map and the neighbours, the other half is scored. With shuffled codes "
    "nothing can be told. No model is trained, so that this is about codes that are wholly one or "
    "the other, and no evidence of what a beta-VAE has.",
    "Both sentences of the thesis hold, and the difference is large. MIG falls from 0.94 to 0.03 "
    "and SAP from 0.08 to 0.02 (0.01 where nothing can be told) though the same factors are in "
    "the same two latents. What is read more easily depends on the task: a linear map tells 88% "
    "of the variance of the colour from polar codes and 32% from cartesian ones, as a circle "
    "cannot be told from a line; of the orientation it tells nothing from polar codes and all "
    "from cartesian ones. Nearest neighbours read both classes from either, in 84% and 98% of "
    "the rows, less from polar ones, as the same noise is a larger angle at a small radius.",
)  # fmt: skip
