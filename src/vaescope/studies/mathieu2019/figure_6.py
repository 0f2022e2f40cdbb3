"""Figures 5 and 6 of mathieu2019: the densities of the Student-t and the mixture prior."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch

from vaescope.distributions import Reparameterised
from vaescope.geometry.rotation import random_rotations
from vaescope.priors import MixturePrior, StandardNormal, StudentTPrior
from vaescope.priors.mixture import axis_means
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, identities
from vaescope.studies.effects import Gap, Level, Trend
from vaescope.studies.panels import Curves, Images
from vaescope.studies.study import Computed, Measured, Scale, Study, cells
from vaescope.sweeps.grid import product
from vaescope.types import Floats

__all__ = ["STUDY"]

#: The paper draws 3, 5 and 100 degrees of freedom; 10,000 stands for its limit.
DFS = (3.0, 5.0, 100.0, 10_000.0)
#: Samples with which `at` is compared with the density.
SAMPLES = 20_000
PIXELS = 60


def _prior(columns: Mapping[str, Any]) -> Reparameterised:
    mixture = columns["prior"] == "mixture"
    prior = MixturePrior(axis_means(2)) if mixture else StudentTPrior(2, float(columns["df"]))
    return cast(Reparameterised, prior.double()())


def _log_density(p: Reparameterised, z: Floats) -> Floats:
    return p.log_prob(torch.from_numpy(z.reshape(-1, 2))).numpy().reshape(z.shape[:-1])


def _plane(points: int) -> tuple[Floats, Floats]:
    """A grid over the whole plane, dense about the origin, and the area that each point has:
    the trapezoid rule after z = sinh(u), which takes heavy tails in."""
    u = np.linspace(-14.0, 14.0, points)
    z, width = np.sinh(u), np.cosh(u) * (u[1] - u[0])
    return np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1), np.outer(width, width)


def modes(log_density: Floats) -> int:
    """Points of a grid that are higher than their eight neighbours."""
    inner = log_density[1:-1, 1:-1]
    n, m = log_density.shape
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    around = [log_density[i : n - 2 + i, j : m - 2 + j] for i, j in shifts]
    return int((inner > np.max(around, axis=0)).sum())


def compute(columns: Mapping[str, Any]) -> Measured:
    """Mass, tails, distance from the normal, and what a random rotation changes."""
    seed, p = int(columns["seed"]), _prior(columns)
    grid, area = _plane(801)
    density = np.exp(_log_density(p, grid))
    normal = np.exp(_log_density(StandardNormal(2).double()(), grid))
    stream = rng(seed, "figures-5-6")
    noise = stream.standard_normal((SAMPLES, 2))
    sample = p.at(torch.from_numpy(noise)).numpy()
    circle = 3.0 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    turned = circle @ random_rotations(2, 1, seed=seed)[0].T
    far = np.abs(grid[:, :, 0]) > 3.0
    axis = np.linspace(-3.0, 3.0, PIXELS)
    square = np.stack(np.meshgrid(axis, axis[::-1]), axis=-1)
    height = np.exp(_log_density(p, square))
    fine = np.linspace(-2.0, 2.0, 401)
    found = modes(_log_density(p, np.stack(np.meshgrid(fine, fine, indexing="ij"), axis=-1)))
    return {
        "mass_error": abs(float((density * area).sum()) - 1.0),
        "distance_to_normal": 0.5 * float((np.abs(density - normal) * area).sum()),
        "tail": float((density * area)[far].sum()),
        "tail_of_samples": float((np.abs(sample[:, 0]) > 3.0).mean()),
        "rotation": float(np.abs(_log_density(p, turned) - _log_density(p, circle)).mean()),
        "modes_off_four": abs(found - 4),
        "density": np.asarray(height / height.max(), dtype=np.float32),
    }


def work(scale: Scale) -> Computed:
    seeds = range({"smoke": 2, "laptop": 12, "paper": 12}[scale])
    student = (
        cell
        for df in DFS
        for cell in cells(
            product({"seed": seeds}), prior="student-t", df=df, name=f"Student-t, {df:g}"
        )
    )
    mixture = cells(product({"seed": seeds}), prior="mixture", df=None, name="mixture")
    return Computed("mathieu2019-figure-6", (*student, *mixture), compute)


_T, _MIXTURE = {"prior": "student-t"}, {"prior": "mixture"}

STUDY = Study(
    id="mathieu2019/figure-6",
    title="The densities of the Student-t and mixture priors (figures 5 and 6)",
    work=work,
    claims=identities(
        Claim(
            "the factored Student-t densities are densities",
            "mathieu2019 Fig. 5",
            Level("mass_error", _T),
            "below",
            1e-5,
            paper="exact",
        ),
        Claim(
            "p_nu tends to N(0, I) as nu grows",
            "mathieu2019 Fig. 5",
            Trend("distance_to_normal", "df", _T),
            "below",
            -0.5,
            paper="said, as a limit",
        ),
        Claim(
            "at 10,000 degrees of freedom it is N(0, I) to a thousandth",
            "mathieu2019 Fig. 5",
            Level("distance_to_normal", {"df": 10_000.0}),
            "below",
            1e-3,
            paper="said, as a limit",
        ),
        Claim(
            "a product of Student-t's is not rotationally symmetric",
            "mathieu2019 Fig. 5, section 6.1",
            Level("rotation", {"df": 3.0}),
            "above",
            0.01,
            paper="shown as contours",
        ),
        Claim(
            "it is the further from it the fewer degrees of freedom it has",
            "mathieu2019 Fig. 5, section 6.1",
            Trend("rotation", "df", _T),
            "below",
            -0.5,
            paper="shown as contours",
        ),
        Claim(
            "fewer degrees of freedom have heavier tails: mass beyond 3, at 3 against 100",
            "mathieu2019 Fig. 5, section 6.1",
            Gap("tail", {"df": 3.0}, {"df": 100.0}),
            "above",
            0.04,
            paper="shown as contours",
        ),
        Claim(
            "the mixture prior is a density",
            "mathieu2019 Fig. 6, eq. (9)",
            Level("mass_error", _MIXTURE),
            "below",
            1e-5,
            paper="exact",
        ),
        Claim(
            "it has four modes",
            "mathieu2019 Fig. 6",
            Level("modes_off_four", _MIXTURE),
            "below",
            0.5,
            paper="4",
        ),
    ),
    panels=(
        Images("log p over [-3, 3] x [-3, 3]", "density", "name", contours=True),
        Curves("Total variation from N(0, I)", "distance_to_normal", "df", where=_T, log=True),
        Curves(
            "Change of log p under a rotation at radius 3", "rotation", "df", where=_T, log=True
        ),
    ),
    covers=("mathieu2019 Fig 5-6",),
    about=(
        "Computed from `vaescope.priors`: masses on a grid over the whole plane, modes on one of "
        "401 x 401. A seed draws the rotation and the samples. Mixture means are (0, +-1) and "
        "(+-1, 0), as in the released code: the text of the appendix has lost the minus "
        "(docs/errata.md); its variance is 0.03."
    ),
)
