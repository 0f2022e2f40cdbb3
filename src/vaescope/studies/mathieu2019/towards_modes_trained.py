"""Do codes of trained beta-VAEs collapse onto the modes of their prior? mathieu2019 section 4,
Theorem 1; `towards_modes.py` has the objective alone.
"""

from typing import Any

import numpy as np

from vaescope.priors.mixture import GaussianMixture
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Control
from vaescope.studies.effects import Level, Ratio, Where
from vaescope.studies.mathieu2019.figure_3 import covered
from vaescope.studies.measuring import distortion, subject
from vaescope.studies.panels import Curves
from vaescope.studies.study import Measured, Scale, Study, Trained, cells

__all__ = ["STUDY", "measure"]

BETAS = (0.3, 1.0, 3.0, 10.0)
#: Samples of each posterior.
DRAWS = 20


def _work(scale: Scale) -> Trained:
    seeds, steps = {"smoke": (1, 20), "laptop": (16, 3000), "paper": (20, 3000)}[scale]
    fixed: dict[str, Any] = {"preset": "pinwheel", "objective.name": "beta-vae", "steps": steps}
    raised = {"name": "linear", "start": 1.0, "stop": BETAS[-1], "steps": steps // 2}
    betas: dict[tuple[str, float], Any] = {("constant", beta): beta for beta in BETAS}
    betas["raised", BETAS[-1]] = raised
    return Trained(
        "mathieu2019-towards-modes-trained",
        tuple(
            cell
            for (arm, beta), weight in betas.items()
            for cell in cells(
                ({**fixed, "objective.beta": weight, "seed": seed} for seed in range(seeds)),
                arm=arm, beta=beta,
            )
        ),
        measure,
    )  # fmt: skip


def measure(run: Run) -> Measured:
    """How far samples and means of posteriors lie from the modes, in units of the prior's own
    distance, and how many modes have data."""
    of = subject(run)
    prior = of.vae.prior()
    assert isinstance(prior, GaussianMixture)
    modes = prior.loc.detach().double().numpy()
    variance = float(prior.log_variance[0, 0].exp())
    mean = of.codes.mean.astype(np.float64)
    scale = np.sqrt(of.codes.variance.astype(np.float64))
    draws = mean + scale * rng(0, "towards-modes").standard_normal((DRAWS, *mean.shape))
    z = draws.reshape(-1, mean.shape[1])

    def off(points: Any) -> float:
        apart = np.square(points[:, None, :] - modes).sum(axis=2).min(axis=1)
        return float(apart.mean() / (mean.shape[1] * variance))

    home = np.square(mean[:, None, :] - modes).sum(axis=2).argmin(axis=1)
    return {
        "off": off(z), "means_off": off(mean), "scale": float(scale.mean() / np.sqrt(variance)),
        "modes": float((np.bincount(home, minlength=len(modes)) >= 0.05 * len(home)).sum()),
        "covered": float(covered(z, modes, variance**0.5)), "distortion": distortion(of),
    }  # fmt: skip


_MOST: Where = {"arm": "constant", "beta": BETAS[-1]}
_ONE: Where = {"arm": "constant", "beta": 1.0}
_RAISED: Where = {"arm": "raised", "beta": BETAS[-1]}
_WHERE = "mathieu2019 section 4"

STUDY = Study(
    "mathieu2019/towards-modes-trained",
    "Do codes of trained beta-VAEs collapse onto the modes of their prior?",
    _work,
    (
        Claim(
            "Posterior means of a beta-VAE lie nearer to the modes of its prior at beta 10 than at "
            "beta 1: less than half as far, in mean squares.",
            f"{_WHERE}, Theorem 1", Ratio("means_off", _MOST, _ONE), "below", 0.5,
            "collapse towards the modes", primary=True,
            quote="larger values of $\\beta$ cause the effective latent space to collapse towards "
            "the modes of the prior",
            control=Control("samples of the same posteriors", Ratio("off", _MOST, _ONE)),
            remark="The paper says this of the annealed prior, one of two effects of beta. Of "
            "trained models section 6.2 says that a large beta makes q(z) miss the prior, which "
            "is what is seen.",
        ),
        Claim(
            "So do they where beta is raised from 1 to 10 during training.",
            f"{_WHERE}, Theorem 1", Ratio("means_off", _RAISED, _ONE), "below", 0.5,
            "collapse towards the modes",
            control=Control("samples of the same posteriors", Ratio("off", _RAISED, _ONE)),
        ),
        Claim(
            "Samples do not: at beta 10 they are as far from the modes as the prior, within 20%.",
            _WHERE, Level("off", _MOST), "within", 1.0, "the scaling matches that of the prior",
            margin=0.2,
            control=Control("means of the same posteriors", Level("means_off", _MOST)),
            remark="The paper says this of priors with one mode.",
        ),
        Claim(
            "Where beta is 10 from the start codes end between the modes: samples cover none.",
            _WHERE, Level("covered", _MOST), "below", 0.5, own=True,
            control=Control("beta raised from 1 to 10", Level("covered", _RAISED)),
        ),
    ),
    (
        Curves("Distance of samples from modes, the prior's is 1", "off", "beta", "arm", log=True),
        Curves("Distance of posterior means", "means_off", "beta", "arm", log=True),
        Curves("Posterior deviation over a mode's", "scale", "beta", "arm", log=True),
        Curves("Modes that have data", "modes", "beta", "arm", log=True),
        Curves("Modes that samples cover", "covered", "beta", "arm", log=True),
        Curves("Distortion, nats", "distortion", "beta", "arm", log=True),
    ),
    ("mathieu2019 annealing towards modes",),
    "The pinwheel of figure 3 (400 points of four arms, a mixture prior of four modes of variance "
    "0.03 in two latents, MLPs of 100, a likelihood whose deviation is learnt for each point) with "
    "the beta-VAE's objective at four betas, and at one that rises from 1 to 10 in the first half; "
    "3,000 steps where figure 3 has 500. Distances are mean squares to the nearest mode "
    "over those of the prior's own draws from their mode. One exploratory seed (100) of the four, "
    "which does not vote, had its codes between the modes from beta 3 on, which is why the rising "
    "beta was added.",
    "Trained codes collapse, but between the modes and not onto them. From beta 3 on posteriors "
    "are one wide Gaussian in the middle of the four (3.5 times a mode's deviation), whose means "
    "are 14.4 times as far from the modes as the prior's draws, where at beta 1 they are 0.81 "
    "times as far, and of whose samples hardly any mode has its share. Where beta rises from 1 to "
    "10 during training they end there too, in all seeds but one, in which they lie on a mode "
    "(0.006). So this is no matter of the start alone. It is not the optimum: one mode would cost "
    "log 4 = 1.4 nats, and the wide posterior costs 3.9 (the KL of the best Gaussian there, by "
    "quadrature); but a Gaussian that carries nothing has to cross a barrier to reach a mode: with "
    "its mean 0.4 of the way from the middle the best one costs 4.1. At "
    "beta 1 and below codes are near the modes. Theorem 1 is about the target, not about where "
    "training ends; `towards-modes` has the target. So what is contradicted is the conclusion from "
    "the annealed prior to a trained model, which section 4 does not draw itself: section 6.2 says "
    "that q(z|x) tends to q(z), so that too large a beta makes a mismatch with the prior, and this "
    "is such a mismatch.",
)  # fmt: skip
