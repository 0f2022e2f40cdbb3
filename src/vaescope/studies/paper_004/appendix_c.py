"""Appendix C of paper 004: the entropy of q(z) from a batch is biased, and acts like more beta."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from vaescope.distributions import DiagonalGaussian
from vaescope.divergences import exclusive_kl
from vaescope.priors import StandardNormal
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.effects import Gap, Level, Ratio, Trend
from vaescope.studies.measuring import counts, rate, subject
from vaescope.studies.panels import Curves
from vaescope.studies.study import Computed, Measured, Scale, Study, Trained, cells
from vaescope.studies.verdict import Claim
from vaescope.sweeps.grid import nest, product, zipped

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
    return Computed(cells(nest([*by_batch, *by_size], product({"seed": seeds}))), compute)


_SMALL, _LARGE = {"size": SIZE, "batch": 8}, {"size": SIZE, "batch": 2048}

ESTIMATOR = Study(
    id="004/appendix-c-estimator",
    title="The entropy of q(z) estimated from a batch",
    work=estimating,
    claims=(
        Claim(
            "the estimate of H[q(z)] has a very large bias at ordinary batch sizes",
            "004 App. C",
            Level("bias", {"size": SIZE, "batch": 32}),
            "above",
            1.0,
            paper="said, without a number",
        ),
        Claim(
            "for batches much smaller than the data it is log n + E H[q(z|x)]",
            "004 App. C",
            Level("share_of_limit", _SMALL),
            "above",
            0.9,
            paper="approximately equal",
        ),
        Claim(
            "the bias falls with the size of the batch",
            "004 App. C",
            Trend("bias", "batch", {"size": SIZE}),
            "below",
            -0.5,
            paper="said, without a number",
        ),
        Claim(
            "very large batches overcome it, at least to a certain degree: half of it is gone",
            "004 App. C",
            Ratio("bias", _LARGE, _SMALL),
            "below",
            0.5,
            paper="said, without a number",
        ),
        Claim(
            "larger datasets make it worse",
            "004 App. C",
            Trend("bias", "size", {"batch": 32}),
            "above",
            0.5,
            paper="said to be possible",
        ),
        Claim(
            "estimates of KL(q(z) || p(z)) are negative, though it is not",
            "004 App. C",
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
    covers=("004 App C",),
    about=(
        "Encodings N(m, 0.02^2 I) in two latents with m ~ N(0, (1 - 0.02^2) I), so that q(z) is "
        "N(0, I), its entropy and its divergence from the prior, 0, are known. About 40 of 100,000 "
        "data points share a code, of a batch hardly any: the case in which the estimate must "
        "fail. Estimates are `divergences.exclusive_kl`, 004 eq. (10), over 16,384 samples. The "
        "limit log n + E H[q(z|x)] is also the truth for a dataset whose encodings do not "
        "overlap at all, which is why the bias is measured where they do."
    ),
)

#: Standard deviation of the likelihood; the beta-VAE's optimal posterior variance in a direction of
#: variance v is beta NOISE^2 / v, and the latent is passive from beta NOISE^2 > v on.
NARROW, WIDE = 0.1, 0.2236
GRADED = (4.0, 2.0, 1.0, 0.4, 0.25, 0.12)


def measure(run: Run) -> Measured:
    """How much more the encoder's variance is than at beta 1, in units of what beta would do."""
    of = subject(run, rows=2000)
    spec = of.spec.model_dump()
    objective, data = spec["objective"], spec["data"]
    strength = objective["beta"] + objective.get("alpha", 0.0)
    values = np.sort(np.asarray(data["eigenvalues"], dtype=np.float64))[::-1]
    log_optimum = np.log(spec["likelihood"]["scale"] ** 2 / values)
    rise = float(np.log(of.codes.variance).mean() - log_optimum.mean())
    return {
        "strength": strength,
        "log_variance": float(np.log(of.codes.variance).mean()),
        "likeness": rise / math.log(strength) if strength > 1.0 else None,
        "rate": rate(of),
        "passive": counts(of)["passive"],
    }


def training(scale: Scale) -> Trained:
    smoke = scale == "smoke"
    steps = {"smoke": 20, "laptop": 3000, "paper": 30_000}[scale]
    seeds = product({"seed": range({"smoke": 2, "laptop": 8, "paper": 20}[scale])})
    batches = (8,) if smoke else (8, 32, 128)

    def base(values: tuple[float, ...], noise: float, n: int) -> dict[str, Any]:
        return {
            "preset": "vae", "data.name": "linear-gaussian", "data.eigenvalues": list(values),
            "data.dimension": 8, "data.n": n, "latent": len(values), "net.name": "linear",
            "likelihood.name": "gaussian", "likelihood.scale": noise, "steps": steps,
            "optimiser.lr": {"name": "cosine", "start": 1e-2, "stop": 1e-4, "steps": steps},
        }  # fmt: skip

    def with_beta(common: dict[str, Any], strengths: tuple[float, ...]) -> list[dict[str, Any]]:
        named = {**common, "objective.name": "beta-vae"}
        return nest([named], zipped({"objective.beta": [float(s) for s in strengths]}))

    def with_estimate(common: dict[str, Any], strengths: tuple[float, ...]) -> list[dict[str, Any]]:
        named = {
            **common, "objective.name": "decomposition", "objective.divergence": "exclusive-kl",
            "objective.beta": 1.0,
        }  # fmt: skip
        return nest([named], zipped({"objective.alpha": [float(s - 1.0) for s in strengths]}))

    narrow = [{**base((1.0,) * 4, NARROW, 100_000), "batch": batch} for batch in batches]
    graded = {**base(GRADED, WIDE, 10_000), "batch": 64}
    some, more = (2.0, 4.0), (2.0, 4.0, 10.0)
    return Trained(
        (
            *cells(nest(with_beta(narrow[0], some), seeds), part="narrow", method="beta-VAE"),
            *(
                cell
                for common in narrow
                for cell in cells(
                    nest(with_estimate(common, some), seeds), part="narrow", method="estimate"
                )
            ),
            *cells(nest(with_beta(graded, more), seeds), part="graded", method="beta-VAE"),
            *cells(nest(with_estimate(graded, more), seeds), part="graded", method="estimate"),
        ),
        measure,
    )


def _narrow(strength: float) -> dict[str, Any]:
    return {"part": "narrow", "method": "estimate", "batch": 8, "strength": strength}


def _graded(method: str, strength: float) -> dict[str, Any]:
    return {"part": "graded", "method": method, "strength": strength}


TRAINING = Study(
    id="004/appendix-c-training",
    title="Training with the biased estimate is training a beta-VAE",
    work=training,
    claims=(
        *(
            Claim(
                "training with the estimate as a regulariser widens the encoder as the beta-VAE of "
                f"the same strength does (strength {strength:g}, batch 8 of 100,000)",
                "004 App. C",
                Level("likeness", _narrow(strength)),
                "above",
                0.8,
                paper="similar behaviour",
            )
            for strength in (2.0, 4.0)
        ),
        Claim(
            "the likeness to the beta-VAE falls with the batch",
            "004 App. C",
            Trend("likeness", "batch", {"part": "narrow", "method": "estimate", "strength": 2.0}),
            "below",
            -0.5,
            paper="said, without a number",
        ),
        *(
            Claim(
                "it leaves as many latents passive as the beta-VAE of the same strength "
                f"(strength {strength:g}, batch 64 of 10,000)",
                "004 App. C",
                Gap("passive", _graded("estimate", strength), _graded("beta-VAE", strength)),
                "above",
                -0.5,
                paper="similar behaviour whenever the batch is much smaller than the data",
            )
            for strength in (4.0, 10.0)
        ),
    ),
    panels=(
        Curves(
            "Widening of the encoder; 1 is the beta-VAE's", "likeness", "batch", "strength",
            where={"part": "narrow", "method": "estimate"}, log=True,
        ),
        Curves("Passive latents", "passive", "strength", "method", where={"part": "graded"}),
        Curves("Rate, nats", "rate", "strength", "method", where={"part": "graded"}),
    ),
    covers=("004 App C",),
    about=(
        "Linear VAEs on linear-Gaussian data. Matched are beta = strength, and beta = 1 with "
        "alpha = strength - 1 on the estimate of KL(q(z) || p(z)) by eq. (10): where the appendix "
        "is right the two losses differ by a constant. At beta 1 the optimum has q(z) = p(z), so "
        "that the divergence itself would change nothing, and whatever the estimate changes is "
        "its bias: likeness is log(variance over that at beta 1's optimum) / log(strength), 1 if "
        "it acts like the beta-VAE and 0 if like the divergence. Two parts, since the appendix "
        "assumes more than a batch much smaller than the data, namely that encodings hardly ever "
        "overlap: `narrow`, four latents with deviations of 0.1 to 0.2; and `graded`, six "
        "latents of variances 4 to 0.12 with noise of variance 0.05, of which strength 4 makes "
        "the beta-VAE drop one and strength 10 three, so that encodings become wide."
    ),
)  # fmt: skip
