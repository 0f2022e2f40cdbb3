"""Local against global variance: which directions does the objective put latents on? zietlow2022
section 4.2.1, Fig. 4.1.

A sheet in three dimensions has two directions of large variance and, across them, a wave of small
height and steep slope. Codes may be rotated at no cost of prior or reconstruction; what the noise
of a diagonal posterior costs depends on the rotation. Nothing is trained: the rotation with the
greatest ELBO is found, each point having the best variances there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import Level
from vaescope.studies.panels import Dots
from vaescope.studies.study import Computed, Measured, Scale, Study, cells

__all__ = ["STUDY", "Sheet", "apart", "best_turn", "compute", "principal_axes", "sheet"]

Matrix = NDArray[np.float64]

#: Stretch of the sheet, height and frequency of its wave.
STRETCH, HEIGHT, FREQUENCY = np.array([1.3, 1.0]), 0.15, 12.0
#: Standard deviations of the decoder's noise: the posterior's is far below the wave's length, or
#: above it.
PRECISE, COARSE = 0.03, 0.6
#: Points of a sheet, nodes of the quadrature along each latent, rounds of the search for variances.
POINTS, NODES, ROUNDS = 64, 12, 60
#: Rotations that are tried, degrees.
TURNS = np.arange(0.0, 90.0, 3.0)
#: Arms: height of the wave and noise.
ARMS: Mapping[str, tuple[float, float]] = {
    "wave": (HEIGHT, PRECISE), "flat": (0.0, PRECISE), "coarse": (HEIGHT, COARSE),
}  # fmt: skip


@dataclass(frozen=True)
class Sheet:
    """z to (1.3 z_1, z_2, height sin(frequency d'z + phase)), d a direction of the plane."""

    direction: Matrix
    phase: float
    height: float
    frequency: float = FREQUENCY

    def __call__(self, z: Matrix) -> Matrix:
        wave = self.height * np.sin(self.frequency * (z @ self.direction) + self.phase)
        return np.concatenate([z * STRETCH, wave[..., None]], axis=-1)

    def slopes(self, z: Matrix) -> Matrix:
        """Jacobians: (n, 3, 2)."""
        turn = self.frequency * (z @ self.direction) + self.phase
        slope = self.height * self.frequency * np.cos(turn)
        plane = np.broadcast_to(np.diag(STRETCH), (len(z), 2, 2))
        return np.concatenate([plane, (slope[:, None] * self.direction)[:, None]], axis=1)


def sheet(seed: int, height: float, frequency: float = FREQUENCY) -> Sheet:
    """Its wave runs at 25 to 65 degrees to the sheet's axes."""
    draw = rng(seed, "local-global")
    angle = np.radians(draw.uniform(25.0, 65.0))
    direction = np.array([np.cos(angle), np.sin(angle)])
    return Sheet(direction, draw.uniform(0.0, 2 * np.pi), height, frequency)


def _axes(degrees: float) -> Matrix:
    """Columns are the latents' directions in the plane."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s], [s, c]])


def cost(of: Sheet, z: Matrix, degrees: float, noise: float, rounds: int = ROUNDS) -> float:
    """What is left of the negative ELBO, mean over points: E ||g(z + noise) - g(z)||^2 / (2 s^2)
    plus sum(sigma^2 - log sigma^2) / 2, at the best sigma of each point; nats."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    grid = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    weight = np.outer(weights, weights).reshape(-1) / (2.0 * np.pi)
    axes, here = _axes(degrees), of(z)[:, None]
    columns = (of.slopes(z) @ axes) ** 2
    log_scale = -0.5 * np.log1p(columns.sum(axis=1) / noise**2)  # where the sheet is nearly flat
    first, second = np.zeros_like(log_scale), np.zeros_like(log_scale)
    least = np.full(len(z), np.inf)
    for t in range(1, rounds + 1):
        scale = np.exp(log_scale)[:, None]  # (n, 1, 2)
        apart = ((of(z[:, None] + (scale * grid) @ axes.T) - here) ** 2).sum(-1) / (2.0 * noise**2)
        value = apart @ weight + (0.5 * scale**2 - np.log(scale)).sum((1, 2))
        least = np.minimum(least, value)
        # d E f(sigma eps) / d log sigma_k = E f (eps_k^2 - 1).
        by_scale = (apart * weight) @ (grid**2 - 1.0) + scale[:, 0] ** 2 - 1.0
        first, second = 0.8 * first + 0.2 * by_scale, 0.95 * second + 0.05 * by_scale**2
        step = (first / (1.0 - 0.8**t)) / (np.sqrt(second / (1.0 - 0.95**t)) + 1e-8)
        log_scale = log_scale - 0.1 * (1.0 - t / (rounds + 1.0)) * step
    return float(least.mean())


def best_turn(of: Sheet, z: Matrix, noise: float, rounds: int = ROUNDS) -> tuple[float, float]:
    """The rotation with the least cost, degrees from 0 to 90, and what the worst one costs more."""
    costs = np.array([cost(of, z, float(turn), noise, rounds) for turn in TURNS])
    return float(TURNS[costs.argmin()]), float(np.ptp(costs))


def apart(a: float, b: float) -> float:
    """Degrees between two pairs of axes: 45 at most."""
    return float(min((a - b) % 90.0, (b - a) % 90.0))


def _angle(matrix: Matrix) -> float:
    """Of the first axis of a symmetric matrix of two by two, modulo 90 degrees."""
    return float(0.5 * np.degrees(np.arctan2(2.0 * matrix[0, 1], matrix[0, 0] - matrix[1, 1])))


def principal_axes(of: Sheet, z: Matrix) -> tuple[float, float]:
    """Degrees of the local axes of a sheet, of the mean of J'J, and of the global ones, of the best
    linear map from z to x."""
    slopes, x = of.slopes(z), of(z)
    linear = (x - x.mean(axis=0)).T @ z / len(z)
    return _angle((slopes.transpose(0, 2, 1) @ slopes).mean(axis=0)), _angle(linear.T @ linear)


def compute(columns: Mapping[str, Any]) -> Measured:
    """Degrees from the best rotation to the local and to the global principal axes."""
    height, noise = ARMS[str(columns["arm"])]
    of = sheet(int(columns["seed"]), height)
    draw = rng(int(columns["seed"]), "local-global-points")
    z, many = draw.normal(size=(POINTS, 2)), draw.normal(size=(20_000, 2))
    x = of(many)
    local, globally = principal_axes(of, many)
    turn, price = best_turn(of, z, noise, int(columns["rounds"]))
    off_local, off_global = apart(turn, local), apart(turn, globally)
    return {
        "off_local": off_local, "off_global": off_global, "nearer_local": off_global - off_local,
        "between": apart(local, globally), "price": price,
        "wave_share": float(x[:, 2].var() / x.var(axis=0).sum()),
    }  # fmt: skip


def _work(scale: Scale) -> Computed:
    seeds = {"smoke": 2, "laptop": 16, "paper": 48}[scale]
    rounds = 4 if scale == "smoke" else ROUNDS
    return Computed(
        "zietlow2022-local-global",
        tuple(
            cell
            for seed in range(seeds)
            for arm in ARMS
            for cell in cells([{"seed": seed}], arm=arm, rounds=rounds)
        ),
        compute,
    )


def _at(arm: str) -> dict[str, str]:
    return {"arm": arm}


STUDY = Study(
    "zietlow2022/local-global",
    "Local against global variance: which axes has the greatest ELBO",
    _work,
    (
        Claim(
            "Where a wave with less than 2% of the variance sets the local directions, the ELBO is "
            "greatest nearer to them than to the global ones.",
            "zietlow2022 section 4.2.1", Level("nearer_local", _at("wave")), "above", 0.0,
            "said, and drawn in Fig. 4.1",
            also=(Test(Level("wave_share", _at("wave")), "below", 0.02),),
            primary=True,
            quote="local changes in the data distribution can potentially lead to a disruptive "
            "change in the latent alignments without inducing large global variance",
            control=Control("noise above the wave's length", Level("nearer_local", _at("coarse"))),
        ),
        Claim(
            "It is within 5 degrees of the local directions.",
            "zietlow2022 section 4.2.1", Level("off_local", _at("wave")), "below", 5.0,
            control=Control("noise above the wave's length", Level("off_local", _at("coarse"))),
        ),
        Claim(
            "Without the wave it is within 5 degrees of the global ones.",
            "zietlow2022 chapter 3", Level("off_global", _at("flat")), "below", 5.0,
            control=Control("with the wave", Level("off_global", _at("wave"))),
        ),
        Claim(
            "With the wave, and noise above its length, it is within 5 degrees of the global ones: "
            "local means within the posterior's noise.",
            "zietlow2022 section 4.2.1", Level("off_global", _at("coarse")), "below", 5.0, own=True,
            control=Control("noise far below it", Level("off_global", _at("wave"))),
        ),
    ),
    (
        Dots("Degrees to the local principal axes", "off_local", "arm", threshold=5.0),
        Dots("Degrees to the global principal axes", "off_global", "arm", threshold=5.0),
        Dots("Price of the worst rotation, nats", "price", "arm"),
        Dots("Share of the variance that is the wave's", "wave_share", "arm"),
    ),
    ("zietlow2022 local against global variance",),
    "A sheet stretched by 1.3 and 1 under codes from N(0, I), with a wave across it of height 0.15 "
    "and frequency 12, so 0.4% of the variance and a slope of 1.8, in a direction of 25 to 65 "
    "degrees for each seed. Codes and decoder may be turned together: prior and means stay, and "
    "the noise of a diagonal posterior is all that tells rotations apart. For each of 30 rotations "
    "and 64 points the variances with the greatest ELBO are searched, expectations by 12 x 12 "
    "quadrature nodes; nothing is trained, so no network's own preference enters. Local axes are "
    "those of the mean of J'J over the sheet, global ones those of its best linear map. The "
    "decoder's noise has a standard deviation of 0.03, and 0.6 in the control, where the "
    "posterior's noise spans the wave. Three exploratory seeds (100 to 102), which do not vote, "
    "were looked at before. Kept apart: what a decoder can fit, and how long it takes to turn.",
    "The thesis's thought holds in every seed: with a wave that has 0.4% of the variance the "
    "best rotation is 1.3 degrees (at most 4.0) off the local axes and 33 off the global ones, "
    "which are 33 degrees apart; without it, 1.3 off the global ones, which is what 20,000 rows "
    "leave open. The wrong rotation costs 0.08 nats (0.04 to 0.13), the same order as on the "
    "flat sheet (0.03). What is local depends on the posterior: where its noise spans the wave, "
    "the best rotation is 1.9 degrees off the global axes (at most 5.0) though the wave is there, "
    "as the slopes that count are means over that noise. So a change of the data takes the axes "
    "away only from models that are more precise than it is long.",
    at_optimum=True,
)  # fmt: skip
