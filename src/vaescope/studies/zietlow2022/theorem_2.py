"""Linear VAEs perform PCA. zietlow2022 Theorem 2 and figures 2.1 to 2.3.

For squared error plus beta KL on data with variances lambda_j the optimum is probabilistic PCA with
noise beta/2: posterior variances beta / (2 lambda_j), columns along the principal axes, and a
latent for each lambda_j > beta/2, no more.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from scipy.linalg import subspace_angles

from vaescope.data.synthetic import principal_axes
from vaescope.geometry.columns import column_cosine
from vaescope.geometry.jacobian import jacobians
from vaescope.geometry.pca import matched_angles
from vaescope.models import OpenModel
from vaescope.runs import Run
from vaescope.specs import BetaVAESpec
from vaescope.studies.claims import Claim, Control
from vaescope.studies.effects import Gap, Level
from vaescope.studies.measuring import POINTS, subject, typed
from vaescope.studies.panels import Curves, Dots
from vaescope.studies.study import Cell, Measured, Scale, Study, Trained
from vaescope.studies.zietlow2022.synthetic import BETA, THESIS_BETA, decaying, nonlinear, thesis
from vaescope.types import Vector

__all__ = ["STUDY", "closed_form", "measure", "measured"]


#: Variances of the cloud, and strengths at which 3, 2 and 1 of them are above beta/2.
CLOUD = (4.0, 1.0, 0.3)
BETAS = (0.4, 1.0, 4.0)
MAIN = 1.0


def closed_form(variances: Vector, beta: float) -> Vector:
    """Posterior variances of the latents that live, ascending.

    >>> closed_form(np.array([4.0, 1.0, 0.3]), 1.0)
    array([0.125, 0.5  ])
    """
    noise = beta / 2.0
    return noise / variances[variances > noise]


def measure(run: Run) -> Measured:
    """What is measured of a run's model."""
    return measured(subject(run))


def measured(of: OpenModel) -> dict[str, float | int | None]:
    """Of all models: cosine between columns and error over PCA's. Of linear ones: angles to the
    principal axes; of linear VAEs: the distance to the closed form."""
    x = of.data.rows(np.arange(len(of.data))).astype(np.float64)
    variances, axes = principal_axes(x)
    used = np.arange(of.codes.d)
    if of.codes.stochastic:
        used = used[[name != "passive" for name in typed(of.codes).names]]
    row: dict[str, float | int | None] = {
        "error_over_pca": _squared_error(of) / float(variances[2:].sum()),
        "cosine": (
            column_cosine(
                of.vae.decoder, of.codes.mean[:POINTS], space="output", columns=used
            ).value
            if len(used) > 1
            else None
        ),
    }
    if of.experiment.net.name != "linear":
        return row
    if len(used):
        columns = jacobians(
            of.vae.decoder, of.codes.mean[:1], space="output", columns=used
        ).values[0].astype(np.float64)  # fmt: skip
        own = axes[:, : len(used)]
        row["angle"] = float(matched_angles(columns, own).max())
        row["plane_angle"] = float(np.degrees(subspace_angles(columns, own)).max())
    if of.codes.stochastic:
        objective = of.experiment.objective
        assert isinstance(objective, BetaVAESpec) and isinstance(objective.beta, float)
        wanted = closed_form(variances, objective.beta)
        found = np.sort(of.codes.variance[:, used].mean(axis=0))
        both = min(len(found), len(wanted))
        row["used"] = len(used)
        row["miscount"] = abs(len(found) - len(wanted))
        if both:
            row["variance_miss"] = float(np.abs(found[:both] / wanted[:both] - 1.0).mean())
    return row


@torch.inference_mode()
def _squared_error(of: OpenModel) -> float:
    """Mean over examples of the squared error at the posterior mean, summed over dimensions."""
    x = of.data.rows(of.rows).astype(np.float64)
    z = torch.from_numpy(np.asarray(of.codes.mean, dtype=np.float32))
    output = of.vae.decoder(z).mean.double().numpy()
    return float(np.square(output - x).sum(axis=1).mean())


def _cells(scale: Scale, units: Sequence[int] | None) -> Iterator[Cell]:
    rows = 500 if scale == "smoke" else 10_000
    seeds = {"smoke": 2, "laptop": 20, "paper": 50}[scale]
    cloud: dict[str, Any] = {
        "data.name": "linear-gaussian", "data.eigenvalues": list(CLOUD), "data.dimension": 3,
        "data.n": rows, "net.name": "linear", "batch": 128,
        **decaying(1e-2, {"smoke": 20, "laptop": 8000, "paper": 50_000}[scale]),
    }  # fmt: skip
    for seed in range(seeds) if units is None else units:
        for strength in BETAS:
            yield Cell(
                {
                    **cloud, "preset": "beta-vae", "objective.beta": strength, "latent": 3,
                    "seed": seed,
                },
                {"model": "linear VAE"},
            )  # fmt: skip
        yield Cell({**cloud, "preset": "ae", "latent": 2, "seed": seed}, {"model": "linear AE"})
        still = {"optimiser.lr": 0.0, "steps": 1, "objective.beta": MAIN, "latent": 3}
        yield Cell(
            {**cloud, "preset": "beta-vae", **still, "seed": seed}, {"model": "untrained VAE"}
        )
    # The curved cloud, with the runs of zietlow2022/table-3.3-synth.
    beta, curved = THESIS_BETA["nonlinear"], thesis("nonlinear")
    if scale != "paper":
        rows, steps = (500, 3) if scale == "smoke" else (50_000, 5000)
        beta, curved = BETA["nonlinear"], {**nonlinear(rows=rows), **decaying(5e-3, steps)}
    generators = range({"smoke": 2, "laptop": 16, "paper": 20}[scale])
    for generator in generators if units is None else units:
        vae = {"preset": "beta-vae", "objective.beta": beta}
        for model, settings in (
            ("VAE", vae), ("AE", {"preset": "ae"}), ("full", {**vae, "posterior.name": "full"}),
        ):  # fmt: skip
            own = {"data.generator_seed": generator, "seed": generator}
            yield Cell({**curved, **settings, **own}, {"model": f"nonlinear {model}"})


def _work(scale: Scale, units: Sequence[int] | None = None) -> Trained:
    return Trained("zietlow2022-theorem-2", tuple(_cells(scale, units)), measure, version=3)


def _vae(beta: float = MAIN) -> dict[str, str | float]:
    return {"model": "linear VAE", "objective.beta": beta}


_AE = {"model": "linear AE"}
_CURVED_VAE, _CURVED_AE = {"model": "nonlinear VAE"}, {"model": "nonlinear AE"}
_DATA = "data.generator_seed"
_PLAIN = "a linear autoencoder"


def _untrained(measure: str) -> Control:
    return Control("a linear VAE before training", Level(measure, {"model": "untrained VAE"}))


_SHAPE = "random 2-10-6 networks for a cloud that is only drawn"

STUDY = Study(
    "zietlow2022/theorem-2",
    "Linear VAEs perform PCA; autoencoders only span its plane",
    _work,
    (
        Claim(
            "A linear VAE's columns lie along the principal axes, within 3 degrees.",
            "zietlow2022 Fig. 2.3, Theorem 2", Level("angle", _vae()), "below", 3.0,
            "aligns perfectly", primary=True,
            quote="A linear VAE with two latent dimensions (left) aligns perfectly with PCA",
            control=Control(_PLAIN, Level("angle", _AE)),
        ),
        Claim(
            "A linear autoencoder spans the plane of PCA, within 3 degrees.",
            "zietlow2022 Fig. 2.2", Level("plane_angle", _AE), "below", 3.0,
            "spans the same space", control=_untrained("plane_angle"),
        ),
        *(
            Claim(
                f"Posterior variances are beta / (2 lambda), within 2%, at beta {beta:g}.",
                "zietlow2022 Theorem 2, closed form", Level("variance_miss", _vae(beta)), "below",
                0.02, sort="prediction", control=_untrained("variance_miss"),
            )
            for beta in BETAS
        ),
        Claim(
            "A latent lives for each variance above beta/2 and for no other, at all three betas.",
            "zietlow2022 Theorem 2, closed form", Level("miscount", {"model": "linear VAE"}),
            "below", 0.1, sort="prediction", control=_untrained("miscount"),
        ),
        Claim(
            "A nonlinear VAE's columns are nearer to orthogonal than a nonlinear autoencoder's.",
            "zietlow2022 Fig. 2.2, 2.3", Gap("cosine", _CURVED_VAE, _CURVED_AE, _DATA), "below",
            0.0, "locally orthogonal", _SHAPE,
            control=Control(
                "the VAE with a full covariance, which favours no axes",
                Gap("cosine", {"model": "nonlinear full"}, _CURVED_AE, _DATA),
            ),
        ),
    ),
    (
        Dots("Largest angle to the principal axes, degrees", "angle", "model"),
        Dots("|cosine| between columns", "cosine", "model"),
        Dots("Squared error over that of PCA", "error_over_pca", "model"),
        Curves("Used latents of a linear VAE", "used", "objective.beta", where={
            "model": "linear VAE"}, log=True, marks=tuple(2.0 * v for v in CLOUD)),
        Curves("Posterior variances off the closed form", "variance_miss", "objective.beta", where={
            "model": "linear VAE"}, log=True),
    ),
    ("zietlow2022 Fig 2.1-2.3",),
    "A Gaussian cloud in three dimensions with variances 4, 1 and 0.3 (10,000 rows); linear "
    "beta-VAEs with three latents at beta 0.4, 1 and 4, at which three, two and one of them are "
    "above beta/2, and a linear autoencoder with two latents; batch 128, Adam from 1e-2 to 0 over "
    "8,000 steps. Axes and variances are those of the sample. Noise is sampled as in any "
    "VAE, not integrated out. For the nonlinear halves of figures 2.2 and 2.3, networks 60-40-20 "
    "on the nonlinear task (a generator and a model for each unit), the runs of "
    "zietlow2022/table-3.3-synth. The thesis prints U* = V_X^T for a convention of row vectors; "
    "columns are tested against the principal axes themselves.",
    "At beta 1 the columns of the linear VAE are 0.18 degrees off the principal axes (0.04 to "
    "0.43 over 20 seeds), an autoencoder's 26 (0.8 to 48) and those of a VAE before training 60. "
    "Posterior variances are within 0.7% of the closed form in every seed at all three betas, and "
    "latents are used exactly where it says. |Cosines| between columns are 0.003, an "
    "autoencoder's 0.12. A linear autoencoder spans the plane of PCA within 0.014 degrees; that "
    "the verdict is \"not specific\" is a fault of the control, not of the claim: a VAE before "
    "training has three latents in three dimensions, which span every plane. A control of two "
    "latents has yet to be registered. On the curved cloud |cosines| are 0.24 for the VAE, 0.44 "
    "for the autoencoder and 0.59 with a full covariance; the VAE is below the autoencoder in all "
    "19 generators in which it kept both latents, and in the twentieth it has no angle. The claim "
    "was undecided at 12 units, eleven of them for it; the eight that were added are all for it. "
    "Orthogonal columns go with a worse fit there: an error of 0.004 of PCA's in the median, the "
    "autoencoder's 0.0008; the generator in which the VAE lost a latent is fitted no better than "
    "by PCA by any of the three.",
    extend=_work,
)  # fmt: skip
