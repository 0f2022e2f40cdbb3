"""Orthogonality against MIG: the corrected OD-Score, and the released one beside it.

Bhowal et al. 2024, https://proceedings.mlr.press/v235/bhowal24a.html, table 6 and figure 4.
"""

from typing import Any

import numpy as np

from vaescope.geometry.jacobian import grams, jacobians
from vaescope.geometry.od_score import legacy_od, od_score_of
from vaescope.geometry.orthogonality import distance_of, haar_baseline
from vaescope.metrics.mig import mig
from vaescope.metrics.mig_sup import mig_sup
from vaescope.runs import Run
from vaescope.studies.effects import Gap, Trend
from vaescope.studies.measuring import counts, distortion, some, subject, typed
from vaescope.studies.panels import Dots, Scatter
from vaescope.studies.study import Measured, Scale, Study, Trained, cells
from vaescope.studies.verdict import Claim

__all__ = ["STUDY", "measure"]

#: The paper's strength of beta-VAE and beta-TCVAE; points with Jacobians, and with released ones.
BETA, POINTS, RELEASED = 6.0, 200, 20

_GRID = {
    "shape": [1],
    "orientation": [0],
    "scale": [0, 2, 5],
    "x": list(range(0, 32, 2)),
    "y": list(range(11, 22, 2)),
}
_METHODS: dict[str, dict[str, Any]] = {
    "vae": {"preset": "vae"},
    "beta-vae": {"preset": "beta-vae", "objective.beta": BETA},
    "beta-tcvae": {"preset": "beta-tcvae", "objective.beta": BETA},
}


def _work(scale: Scale) -> Trained:
    if scale == "paper":
        seeds = 50
        fixed: dict[str, Any] = {
            "net.name": "mlp", "net.encoder": [1200] * 2, "net.decoder": [1200] * 3,
            "net.decoder_activation": "tanh", "optimiser.lr": 1e-3,
            "likelihood.name": "squared-error",
        }  # fmt: skip
    else:
        seeds, steps = (8, 2000) if scale == "laptop" else (3, 20)
        fixed = {"data.size": 32, "data.grid": _GRID, "optimiser.lr": 1e-3, "steps": steps}
    made = [
        cells(({**fixed, **own, "seed": seed} for seed in range(seeds)), method=name)
        for name, own in _METHODS.items()
    ]
    return Trained(
        "bhowal2024-table-6", tuple(cell for part in made for cell in part), measure, version=2
    )


def measure(run: Run) -> Measured:
    """Orthogonality of the decoder over the latents in use, and MIG."""
    of = subject(run)
    used = np.flatnonzero([name != "passive" for name in typed(of.codes).names])
    row: dict[str, float | int | None] = {
        **counts(of), "mig": mig(of.codes).value, "mig_sup": mig_sup(of.codes).value,
        "distortion": distortion(of),
    }  # fmt: skip
    if len(used) < 2:
        return row
    at = of.codes.mean[some(of, POINTS)]
    found = grams(of.vae.decoder, at, space="output", columns=used)
    own = grams(of.vae.decoder, at, space="likelihood", columns=used)
    distance = distance_of(found)
    row |= {
        "od": od_score_of(found).value,
        "od_likelihood": od_score_of(own).value,
        "dto": distance.value,
        # Of turned axes the distance grows with their number, which differs between methods.
        "dto_over_haar": distance.value / haar_baseline(len(used)).value,
    }
    few = jacobians(of.vae.decoder, at[:RELEASED], space="output", columns=used)
    released = [legacy_od(matrix) for matrix in few.values]
    row["od_released"] = float(np.mean([one.u + one.s + one.v for one in released]))
    row["released_v"] = float(np.mean([one.v for one in released])) / np.sqrt(2.0 * len(used))
    return row


_VAE, _BETA, _TC = ({"method": name} for name in _METHODS)
_PAPER = "OD .909 (beta-TCVAE), .940 (beta-VAE), .973 (VAE) on dSprites"

STUDY = Study(
    "bhowal2024/table-6",
    "OD-Score against MIG, with the corrected score and with the released one",
    _work,
    (
        Claim("beta-TCVAE is more orthogonal than the VAE.",
              "bhowal2024 Tab. 6", Gap("od", _VAE, _TC), "above", 0.0, _PAPER),
        Claim("beta-VAE is more orthogonal than the VAE.",
              "bhowal2024 Tab. 6", Gap("od", _VAE, _BETA), "above", 0.0, _PAPER),
        Claim("Over the three methods, more orthogonal decoders have higher MIG.",
              "bhowal2024 Fig. 4i-l", Trend("od", "mig"), "below", 0.0, "falling lines"),
        Claim("The same in the likelihood's own metric.",
              "bhowal2024 Fig. 4i-l", Trend("od_likelihood", "mig"), "below", 0.0),
        Claim("The same for the distance to orthogonality over that of turned axes.",
              "bhowal2024 Fig. 4i-l", Trend("dto_over_haar", "mig"), "below", 0.0),
        Claim("More orthogonal decoders have higher MIG-sup.",
              "bhowal2024 Fig. 4m-p", Trend("od", "mig_sup"), "below", 0.0, "falling lines"),
        Claim("beta-TCVAE has a higher MIG than the VAE.",
              "bhowal2024 Tab. 4", Gap("mig", _TC, _VAE), "above", 0.0,
              ".52 against .16 on dSprites"),
        Claim("beta-VAE has a higher MIG than the VAE.",
              "bhowal2024 Tab. 4", Gap("mig", _BETA, _VAE), "above", 0.0,
              ".25 against .16 on dSprites"),
        Claim("By the released score beta-TCVAE is more orthogonal than the VAE.",
              "bhowal2024 Tab. 6, released score", Gap("od_released", _VAE, _TC), "above", 0.0,
              _PAPER),
        Claim("By the released score more orthogonal decoders have higher MIG.",
              "bhowal2024 Fig. 4i-l, released score", Trend("od_released", "mig"), "below", 0.0),
    ),
    (
        Scatter("Corrected OD-Score against MIG", "od", "mig", "method"),
        Scatter("Released score against MIG", "od_released", "mig", "method"),
        Dots("Corrected OD-Score", "od", "method"),
        Dots("Released: distance of V to I / sqrt(2d)", "released_v", "method"),
        Dots("DtO / Haar", "dto_over_haar", "method"),
        Dots("MIG", "mig", "method"),
    ),
    ("bhowal2024 Tab 6, Fig 4i-p", "bhowal2024 Tab 4, Fig 4a-d"),
    "VAE, beta-VAE (6) and beta-TCVAE (6). The paper: MLPs of 1200 on all of dSprites, squared "
    "error, Adam 1e-3; its Table 3 has ReLU in the decoder, the released code tanh. Laptop "
    "scale: dSprites at 32 pixels, position and scale of one ellipse, convolutions (a small MLP "
    "lays so few images along one latent), 2,000 steps at learning rate 1e-3, eight seeds. "
    "Scores are of the decoder's Jacobians over the latents that are not passive. Nothing in the "
    "evaluation depends on the method, where the released fit adds +1.0, -0.7 and -1.4 times an "
    "orthogonality term for the three of them; the released score is shown without that term. "
    "Kept apart: the number of used latents, which differs between methods (DtO over its value "
    "for turned axes), and the space of the Jacobian (outputs, and the likelihood's own metric). "
    "MIG by 20 bins of the means, where the paper estimates it from samples over the whole grid.",
    "With the corrected score both are more orthogonal than the VAE, as in the paper; between "
    "the two the order is the reverse of the paper's: beta-TCVAE is less orthogonal than "
    "beta-VAE in seven of eight seeds. OD is 0.26 for the VAE, 0.08 for beta-VAE and 0.13 for "
    "beta-TCVAE, and MIG 0.16, 0.46 and 0.58. The released fit would build the order in; whether "
    "the published table was made with it is not known. Not at equal distortion, though: 3.7, "
    "18.8 and 8.1 nats. The released score cannot tell: its distance of V to the identity is 0.8 "
    "to 1.2 of sqrt(2d), the value for random matrices, in all 24 models, and its sum follows "
    "the scale of mixed latents (15 to 107 within the VAE alone), which is why its two claims "
    "are undecided.",
)  # fmt: skip
