"""The polarised regime of identifiable VAEs. grzes2023 figures 1-4 and the text beside them."""

from typing import Any

import numpy as np

from vaescope.build import build_auxiliary
from vaescope.latents.polarised import polarised
from vaescope.latents.types import types
from vaescope.opening import encode
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.effects import Level
from vaescope.studies.measuring import counts, subject
from vaescope.studies.panels import Dots, HistogramPanel
from vaescope.studies.study import Measured, Scale, Study, Trained, cells
from vaescope.studies.verdict import Claim
from vaescope.types import Floats

__all__ = ["STUDY", "measure"]

#: Samples of posterior and prior, the paper's number.
POINTS = 10_000
#: Points of each latent that the histograms show.
SHOWN = 2000

_GRID = {
    "shape": [0, 1, 2],
    "orientation": [0],
    "scale": [0, 2, 5],
    "x": list(range(0, 32, 4)),
    "y": list(range(0, 32, 4)),
}
_VARIED = ["shape", "scale", "x", "y"]


def _work(scale: Scale) -> Trained:
    # Table 2: 300,000 steps, of which the released code makes 269,568 (the preset's number).
    fixed: dict[str, Any] = {
        "preset": "ivae-dsprites", "steps": 300_000, "split.shares": [0.9, 0.0, 0.1],
    }  # fmt: skip
    seeds = 10
    if scale != "paper":
        seeds, steps, latent = (6, 6000, 10) if scale == "laptop" else (2, 20, 4)
        fixed = {
            "preset": "ivae-dsprites",
            "data.size": 32, "data.grid": _GRID, "prior.name": "conditional",
            "prior.width": len(_VARIED), "prior.factors": _VARIED, "latent": latent,
            "optimiser.lr": 1e-3, "steps": steps,
        }  # fmt: skip
    return Trained(
        "grzes2023-figures",
        cells({**fixed, "seed": seed} for seed in range(seeds)),
        measure,
        version=3,
    )


def measure(run: Run) -> Measured:
    """Posteriors against the conditional prior, over passive and over active latents."""
    of = subject(run, rows=POINTS)
    # As many points as the paper, each image several times: with 576 samples the distance between
    # two draws from one distribution is 0.05 by chance.
    times = -(-POINTS // len(of.rows))
    codes = encode(
        of.vae,
        of.data,
        index=np.tile(of.rows, times),
        auxiliary=build_auxiliary(of.experiment, of.data),
    )
    kinds = types(codes, criterion="kl")  # bonheme2023's rule takes every iVAE for active
    found = polarised(codes, kinds=kinds)
    assert codes.prior_variance is not None
    mean, variance = codes.mean.astype(np.float64), codes.variance.astype(np.float64)
    prior = codes.prior_variance.astype(np.float64)
    off = np.abs(np.log(variance) - np.log(prior)).mean(axis=0)  # of log variances, per latent
    row: dict[str, float | None] = dict(counts(of))
    drawn = rng(0, "figures").standard_normal(prior.shape) * np.sqrt(prior)
    shown: dict[str, Floats] = {}
    parts = {}
    for kind in ("active", "passive"):
        own = np.flatnonzero([name == kind for name in kinds.names])
        parts[kind] = {
            "mean_size": np.abs(mean[:, own]).mean(axis=0),
            "mean_deviation": mean[:, own].std(axis=0),
            "mean_variance": mean[:, own].var(axis=0),
            "log_variance_off": off[own],
            "variance_ratio": (variance[:, own] / prior[:, own]).mean(axis=0),
            "prior_variance": prior[:, own].mean(axis=0),
            "ks_prior": found.sample_to_prior[own],
            "ks_mean": found.sample_to_mean[own],
        }
        row |= {f"{name}_{kind}": _mean(values) for name, values in parts[kind].items()}
        arrays = {"mean": mean, "variance": variance, "prior_variance": prior,
                  "sample": codes.sample, "prior": drawn}  # fmt: skip
        shown |= {f"{name}s_{kind}": a[:SHOWN, own].ravel() for name, a in arrays.items()}
    active, passive = parts["active"], parts["passive"]
    row["ks_gap"] = _mean(active["ks_prior"] - active["ks_mean"])
    row["mean_share"] = _over(_mean(passive["mean_size"]), _mean(active["mean_deviation"]))
    row["variance_share"] = _over(_mean(passive["mean_variance"]), _mean(active["mean_variance"]))
    return {**row, **shown}


def _mean(values: Floats) -> float | None:
    """Over latents; None where there is none."""
    return float(values.mean()) if len(values) else None


def _over(top: float | None, bottom: float | None) -> float | None:
    return None if top is None or not bottom else top / bottom


STUDY = Study(
    "grzes2023/figures",
    "Passive latents of an identifiable VAE follow its conditional prior, active ones their mean",
    _work,
    (
        Claim(
            "Means of passive latents stay at the prior's mean of 0, against the spread of active "
            "ones.",
            "grzes2023 Fig. 1a", Level("mean_share"), "below", 0.05, "a spike at 0",
        ),
        Claim(
            "Posterior and prior variances of passive latents coincide, example by example.",
            "grzes2023 Fig. 1b-c", Level("log_variance_off_passive"), "below", 0.1,
            "the two histograms coincide",
        ),
        Claim(
            "Means of active latents vary far more than those of passive ones.",
            "grzes2023 Fig. 2a", Level("variance_share"), "below", 0.01, "spread out",
        ),
        Claim(
            "Posterior variances of active latents are far below the prior's.",
            "grzes2023 Fig. 2b-c", Level("variance_ratio_active"), "below", 0.1,
            "near 0, unlike the prior",
        ),
        Claim(
            "Samples of active latents are closer to their means than to the prior.",
            "grzes2023 Fig. 3", Level("ks_gap"), "above", 0.0, "z and mu alike, the prior differs",
        ),
        Claim(
            "Samples of passive latents follow the prior.",
            "grzes2023 Fig. 4", Level("ks_prior_passive"), "below", 0.05, "the same histograms",
        ),
        Claim(
            "No latent is mixed.",
            "grzes2023 App. B", Level("mixed"), "below", 0.5, "none of 30",
        ),
        Claim(
            "The prior variance of passive latents is itself near 0.",
            "grzes2023 Fig. 1c", Level("prior_variance_passive"), "below", 0.1, "near 0",
        ),
    ),
    (
        HistogramPanel(
            "Fig. 1a, 2a: means", {"passive": "means_passive", "active": "means_active"},
        ),
        HistogramPanel(
            "Fig. 1b-c: variances, passive",
            {"posterior": "variances_passive", "prior": "prior_variances_passive"},
        ),
        HistogramPanel(
            "Fig. 2b-c: variances, active",
            {"posterior": "variances_active", "prior": "prior_variances_active"},
        ),
        HistogramPanel(
            "Fig. 3: active latents",
            {"sample": "samples_active", "mean": "means_active", "prior": "priors_active"},
        ),
        HistogramPanel(
            "Fig. 4: passive latents",
            {"sample": "samples_passive", "prior": "priors_passive"},
        ),
        Dots("KS of passive samples to the prior", "ks_prior_passive", "preset"),
        Dots("KS of active samples to the prior", "ks_prior_active", "preset"),
        Dots("KS of active samples to their means", "ks_mean_active", "preset"),
        Dots("Mean |log variance ratio|, passive", "log_variance_off_passive", "preset"),
        Dots("Variance ratio to the prior, active", "variance_ratio_active", "preset"),
        Dots("Prior variance of passive latents", "prior_variance_passive", "preset"),
    ),
    ("grzes2023 Tab 1-2", "grzes2023 Fig 1 a-c", "grzes2023 Fig 2 a-c", "grzes2023 Fig 3 a-c",
    "grzes2023 Fig 4 a-b", "grzes2023 text"),
    "iVAE with the paper's convolutions, prior network 50-50-50 and mean 0, Bernoulli "
    "likelihood; u is scaled by the whole dataset's classes, where the paper's code scales by "
    "those of the batch. The paper: dSprites at 64 pixels, 30 latents, 300,000 steps on 90% of "
    "the rows. Laptop scale: 32 pixels, three shapes, three scales, eight by eight positions, no "
    "rotation, 10 latents, 6,000 steps at learning rate 1e-3, six seeds; a first run of 3,000 "
    "steps was not at rest. Latents are typed by their KL to the model's own prior: by "
    "bonheme2023's rule every passive latent whose prior variance is near 0 would be called "
    "active. The encoder sees the factors, so that none of this speaks of disentanglement.",
    "Passive latents follow the conditional prior (KS .02, twice what two draws of one "
    "distribution have by chance; variances within 5% example by example) and active ones their "
    "mean (KS .01 to the mean, .15 to the prior). Training is near its end but not at it: "
    "distortion was 7.9, 4.2, 3.1 and 2.4 nats at 3,000, 4,000, 5,000 and 6,000 steps in seed 0. "
    "Still one to three latents of each seed are mixed by the rule on KL, which the paper has "
    "none of. The prior variance of passive latents is .40 to .94, not near 0: nothing in the "
    "objective fixes it, as posterior and prior may shrink together at no cost, and it has not "
    "fallen with training (.53 after 3,000 steps, .66 now). That claim was contradicted after "
    "3,000 steps and is undecided now only because seeds differ more; that variances coincide was "
    "undecided then (.080) and is supported now (.052); the paper's is after 269,568 steps. In a "
    "first measurement with one sample per image (576) the KS distances had a chance level of "
    ".05, at their threshold; they are over 10,000 samples as in the paper.",
)  # fmt: skip
