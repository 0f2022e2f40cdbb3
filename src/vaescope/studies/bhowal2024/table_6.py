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
from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import AtEqual, Gap, Trend
from vaescope.studies.measuring import counts, distortion, relabelled, some, subject, used
from vaescope.studies.panels import Dots, Scatter
from vaescope.studies.study import Measured, Scale, Study, Trained, cells

__all__ = ["STUDY", "measure"]

#: The paper's strength of beta-VAE and beta-TCVAE; points with Jacobians, and with released ones.
BETA, POINTS, RELEASED = 6.0, 200, 20

#: 3,072 sprites of four factors; y over half of x's range, as equal ranges leave their axes free.
_GRID = {
    "shape": [0, 1, 2],
    "orientation": [0],
    "scale": [0, 1, 3, 5],
    "x": list(range(0, 32, 2)),
    "y": list(range(8, 24)),
}
_METHODS: dict[str, dict[str, Any]] = {
    "vae": {"preset": "vae"},
    "beta-vae": {"preset": "beta-vae", "objective.beta": BETA},
    "beta-tcvae": {"preset": "beta-tcvae", "objective.beta": BETA},
}
#: Other strengths: with them the methods can be compared at equal distortion.
_CURVES: dict[str, dict[str, Any]] = {
    "beta-vae, beta 3": {"preset": "beta-vae", "objective.beta": 3.0},
    "beta-tcvae, beta 16": {"preset": "beta-tcvae", "objective.beta": 16.0},
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
        seeds, steps = (16, 4000) if scale == "laptop" else (3, 20)
        fixed = {
            "data.size": 32, "data.grid": _GRID, "net.name": "mlp", "net.encoder": [128, 128],
            "net.decoder": [128, 128], "optimiser.lr": 1e-3, "steps": steps,
        }  # fmt: skip
    still = {"optimiser.lr": 0.0, "steps": 1}
    made = [
        cells(
            ({**fixed, **own, **training, "seed": seed} for seed in range(seeds)),
            method=f"{name}{suffix}", curve=_curve(name) if not suffix else "untrained",
            table=name in _METHODS and not suffix,
        )
        for name, own in (_METHODS | _CURVES).items()
        for suffix, training in (("", {}), (", untrained", still))
        if not (suffix and name in _CURVES)
    ]  # fmt: skip
    return Trained(
        "bhowal2024-table-6", tuple(cell for part in made for cell in part), measure, version=4
    )


def _curve(name: str) -> str:
    """The method that a model is a strength of: a VAE is a beta-VAE of strength 1."""
    return "beta-tcvae" if name.startswith("beta-tcvae") else "beta-vae"


def measure(run: Run) -> Measured:
    """Orthogonality of the decoder over the latents in use, and MIG."""
    of = subject(run)
    columns = used(of)
    row: dict[str, float | int | None] = {
        **counts(of), "mig": mig(of.codes).value, "mig_sup": mig_sup(of.codes).value,
        "distortion": distortion(of), "mig_permuted": mig(relabelled(of.codes)).value,
    }  # fmt: skip
    if len(columns) < 2:
        return row
    at = of.codes.mean[some(of, POINTS)]
    found = grams(of.vae.decoder, at, space="output", columns=columns)
    own = grams(of.vae.decoder, at, space="likelihood", columns=columns)
    distance = distance_of(found)
    row |= {
        "od": od_score_of(found).value,
        "od_likelihood": od_score_of(own).value,
        "dto": distance.value,
        # Of turned axes the distance grows with their number, which differs between methods.
        "dto_over_haar": distance.value / haar_baseline(len(columns)).value,
    }
    few = jacobians(of.vae.decoder, at[:RELEASED], space="output", columns=columns)
    released = [legacy_od(matrix) for matrix in few.values]
    row["od_released"] = float(np.mean([one.u + one.s + one.v for one in released]))
    row["released_v"] = float(np.mean([one.v for one in released])) / np.sqrt(2.0 * len(columns))
    return row


_VAE, _BETA, _TC = ({"method": name} for name in _METHODS)
_STILL_VAE, _STILL_BETA, _STILL_TC = ({"method": f"{name}, untrained"} for name in _METHODS)
_PAPER = "OD .909 (beta-TCVAE), .940 (beta-VAE), .973 (VAE) on dSprites"

STUDY = Study(
    "bhowal2024/table-6",
    "OD-Score against MIG, with the corrected score and with the released one",
    _work,
    (
        Claim(
            "The OD-Score falls from VAE to beta-VAE to beta-TCVAE, the order of their MIG in the "
            "paper.",
            "bhowal2024 section 4.4, Tab. 4 and 6", Gap("od", _VAE, _BETA), "above", 0.0, _PAPER,
            also=(Test(Gap("od", _BETA, _TC), "above", 0.0),),
            primary=True,
            quote="We note that as the MIG and the MIG-Sup scores increase, the orthogonality as "
            "measured by OD-Score(M_D) decreases (lower is better).",
            control=Control("untrained decoders", Gap("od", _STILL_VAE, _STILL_BETA)),
        ),
        Claim(
            "beta-TCVAE is more orthogonal than the VAE.",
            "bhowal2024 Tab. 6", Gap("od", _VAE, _TC), "above", 0.0, _PAPER,
            control=Control("untrained decoders", Gap("od", _STILL_VAE, _STILL_TC)),
        ),
        Claim(
            "beta-VAE is more orthogonal than the VAE.",
            "bhowal2024 Tab. 6", Gap("od", _VAE, _BETA), "above", 0.0, _PAPER,
            control=Control("untrained decoders", Gap("od", _STILL_VAE, _STILL_BETA)),
        ),
        Claim(
            "beta-TCVAE is more orthogonal than the beta-VAE.",
            "bhowal2024 Tab. 6", Gap("od", _BETA, _TC), "above", 0.0, _PAPER,
            control=Control("untrained decoders", Gap("od", _STILL_BETA, _STILL_TC)),
        ),
        Claim(
            "At equal distortion beta-TCVAE is more orthogonal than the beta-VAE.",
            "bhowal2024 Tab. 6", AtEqual("od", "distortion", {"curve": "beta-vae"},
                                         {"curve": "beta-tcvae"}),
            "above", 0.0, _PAPER,
            control=Control("untrained decoders", Gap("od", _STILL_BETA, _STILL_TC)),
        ),
        Claim(
            "Over the three methods the OD-Score falls as MIG rises.",
            "bhowal2024 section 4.4, Fig. 4i", Trend("mig", "od", {"table": True}), "below", 0.0,
            "falls from method to method",
            control=Control("labels of other images", Trend("mig_permuted", "od", {"table": True})),
        ),
        Claim(
            "In the likelihood's own metric too beta-TCVAE is more orthogonal than the VAE.",
            "bhowal2024 Tab. 6", Gap("od_likelihood", _VAE, _TC), "above", 0.0,
            control=Control("untrained decoders", Gap("od_likelihood", _STILL_VAE, _STILL_TC)),
        ),
        Claim(
            "beta-TCVAE has a higher MIG than the beta-VAE, and that a higher one than the VAE.",
            "bhowal2024 Tab. 4", Gap("mig", _TC, _BETA), "above", 0.0,
            ".52, .25 and .16 on dSprites",
            also=(Test(Gap("mig", _BETA, _VAE), "above", 0.0),),
            control=Control("labels of other images", Gap("mig_permuted", _TC, _BETA)),
        ),
        Claim(
            "By the released score beta-TCVAE is more orthogonal than the VAE.",
            "bhowal2024 Tab. 6, released score", Gap("od_released", _VAE, _TC), "above", 0.0,
            _PAPER, control=Control("untrained decoders", Gap("od_released", _STILL_VAE,
                                                              _STILL_TC)),
        ),
    ),
    (
        Scatter("Corrected OD-Score against MIG", "od", "mig", "method"),
        Scatter("Released score against MIG", "od_released", "mig", "method"),
        Dots("Corrected OD-Score", "od", "method"),
        Scatter("OD-Score against distortion", "od", "distortion", "curve"),
        Dots("Released: distance of V to I / sqrt(2d)", "released_v", "method"),
        Dots("DtO / Haar", "dto_over_haar", "method"),
        Dots("MIG", "mig", "method"),
    ),
    ("bhowal2024 Tab 6, Fig 4i-p", "bhowal2024 Tab 4, Fig 4a-d"),
    "VAE, beta-VAE (6) and beta-TCVAE (6). The paper: MLPs of 1200 on all of dSprites, squared "
    "error, Adam 1e-3; its Table 3 has ReLU in the decoder, the released code tanh. Laptop scale: "
    "3,072 dSprites of four factors at 32 pixels, MLPs of 128-128, cross-entropy, 4,000 steps at "
    "learning rate 1e-3. The methods of the table are not at equal distortion; a beta-VAE of "
    "strength 3 and a beta-TCVAE of strength 16 make curves that are compared where it is. Scores "
    "are of the decoder's Jacobians over the latents that are not passive. Nothing in the "
    "evaluation depends on the method, where the released fit adds +1.0, -0.7 and -1.4 times an "
    "orthogonality term for the three of them; the released score is shown without that term. "
    "Kept apart: the number of used latents, which differs between methods (DtO over its value "
    "for rotated axes), and the space of the Jacobian (outputs, and the likelihood's own metric). "
    "MIG by 20 bins of the means, where the paper estimates it from samples over the whole grid.",
    "Contradicted at these strengths, in its second half: the VAE is the least orthogonal in every "
    "seed (OD-Score 0.24; untrained 0.30), but the other two are in the other order: 0.16 of the "
    "beta-TCVAE, 0.09 of the beta-VAE, which is lower in 21 of 24 seeds. DtO over its value for "
    "rotated axes has this order on average only (0.85, 0.84 and 0.60): the VAE is above the "
    "beta-TCVAE in 15 of 24 seeds. It is not an order of methods but of strengths: beta 6 costs "
    "the beta-VAE 33 nats of distortion and leaves it two active latents, the beta-TCVAE 28 and "
    "four (the VAE 16 and four), and at equal distortion which of the two is ahead is undecided "
    "(the beta-TCVAE in 10 of 24 seeds); a beta-TCVAE of strength 16 has 0.06 at 36 nats. MIG is "
    "0.11, 0.27 and 0.28 of VAE, beta-VAE and beta-TCVAE: the last two, a quarter and a half in "
    "the paper, are alike (the beta-TCVAE is ahead in twelve seeds), so that the paper's reason "
    "for the order, a higher MIG, is absent here. That the OD-Score falls as MIG rises holds in "
    "23 seeds and stays undecided, as three points are often in order anyway: with labels of "
    "other images it falls in eleven. The released score agrees only in part: 28 of the VAE (11 "
    "to 92), 11 and 10 of the others, untrained 13.",
)  # fmt: skip
