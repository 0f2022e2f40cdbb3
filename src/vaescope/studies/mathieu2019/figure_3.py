"""Figure 3 of mathieu2019: clusters by a mixture prior; what alpha and what beta do to q(z)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from vaescope.decomposition.aggregate import mmd_joint
from vaescope.decomposition.overlap import overlap
from vaescope.latents.mixture import log_mixture, posteriors_of
from vaescope.models import OpenModel
from vaescope.priors.mixture import GaussianMixture
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import Effect, Gap, Level, Trend
from vaescope.studies.measuring import distortion, subject
from vaescope.studies.panels import Curves, Images
from vaescope.studies.study import Cell, Measured, Scale, Study, Trained, cells
from vaescope.sweeps.grid import nest, product
from vaescope.types import Floats

__all__ = ["STUDY"]

POINTS = 4000
#: A mode counts as covered if q(z) has this much within three of its standard deviations: half of
#: what the prior has there, 0.989 / 4, so that one broad Gaussian over all four covers none.
LEAST_MASS = 0.124
#: The picture: q(z) on a square of this half-width, as in the figure.
HALF_WIDTH, PIXELS = 1.8, 60

#: The paper gives no values; the larger ones are there to be too large.
BETAS = (0.01, 0.1, 0.5, 1.0, 3.0, 10.0)
ALPHAS = (0.0, 0.1, 1.0, 3.0, 8.0)


def _prior(of: OpenModel) -> GaussianMixture:
    prior = of.vae.prior()
    assert isinstance(prior, GaussianMixture)
    return GaussianMixture(prior.log_weights, prior.loc, prior.log_variance)  # as a density


def covered(samples: Floats, means: Floats, deviation: float) -> int:
    """How many modes have at least LEAST_MASS of the samples within three deviations."""
    distance = np.linalg.norm(samples[:, None, :] - means, axis=2)
    return int(((distance < 3.0 * deviation).mean(axis=0) >= LEAST_MASS).sum())


def measure(run: Run) -> Measured:
    """Overlap, match and coverage, with q(z) the exact mixture of all posteriors."""
    of = subject(run)
    prior = _prior(of)
    q = posteriors_of(of.codes, np.arange(of.codes.n))
    stream = rng(0, "figure-3")
    own = stream.integers(q.n, size=POINTS)
    noise = torch.from_numpy(stream.standard_normal((POINTS, 2)).astype(np.float32))
    w = prior.at(noise)
    match = prior.log_prob(w).double().numpy() - log_mixture(w.double().numpy(), q)
    z = q.mean[own] + q.scale[own] * stream.standard_normal((POINTS, 2))
    deviation = float(prior.log_variance[0, 0].mul(0.5).exp())
    sharing = overlap(of.codes)
    return {
        "encoder_std": float(np.sqrt(of.codes.variance).mean()),
        "sharing": sharing.effective_number,
        "information": sharing.index_code_information,
        "inclusive_kl": float(match.mean()),
        "mmd": mmd_joint(z[:2000], w[:2000].double().numpy()),
        "covered": covered(z, prior.loc.double().numpy(), deviation),
        "distortion": distortion(of),
        "density": _density(of),
    }


def _density(of: OpenModel) -> np.ndarray[Any, Any]:
    """q(z) on the square, 1 at its highest: rows from the top."""
    axis = np.linspace(-HALF_WIDTH, HALF_WIDTH, PIXELS)
    grid = np.stack(np.meshgrid(axis, axis[::-1]), axis=-1).reshape(-1, 2)
    height = np.exp(log_mixture(grid, posteriors_of(of.codes, np.arange(of.codes.n))))
    return np.asarray((height / height.max()).reshape(PIXELS, PIXELS), dtype=np.float32)


def _row(
    row: str, fixed: Mapping[str, Any], strength: str, values: tuple[float, ...], seeds: int
) -> tuple[Cell, ...]:
    """One row of the figure: a strength swept over all seeds."""
    return tuple(
        cell
        for value in values
        for cell in cells(
            nest([{**fixed, strength: value}], product({"seed": range(seeds)})),
            row=row,
            setting=f"{row} {value:g}",
        )
    )


def work(scale: Scale) -> Trained:
    smoke = scale == "smoke"
    seeds, steps = (2, 20) if smoke else ({"laptop": 16, "paper": 20}[scale], 500)
    betas, alphas = ((1.0, 10.0), (1.0, 8.0)) if smoke else (BETAS, ALPHAS)
    base: dict[str, Any] = {"preset": "pinwheel", "steps": steps}
    beta_vae = {**base, "objective.name": "beta-vae"}
    released = {**beta_vae, "prior.legacy": True}
    still = {"optimiser.lr": 0.0, "steps": 1}
    return Trained(
        "mathieu2019-figure-3",
        (
            *_row("beta", beta_vae, "objective.beta", betas, seeds),
            *_row("beta, released", released, "objective.beta", betas, seeds),
            *_row("alpha", base, "objective.alpha", alphas, seeds),
            *_row("beta, untrained", beta_vae | still, "objective.beta", betas, seeds),
            *_row("alpha, untrained", base | still, "objective.alpha", alphas, seeds),
        ),
        measure,
        version=2,
    )


_BETA, _ALPHA = {"row": "beta"}, {"row": "alpha"}


def _untrained(effect: Effect) -> Control:
    return Control("networks that were never trained", effect)


def _still(row: str) -> dict[str, str]:
    return {"row": f"{row}, untrained"}


STUDY = Study(
    id="mathieu2019/figure-3",
    title="Clusters in the latent space: beta raises overlap, alpha the match with the prior",
    work=work,
    claims=(
        Claim(
            "overlap and the encoder's deviation rise with beta",
            "mathieu2019 section 6.2",
            Trend("sharing", "objective.beta", _BETA),
            "above",
            0.5,
            paper="said of the densities, without a number",
            also=(Test(Trend("encoder_std", "objective.beta", _BETA), "above", 0.5),),
            primary=True,
            quote="increasing beta increases the level of overlap in q(z), as a consequence of "
            "increasing the encoder variance for individual datapoints",
            control=_untrained(Trend("sharing", "objective.beta", _still("beta"))),
        ),
        Claim(
            "too large a beta makes q(z) match the prior worse",
            "mathieu2019 Fig. 3 top right, section 6.2",
            Gap("inclusive_kl", {"setting": "beta 10"}, {"setting": "beta 1"}),
            "above",
            0.0,
            paper="shown as a density",
            control=_untrained(
                Gap(
                    "inclusive_kl",
                    {"setting": "beta, untrained 10"},
                    {"setting": "beta, untrained 1"},
                )
            ),
        ),
        Claim(
            "raising alpha improves the match of q(z) with the prior",
            "mathieu2019 Fig. 3 bottom, section 6.2",
            Trend("inclusive_kl", "objective.alpha", _ALPHA),
            "below",
            -0.5,
            paper="said of the densities, without a number",
            control=_untrained(Trend("inclusive_kl", "objective.alpha", _still("alpha"))),
        ),
        Claim(
            "so it does by a discrepancy that is not trained on",
            "mathieu2019 Fig. 3 bottom, section 6.2",
            Trend("mmd", "objective.alpha", _ALPHA),
            "below",
            -0.5,
            paper="said of the densities, without a number",
            control=_untrained(Trend("mmd", "objective.alpha", _still("alpha"))),
        ),
        Claim(
            "large alpha does not collapse the encodings to a mode: all four are covered",
            "mathieu2019 Fig. 3 bottom right, section 6.2",
            Level("covered", {"setting": "alpha 8"}),
            "above",
            3.5,
            paper="4 of 4, shown as a density",
            control=_untrained(Level("covered", {"setting": "alpha, untrained 8"})),
        ),
        Claim(
            "overlap rises with alpha too",
            "mathieu2019 section 6.2",
            Trend("sharing", "objective.alpha", _ALPHA),
            "above",
            0.5,
            paper="said, without a number",
            control=_untrained(Trend("sharing", "objective.alpha", _still("alpha"))),
        ),
    ),
    panels=(
        Images("Density of q(z), beta swept", "density", "setting", _BETA),
        Images("Density of q(z), alpha swept", "density", "setting", _ALPHA),
        Curves("Mean deviation of the encoder", "encoder_std", "objective.beta", "row", log=True),
        Curves("Modes covered, of 4", "covered", "objective.beta", "row", log=True),
        Curves("Data points that share a code", "sharing", "objective.alpha", where=_ALPHA),
        Curves("MMD of q(z) and p(z)", "mmd", "objective.alpha", where=_ALPHA),
    ),
    covers=("mathieu2019 Fig 3", "mathieu2019 Tab 1"),
    about=(
        "The preset `pinwheel`, 500 steps on all 400 points as in the paper; seeds of weights and "
        "noise on one set of points. Beta is swept at alpha 0, alpha at beta 0 (with 0, which the "
        "figure does not have, as the level without either). q(z) is the exact mixture of the 400 "
        "posteriors; KL(p||q), the discrepancy and coverage are taken at 4,000 points. A mode is "
        "covered if q(z) has half of what the prior has within three of its deviations. Kept "
        "apart: the released code counts the mixture's log-density once per latent in the rate "
        "(docs/errata.md), so the beta sweep is run both ways; KL(p||q) is what alpha trains on, "
        "so the match is judged by the discrepancy too."
    ),
    found=(
        "Overlap rises with beta at every step in every seed; the encoder's deviation falls a "
        "little from 0.01 to 0.1 in 15 of 16 and then rises (rank correlations 0.89 to 1). 1.03 "
        "of 400 points share a code at beta 0.01, 111 at 1 and 395 at 10; deviations are 0.007, "
        "0.20 and 0.61. Alpha improves the match in every seed, by the divergence that it trains "
        "on (KL(p||q) of 209 nats at alpha 0, 1.4 at 1 and 0.10 at 8) and by the discrepancy "
        "(1.36, 0.21 and 0.001), and covers all four modes from alpha 3 on; overlap rises to 33 "
        "points. Untrained networks show none of this. Whether too large a beta makes the match "
        "worse is undecided: KL(p||q) is 2.8 at beta 1 (0.1 to 4.9) and 1.57 at beta 10, smaller "
        "in ten of 16 seeds. At beta 1 twelve of 16 models miss a mode, which costs many nats; at "
        "10 all encodings are one Gaussian of deviation 0.61, which covers no mode in 15 of 16 "
        "seeds but reaches all four. So the collapse of the figure occurs, and this divergence "
        "does not rate it as worse. With the released code's rate beta 10 covers 1.1 modes and "
        "has KL(p||q) of 7.3, against 6.6 at beta 1."
    ),
)
