"""Does a larger beta draw codes to the modes of the prior? mathieu2019 section 4, Theorem 1.

The beta-VAE's target is an ELBO under the annealed prior p^beta / F, and an entropy bonus. Here one
latent has a prior of three modes, each datum a Gaussian posterior of its own, and the decoder is
the best one there is, so that what is seen belongs to the objective and not to a network.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Control
from vaescope.studies.effects import Level, Ratio
from vaescope.studies.panels import Curves
from vaescope.studies.study import Computed, Measured, Scale, Study, cells
from vaescope.tables import Value

__all__ = ["STUDY", "ScalarPosteriors", "compute", "solve"]

Vector = NDArray[np.float64]

#: Modes of the prior and the variance around each.
MODES, VARIANCE = np.array([-2.0, 0.0, 2.0]), 0.09
#: Data on a line, the decoder's variance, places at which densities are taken, steps of the search.
POINTS, GAMMA, PLACES, STEPS = 24, 0.01, 361, 1500
BETAS = (1.0, 3.0, 10.0)
#: Weights of the prior's log density and of the entropy, in each arm.
ARMS: Mapping[str, tuple[bool, bool]] = {
    "beta-vae": (True, True), "annealed prior": (True, False), "entropy bonus": (False, True),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ScalarPosteriors:
    """Posteriors of the data, and what they are worth."""

    mean: Vector
    scale: Vector
    loss: float


def log_prior(z: Vector) -> Vector:
    parts = -0.5 * (z[:, None] - MODES) ** 2 / VARIANCE - 0.5 * np.log(2.0 * np.pi * VARIANCE)
    return np.asarray(np.logaddexp.reduce(parts, axis=1) - np.log(len(MODES)))


def _adam(gradient: Any, start: Vector, steps: int) -> Vector:
    """Adam with a cosine's rate from 0.02 to 0."""
    x, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for t in range(1, steps + 1):
        g = gradient(x)
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
        rate = 0.01 * (1.0 + np.cos(np.pi * t / steps))
        x -= rate * (first / (1.0 - 0.9**t)) / (np.sqrt(second / (1.0 - 0.999**t)) + 1e-8)
    return x


def solve(
    x: Vector, start: Vector, prior: float, entropy: float, steps: int = STEPS
) -> ScalarPosteriors:
    """The posteriors with the least expected squared error over 2 gamma, less `prior` times the
    prior's log density, less `entropy` times their entropy; the decoder follows them."""
    z = np.linspace(-6.0, 6.0, PLACES)
    density = log_prior(z)
    losses = np.zeros(1)

    def gradient(both: Vector) -> Vector:
        mean, log_scale = both
        scale = np.exp(log_scale)[:, None]
        unit = (z - mean[:, None]) / scale
        q = np.exp(-0.5 * unit**2)
        q /= q.sum(axis=1, keepdims=True)
        decoded = (x[:, None] * q).sum(axis=0) / (q.sum(axis=0) + 1e-12)
        cost = (x[:, None] - decoded) ** 2 / (2.0 * GAMMA) - prior * density
        losses[0] = float((q * cost).sum(1).mean()) - entropy * float(log_scale.mean())
        # The decoder is at its best, so that its own change adds nothing.
        by_mean = (q * cost * unit / scale).sum(axis=1)
        by_scale = (q * cost * (unit**2 - (q * unit**2).sum(1, keepdims=True))).sum(1) - entropy
        return np.stack([by_mean, by_scale])

    found = _adam(gradient, np.stack([start, np.full(len(x), np.log(0.3))]), steps)
    gradient(found)
    return ScalarPosteriors(found[0], np.exp(found[1]), float(losses[0]))


def compute(columns: Mapping[str, Any]) -> Measured:
    """How far codes lie from the modes, in units of the prior's own distance, and how many modes
    have data."""
    draw = rng(int(columns["seed"]), "towards-modes")
    x = np.sort(draw.uniform(size=POINTS))
    annealed, rewarded = ARMS[str(columns["arm"])]
    beta = float(columns["beta"])
    found = solve(
        x, draw.uniform(-2.5, 2.5, size=POINTS), beta if annealed else 1.0,
        beta if rewarded else 1.0, int(columns["steps"]),
    )  # fmt: skip
    z = found.mean[:, None] + found.scale[:, None] * np.linspace(-2.5, 2.5, 51)
    weight = np.exp(-0.5 * np.linspace(-2.5, 2.5, 51) ** 2)
    apart = np.abs(z[..., None] - MODES)
    nearest = (apart.min(-1) ** 2 * weight).sum(1) / weight.sum()
    home = np.bincount(np.abs(found.mean[:, None] - MODES).argmin(1), minlength=len(MODES))
    means = np.abs(found.mean[:, None] - MODES).min(1)
    return {
        "off": float(nearest.mean()) / VARIANCE, "means_off": float((means**2).mean()) / VARIANCE,
        "scale": float(found.scale.mean()), "modes": float((home >= 0.05 * POINTS).sum()),
        "loss": found.loss,
    }  # fmt: skip


def _work(scale: Scale) -> Computed:
    seeds = {"smoke": 2, "laptop": 16, "paper": 48}[scale]
    steps = 50 if scale == "smoke" else STEPS
    return Computed(
        "mathieu2019-towards-modes",
        tuple(
            cell
            for seed in range(seeds)
            for arm in ARMS
            for beta in BETAS
            for cell in cells([{"seed": seed}], arm=arm, beta=beta, steps=steps)
        ),
        compute,
    )


def _at(arm: str, beta: float) -> Mapping[str, Value]:
    return {"arm": arm, "beta": beta}


def _growth(arm: str) -> Ratio:
    return Ratio("off", _at(arm, BETAS[-1]), _at(arm, BETAS[0]))


_ENTROPY = Control("the entropy bonus without the annealed prior", _growth("entropy bonus"))

STUDY = Study(
    "mathieu2019/towards-modes",
    "Annealing draws codes to the modes of the prior",
    _work,
    (
        Claim(
            "With the annealed prior alone codes lie nearer to its modes at beta 10 than at beta "
            "1: less than half as far, in mean squares.",
            "mathieu2019 section 4, Theorem 1", _growth("annealed prior"), "below", 0.5,
            "collapse towards the modes", primary=True,
            quote="larger values of $\\beta$ cause the effective latent space to collapse towards "
            "the modes of the prior",
            control=_ENTROPY,
        ),
        Claim(
            "In the beta-VAE, which has the entropy bonus too, codes stay as far from the modes: "
            "within 20%.",
            "mathieu2019 section 4", _growth("beta-vae"), "within", 1.0,
            "the scaling matches that of the prior", margin=0.2,
            control=Control("the annealed prior alone", _growth("annealed prior")),
        ),
        Claim(
            "Its posterior means do collapse onto the modes at beta 10: in mean squares they are "
            "less than 5% as far off as the prior.",
            "mathieu2019 section 4", Level("means_off", _at("beta-vae", BETAS[-1])), "below",
            0.05, "collapse towards the modes",
            control=Control("beta 1", Level("means_off", _at("beta-vae", BETAS[0]))),
        ),
    ),
    (
        Curves("Distance of codes from modes, the prior's is 1", "off", "beta", "arm", log=True),
        Curves("Distance of posterior means", "means_off", "beta", "arm", log=True),
        Curves("Posterior standard deviation", "scale", "beta", "arm", log=True),
        Curves("Modes that have data", "modes", "beta", "arm", log=True),
    ),
    ("mathieu2019 annealing towards modes",),
    "Theorem 1 splits the beta-VAE's objective into an ELBO with the prior p^beta / F and an "
    "entropy bonus; here each is tried alone and both together. One latent; a prior of three equal "
    "Gaussians at -2, 0 and 2 of variance 0.09, 6.7 of its standard deviations apart (figure 3 has "
    "8 between neighbours); 24 data on a line, a decoder's variance of 0.01. Each datum has a "
    "Gaussian posterior of its own, found by 1,500 steps on expectations over 361 places, and the "
    "decoder is the best one for them, so that no network's limits enter. Three exploratory seeds "
    "(100 to 102), which do not vote, chose the distance of the modes: at 5 standard deviations "
    "one wide posterior over all three is cheaper than any mode. A seed draws data and start.",
    "Annealing does what the paper says, and is undone. Under the annealed prior alone codes are "
    "as far from the modes as the prior at beta 1 (0.98 of it, in mean squares), 0.33 at 3 and "
    "0.099 at 10: close to 1 / beta, the variance of each mode of p^beta. With the entropy bonus "
    "alone they leave them (2.9 at 3, 7.6 in the median at 10, where in three seeds posteriors "
    "left the places that the search knows: their numbers are beyond all bounds, on the same "
    "side). Together, which is the beta-VAE, codes stay where the prior has them: 0.98, 1.05 and "
    "1.00, so that no beta moves them towards the modes as a whole. Its posterior means do: they "
    "are 0.77 as far off as the prior at beta 1, 0.51 at 3 and 0.001 in the median at 10, each "
    "posterior then being a mode (standard deviation 0.30); in two of 16 seeds a few lie between "
    "two modes, which leaves that claim undecided. All three modes keep data in every seed.",
    at_optimum=True,
)  # fmt: skip
