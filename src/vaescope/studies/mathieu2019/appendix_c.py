"""Appendix C of mathieu2019: the entropy of q(z) from a batch is biased, and acts like more
beta."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from vaescope.aggregate_posterior import exclusive_kl
from vaescope.distributions import DiagonalGaussian
from vaescope.priors import StandardNormal
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Control, identities
from vaescope.studies.effects import Gap, Level, Position, Ratio, Trend
from vaescope.studies.measuring import counts, rate, subject
from vaescope.studies.panels import Curves
from vaescope.studies.study import Cell, Computed, Measured, Scale, Study, Trained, cells
from vaescope.sweeps.grid import nest, product

__all__ = ["ESTIMATOR", "TRAINING"]

#: Two latents, q(z|x) = N(m(x), s^2 I) with m ~ N(0, (1 - s^2) I): q(z) = N(0, I) = p(z).
LATENT, DEVIATION, SIZE = 2, 0.02, 100_000
BATCHES = (8, 32, 128, 512, 2048)
SIZES = (1_000, 10_000)
#: Samples over all batches of a cell.
SAMPLES = 16_384

_ENTROPY = 0.5 * LATENT * (1.0 + math.log(2.0 * math.pi))
_CONDITIONAL = _ENTROPY + LATENT * math.log(DEVIATION)


def compute(columns: Mapping[str, Any]) -> dict[str, float]:
    """Estimates of H[q(z)] and KL(q(z) || p(z)) from batches, eq. (10), against the truth."""
    size, batch = int(columns["size"]), int(columns["batch"])
    stream = rng(int(columns["seed"]), f"appendix-c-{size}-{batch}")
    means = math.sqrt(1.0 - DEVIATION**2) * stream.standard_normal((size, LATENT))
    prior = StandardNormal(LATENT).double()()
    entropies, divergences = [], []
    for _ in range(max(1, SAMPLES // batch)):
        rows = stream.choice(size, batch, replace=False)
        loc = torch.from_numpy(means[rows])
        q = DiagonalGaussian(loc, torch.full_like(loc, 2.0 * math.log(DEVIATION)))
        z = q.at(torch.from_numpy(stream.standard_normal((batch, LATENT))))
        divergences.append(exclusive_kl(q, prior, z, size).item())
        entropies.append(-divergences[-1] - prior.log_prob(z).mean().item())
    estimate, limit = float(np.mean(entropies)), math.log(size) + _CONDITIONAL
    return {
        "entropy": estimate,
        "bias": estimate - _ENTROPY,
        "share_of_limit": (estimate - _ENTROPY) / (limit - _ENTROPY),
        "kl": float(np.mean(divergences)),
    }


def estimating(scale: Scale) -> Computed:
    smoke = scale == "smoke"
    seeds = range({"smoke": 2, "laptop": 12, "paper": 100}[scale])
    by_batch = [{"size": SIZE, "batch": b} for b in ((8, 32, 128) if smoke else BATCHES)]
    by_size = [{"size": n, "batch": 32} for n in SIZES]
    return Computed(
        "mathieu2019-appendix-c-estimator",
        cells(nest([*by_batch, *by_size], product({"seed": seeds}))),
        compute,
    )


_SMALL, _LARGE = {"size": SIZE, "batch": 8}, {"size": SIZE, "batch": 2048}

ESTIMATOR = Study(
    id="mathieu2019/appendix-c-estimator",
    title="The entropy of q(z) estimated from a batch",
    work=estimating,
    claims=identities(
        Claim(
            "the estimate of H[q(z)] has a very large bias at ordinary batch sizes",
            "mathieu2019 App. C",
            Level("bias", {"size": SIZE, "batch": 32}),
            "above",
            1.0,
            paper="said, without a number",
        ),
        Claim(
            "for batches much smaller than the data, and encodings that hardly overlap, it is "
            "log n + E H[q(z|x)]",
            "mathieu2019 App. C",
            Level("share_of_limit", _SMALL),
            "above",
            0.9,
            paper="approximately equal",
        ),
        Claim(
            "the bias falls with the size of the batch",
            "mathieu2019 App. C",
            Trend("bias", "batch", {"size": SIZE}),
            "below",
            -0.5,
            paper="said, without a number",
        ),
        Claim(
            "very large batches overcome it, at least to a certain degree: half of it is gone",
            "mathieu2019 App. C",
            Ratio("bias", _LARGE, _SMALL),
            "below",
            0.5,
            paper="said, without a number",
        ),
        Claim(
            "larger datasets make it worse",
            "mathieu2019 App. C",
            Trend("bias", "size", {"batch": 32}),
            "above",
            0.5,
            paper="said to be possible",
        ),
        Claim(
            "estimates of KL(q(z) || p(z)) are negative, though it is not",
            "mathieu2019 App. C",
            Level("kl", {"size": SIZE, "batch": 32}),
            "below",
            0.0,
            paper="possible, even likely",
        ),
    ),
    panels=(
        Curves("Bias of the entropy, nats", "bias", "batch", where={"size": SIZE}, log=True),
        Curves(
            "Estimated KL(q(z) || p(z)); it is 0", "kl", "batch", where={"size": SIZE}, log=True
        ),
        Curves("Bias at batch 32", "bias", "size", where={"batch": 32}, log=True),
    ),
    covers=("mathieu2019 App C",),
    about=(
        "Encodings N(m, 0.02^2 I) in two latents with m ~ N(0, (1 - 0.02^2) I), so that q(z) is "
        "N(0, I), its entropy and its divergence from the prior, 0, are known. About 40 of 100,000 "
        "data points share a code, of a batch hardly any: the case in which the estimate must "
        "fail. Estimates are `aggregate_posterior.exclusive_kl`, mathieu2019 eq. (10), over 16,384 "
        "samples. The limit log n + E H[q(z|x)] is also the truth for a dataset whose encodings do "
        "not overlap at all, which is why the bias is measured where they do."
    ),
)

#: Standard deviations of the likelihood. The beta-VAE's best posterior variance in a direction of
#: variance v is beta times their square / v, and the latent is passive where that is over 1.
NARROW, WIDE = 0.1, 0.2236
GRADED = (4.0, 2.0, 1.0, 0.4, 0.25, 0.12)


def measure(run: Run) -> Measured:
    """How wide the encodings are, what they cost and how many latents are left."""
    of = subject(run, rows=2000)
    return {
        "log_variance": float(np.log(of.codes.variance).mean()),
        "rate": rate(of),
        "passive": counts(of)["passive"],
    }


def _common(eigenvalues: tuple[float, ...], noise: float, n: int, steps: int) -> dict[str, Any]:
    return {
        "preset": "vae", "data.name": "linear-gaussian", "data.eigenvalues": list(eigenvalues),
        "data.dimension": 8, "data.n": n, "latent": len(eigenvalues), "net.name": "linear",
        "likelihood.name": "gaussian", "likelihood.scale": noise, "steps": steps,
        "optimiser.lr": {"name": "cosine", "start": 1e-2, "stop": 1e-4, "steps": steps},
    }  # fmt: skip


def _pair(
    common: dict[str, Any], part: str, strengths: tuple[float, ...], seeds: int
) -> tuple[Cell, ...]:
    """beta = strength, and beta = 1 with alpha = strength - 1 on the estimate."""
    every = product({"seed": range(seeds)})
    found: tuple[Cell, ...] = ()
    for strength in strengths:
        beta = {**common, "objective.name": "beta-vae", "objective.beta": strength}
        estimate = {
            **common, "objective.name": "decomposition", "objective.divergence": "exclusive-kl",
            "objective.beta": 1.0, "objective.alpha": strength - 1.0,
        }  # fmt: skip
        found += cells(nest([beta], every), part=part, method="beta-VAE", strength=strength)
        if strength > 1.0:
            found += cells(nest([estimate], every), part=part, method="estimate", strength=strength)
    return found


def training(scale: Scale) -> Trained:
    seeds = {"smoke": 2, "laptop": 8, "paper": 20}[scale]
    steps = {"smoke": 20, "laptop": 6000, "paper": 60_000}[scale]
    batches = (8,) if scale == "smoke" else (8, 128)
    strengths = (1.0, 4.0) if scale == "smoke" else (1.0, 2.0, 4.0)
    narrow = _common((1.0,) * 4, NARROW, 100_000, steps)
    graded = {**_common(GRADED, WIDE, 10_000, max(20, steps // 2)), "batch": 64}
    return Trained(
        "mathieu2019-appendix-c-training",
        (
            *sum((_pair({**narrow, "batch": b}, "narrow", strengths, seeds) for b in batches), ()),
            *_pair(graded, "graded", (4.0, 10.0), seeds),
        ),
        measure,
    )


def _narrow(method: str, strength: float, batch: int) -> dict[str, Any]:
    return {"part": "narrow", "method": method, "strength": strength, "batch": batch}


def _likeness(strength: float, batch: int) -> Position:
    return Position(
        "log_variance",
        _narrow("estimate", strength, batch),
        _narrow("beta-VAE", 1.0, batch),
        _narrow("beta-VAE", strength, batch),
    )


def _graded(method: str, strength: float) -> dict[str, Any]:
    return {"part": "graded", "method": method, "strength": strength}


TRAINING = Study(
    id="mathieu2019/appendix-c-training",
    title="Does training with the biased estimate act as a beta-VAE does",
    work=training,
    claims=(
        Claim(
            "training with the estimate as a regulariser widens the encodings as the beta-VAE of "
            "the same strength does (strength 2, batch 8 of 100,000)",
            "mathieu2019 App. C",
            _likeness(2.0, 8),
            "within",
            1.0,
            paper="similar behaviour",
            margin=0.2,
            primary=True,
            quote="our results suggest they will exhibit behaviour similar to the beta-VAE if the "
            "batch size is too small",
            control=Control("batches of 128", _likeness(2.0, 128)),
        ),
        Claim(
            "so it does at strength 4",
            "mathieu2019 App. C",
            _likeness(4.0, 8),
            "within",
            1.0,
            paper="similar behaviour",
            margin=0.2,
            control=Control("batches of 128", _likeness(4.0, 128)),
        ),
        *(
            Claim(
                "it leaves as many latents passive as the beta-VAE of the same strength "
                f"(strength {strength:g}, batch 64 of 10,000)",
                "mathieu2019 App. C",
                Gap("passive", _graded("estimate", strength), _graded("beta-VAE", strength)),
                "within",
                0.0,
                paper="similar behaviour whenever B << n, given that overlap is rare, P(E_S) << 1",
                margin=0.5,
                control=Control(
                    "the beta-VAE of the other strength",
                    Gap("passive", _graded("estimate", strength), _graded("beta-VAE", other)),
                ),
            )
            for strength, other in ((4.0, 10.0), (10.0, 4.0))
        ),
    ),
    panels=(
        Curves(
            "Mean log-variance of narrow encodings, batch 8", "log_variance", "strength", "method",
            where={"part": "narrow", "batch": 8},
        ),
        Curves(
            "The same, batch 128", "log_variance", "strength", "method",
            where={"part": "narrow", "batch": 128},
        ),
        Curves("Passive latents of 6", "passive", "strength", "method", where={"part": "graded"}),
        Curves("Rate, nats", "rate", "strength", "method", where={"part": "graded"}),
    ),
    covers=("mathieu2019 App C",),
    about=(
        "Linear VAEs on linear-Gaussian data. Matched are beta = strength, and beta = 1 with "
        "alpha = strength - 1 on the estimate of KL(q(z) || p(z)) by eq. (10): where the appendix "
        "is right the two losses differ by a constant. At beta 1 the optimum has q(z) = p(z), so "
        "that the divergence itself would change nothing, and whatever the estimate changes is "
        "its bias. Compared seed by seed and at the same batch, 0 is the width of encodings at "
        "beta 1 and 1 that of the beta-VAE. Two parts, since the appendix assumes more than a "
        "batch much smaller than the data, namely that encodings hardly ever overlap: `narrow`, "
        "four latents with deviations of 0.1 to 0.2; and `graded`, six latents of variances 4 to "
        "0.12 with noise of variance 0.05, of which strength 4 makes the beta-VAE drop one and "
        "strength 10 three, so that encodings become wide."
    ),
    found=(
        "At strength 2 and batch 8 the estimate widens encodings by 0.85 of what the beta-VAE "
        "does, as the appendix says; by 0.75 at strength 4, which is outside the registered "
        "margin of 0.2; and with batches of 128 by 0.46 and 0.36, so that it is the small batch "
        "that acts like beta. With graded latents one is passive at strength 10 in all 16 seeds, "
        "where the beta-VAE has three; at strength 4 it is as many as there in nine of 16. "
        "Neither contradicts the appendix's derivation, which presumes that overlap is rare, "
        "P(E_S) << 1: here a strong regulariser makes it common, so that the premise fails. The "
        "estimator is the appendix's and the bias is as it says "
        "(mathieu2019/appendix-c-estimator); a batch much smaller than the data is not enough. In "
        "eq. (10b) each other row of the batch weighs (n - 1)/(B - 1) times as much as a sample's "
        "own row, so rows that are still four deviations away outweigh it. By simulation (not in "
        "the table) at the beta-VAE's optimum the second term is the larger one in 4% of samples "
        "at strength 2 and batch 8, in 15% at strength 4, in 33% at strength 2 and batch 128; "
        "with graded latents in 18% at strength 1, 91% at strength 4 and 99% at strength 10. "
        "There the estimate is hardly biased any more: rate 6.4 nats against the beta-VAE's 2.1, "
        "one passive latent against three. The bias thus acts like beta only while encodings stay "
        "narrow, and prunes less than beta does."
    ),
)  # fmt: skip
