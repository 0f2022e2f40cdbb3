"""The gap between likelihood and ELBO of trained models, and how much of it is the contrast.
zietlow2022 section 7.6; Reizinger et al. 2022, https://arxiv.org/abs/2206.02416.

Figure 7.6 is of the best encoder there is (`figure_7_6.py`). Here encoder and decoder are networks
that were trained, and the likelihood is estimated by importance weights.
"""

from typing import Any

import numpy as np

from vaescope.geometry.jacobian import grams
from vaescope.marginal_likelihood import log_likelihood_of, posterior_contrast
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Control
from vaescope.studies.effects import Gap, Level, Where
from vaescope.studies.measuring import subject
from vaescope.studies.panels import Curves
from vaescope.studies.study import Cell, Measured, Scale, Study, Trained, cells
from vaescope.types import Double

__all__ = ["NOISE", "STUDY", "measure", "turned"]

#: Standard deviations of the decoder's noise; its precision is 1 over their square.
NOISE = (1.0, 0.3, 0.1, 0.03)
#: Examples whose likelihood is estimated, and draws for each.
EXAMPLES, DRAWS, PILOT = 50, 600, 400
#: Rotations of the latents that the contrast is compared with.
TURNS = 20


def _work(scale: Scale) -> Trained:
    seeds, steps = {"smoke": (1, 20), "laptop": (16, 6000), "paper": (48, 375_000)}[scale]
    fixed: dict[str, Any] = {
        "preset": "vae", "data.name": "synth-nonlinear", "data.n": 10_000, "latent": 2,
        "likelihood.name": "gaussian", "net.name": "mlp", "net.encoder": [64, 64],
        "net.decoder": [64, 64], "net.encoder_activation": "tanh",
        "net.decoder_activation": "tanh", "optimiser.lr": 1e-3, "batch": 64,
        "split.shares": [0.8, 0.1, 0.1],
    }  # fmt: skip
    found: list[Cell] = []
    for name, length, levels in (
        ("trained", steps, NOISE),
        ("stopped early", max(steps // 20, 1), (NOISE[0], NOISE[-1])),
    ):
        for noise in levels:
            own = {**fixed, "likelihood.scale": noise, "steps": length}
            found += cells(
                ({**own, "seed": seed} for seed in range(seeds)),
                arm=name, noise=noise, precision=round(1.0 / noise**2, 3),
            )  # fmt: skip
    return Trained("zietlow2022-trained-gap", tuple(found), measure)


def measure(run: Run) -> Measured:
    """Log-likelihood of held-out examples, the ELBO, and the gap between them in its two parts."""
    of = subject(run)
    found = log_likelihood_of(of, examples=EXAMPLES, draws=DRAWS, pilot=PILOT)
    assert found.contrast is not None and found.rest is not None
    with of.evaluating(gradients=True):
        metric = grams(of.decoder, of.codes.mean[:EXAMPLES], likelihood=of.likelihood).values
    return {
        "likelihood": found.value, "elbo": found.elbo, "gap": found.gap,
        "contrast": found.contrast, "rest": found.rest, "error": found.error,
        "doubtful": float(found.doubtful), "share": found.contrast / found.gap,
        "contrast_over_turned": found.contrast / turned(metric),
    }  # fmt: skip


def turned(metric: Double) -> float:
    """The contrast of the same decoder with its latents rotated at random, mean over rotations and
    points."""
    stream = rng(0, "turned")
    d = metric.shape[1]
    found = []
    for _ in range(TURNS):
        r = np.linalg.qr(stream.normal(size=(d, d)))[0]
        found.append(posterior_contrast(r.T @ metric @ r, np.ones(d)).mean())
    return float(np.mean(found))


_COARSE: Where = {"arm": "trained", "noise": NOISE[0]}
_FINE: Where = {"arm": "trained", "noise": NOISE[-1]}
_EARLY: Where = {"arm": "stopped early", "noise": NOISE[0]}
_EARLY_FINE: Where = {"arm": "stopped early", "noise": NOISE[-1]}
_TRAINED: Where = {"arm": "trained"}

STUDY = Study(
    "zietlow2022/trained-gap",
    "Between likelihood and ELBO: how much is the contrast, in trained models",
    _work,
    (
        Claim(
            "From a decoder's noise of 1 to 0.03 the gap between likelihood and ELBO comes nearer "
            "to the contrast: less of it is left over.",
            "zietlow2022 section 7.6", Gap("rest", _FINE, _COARSE), "below", 0.0,
            "vanishes, of a decoder that is given and the best encoder",
            primary=True,
            quote="the difference between the self-consistent ELBO and the IMA objective vanishes",
            control=Control("models stopped early", Gap("rest", _EARLY_FINE, _EARLY)),
        ),
        Claim(
            "At a noise of 0.03 over 90% of the gap is the contrast.",
            "zietlow2022 section 7.6", Level("share", _FINE), "above", 0.9,
            "exactly the IMA regularizer",
            control=Control("models stopped early", Level("share", _EARLY_FINE)),
        ),
        Claim(
            "Training makes the columns of the decoder's Jacobian orthogonal: at a noise of 0.03 "
            "the contrast is below half of that of the same decoder with its latents rotated.",
            "zietlow2022 section 7.6", Level("contrast_over_turned", _FINE), "below", 0.5,
            "an inductive bias towards decoders with column-orthogonal Jacobians",
            control=Control("models stopped early", Level("contrast_over_turned", _EARLY_FINE)),
        ),
    ),
    (
        Curves("Likelihood less ELBO, nats", "gap", "precision", "arm", log=True),
        Curves("Contrast, nats", "contrast", "precision", "arm", log=True),
        Curves("The rest, nats", "rest", "precision", "arm", log=True),
        Curves("Share of the gap that is the contrast", "share", "precision", "arm", log=True),
        Curves("Contrast over that of rotated latents", "contrast_over_turned", "precision", "arm",
               log=True),
        Curves("Log-likelihood, nats", "likelihood", "precision", "arm", _TRAINED,
               log=True),
    ),
    ("zietlow2022 marginal log-likelihood (2.3) and 7.6's gap of trained models",),
    "VAEs of two latents (MLPs of 64-64 with tanh, Gaussian likelihood of a fixed noise, 6,000 "
    "steps, in the control 300) on the nonlinear task of section 3.3.1, whose data have standard "
    "deviations of some 2 to 3; one generator. Of 50 held-out examples log p(x) is estimated by "
    "600 importance draws after 400 that adapt the proposal. The contrast is the KL from the best "
    "diagonal Gaussian to the posterior of the linearised decoder, which the IMA contrast is the "
    "limit of. The rest is what encoder and curvature add. Kept apart: what a decoder's axes "
    "contribute, by the same decoder with latents rotated. One exploratory seed (100), which does "
    "not vote, with noise down to 0.1.",
    "Contradicted for trained networks, in every seed: what is left of the gap beside the "
    "contrast grows as the decoder becomes precise, from 0.040 nats at a noise of 1 to 0.13, 0.17 "
    "and 0.83 at 0.3, 0.1 and 0.03, and the contrast, 0.07 nats, is 63% of the gap there and 10% "
    "here. Figure 7.6 is right about the best encoder; a trained one is not it. It inverts its "
    "decoder well in the codes' own units (measured on eight of the seeds: the code is missed by "
    "0.16, 0.013, 0.0009 and 0.0002 of its variance), which is the self-consistency that the "
    "section speaks of. But the posterior narrows as fast: at 0.03 the squared miss is 1.4 times "
    "the posterior's variance, and half of that, 0.7 nats, is about what is left. So the gap of a "
    "precise trained model is the price of its encoder (amortisation), and nearly none of it is a "
    "regulariser. Nor does more precision go on making axes more orthogonal: the contrast over "
    "that of rotated latents is 0.65 in the median at 1, 0.12 at 0.3, 0.60 at 0.1 and 0.91 at "
    "0.03, where 6,000 steps leave axes as they came, since the force that turns them is the "
    "weight of the rate against the precision; 15 of 16 seeds are against that claim, which stays "
    "undecided. Models stopped after 300 steps have 6.4 nats left at 0.03. The likelihood itself "
    "rises all the same, from -7.8 to 6.0 nats.",
)  # fmt: skip
