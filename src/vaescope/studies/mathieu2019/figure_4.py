"""Figure 4 of mathieu2019: sparse codes by a sparse prior and a match of the aggregate."""

from typing import Any

import numpy as np
import torch

from vaescope.decomposition.aggregate import mmd
from vaescope.decomposition.sparsity import hoyer
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import Gap, Trend
from vaescope.studies.measuring import distortion, subject
from vaescope.studies.panels import Curves
from vaescope.studies.study import Cell, Measured, Scale, Study, Trained, cells
from vaescope.sweeps.grid import nest, product

__all__ = ["STUDY", "at", "measure", "swept"]

#: Samples of either side between which the discrepancy is measured.
SAMPLES = 1000
ALPHAS = (0.0, 10.0, 100.0, 300.0)
#: The paper's values; the released scripts' 0.8 is run beside them at its scale.
GAMMAS = (0.0, 0.9)
PAPER_GAMMAS = (*GAMMAS, 0.8)
#: App. B: cropped CelebA, 60 epochs of its training rows, 162,079 of the split here.
PAPER = {
    "data.name": "celeba", "split.shares": [0.8, 0.1, 0.1], "optimiser.lr": 2e-4,
    "optimiser.betas": [0.5, 0.999], "batch": 256, "steps": 37_987,
}  # fmt: skip
SUBSTITUTE = "Fashion-MNIST for CelebA, as in the released code"


def measure(run: Run) -> Measured:
    """Sparsity of the means, distortion, and the discrepancy of q(z) and p(z), each by latent."""
    of = subject(run)
    sample = of.codes.sample[:SAMPLES].astype(np.float64)
    noise = rng(0, "figure-4").standard_normal(sample.shape)
    prior = of.vae.prior().at(torch.from_numpy(noise)).double().numpy()
    varies = np.any(of.codes.mean != of.codes.mean[0], axis=0)
    return {
        # A collapsed model has no number: its seed helps neither side.
        "hoyer": hoyer(of.codes).hoyer if varies.sum() > 1 else None,
        "distortion": distortion(of),
        "mmd": mmd(sample, prior),
    }


def swept(
    base: dict[str, Any], gamma: float, beta: float, alphas: tuple[float, ...], seeds: int
) -> tuple[Cell, ...]:
    """Models of one prior and beta at several alphas."""
    found: tuple[Cell, ...] = ()
    for alpha in alphas:
        # Without alpha the discrepancy need not be computed: the beta-VAE is the same objective.
        name = {"objective.name": "decomposition", "objective.alpha": alpha}
        chosen = name if alpha else {"objective.name": "beta-vae"}
        settings = {**base, **chosen, "objective.beta": beta, "prior.gamma": gamma}
        found += cells(
            nest([settings], product({"seed": range(seeds)})), gamma=gamma, beta=beta, alpha=alpha
        )
    return found


def work(scale: Scale) -> Trained:
    seeds = {"smoke": 2, "laptop": 16, "paper": 3}[scale]
    base: dict[str, Any] = {"preset": "sparse-vae"}
    small = {"net.name": "mlp"}
    if scale == "smoke":
        base |= {"data.name": "digits", **small, "net.encoder": [32], "net.decoder": [32]}
        base |= {"latent": 5, "batch": 32, "steps": 20}
        return Trained(
            "mathieu2019-figure-4",
            sum((swept(base, gamma, 1.0, (0.0, 100.0), seeds) for gamma in GAMMAS), ())
            + swept(base, 0.9, 5.0, (0.0,), seeds),
            measure,
            version=2,
        )
    if scale == "laptop":
        base |= {"data.size": 28, **small, "net.encoder": [128], "net.decoder": [128]}
        base |= {"latent": 20, "batch": 64, "steps": 1500, "optimiser.lr": 1e-3}
    betas, gammas = ((5.0,), GAMMAS) if scale == "laptop" else ((0.1, 5.0), PAPER_GAMMAS)
    strong = (0.0,) if scale == "laptop" else (0.0, 100.0)
    if scale == "paper":
        base |= PAPER
    return Trained(
        "mathieu2019-figure-4",
        sum((swept(base, gamma, 1.0, ALPHAS, seeds) for gamma in gammas), ())
        + sum((swept(base, gamma, b, strong, seeds) for gamma in gammas for b in betas), ()),
        measure,
        version=2,
    )


def at(gamma: float, alpha: float, beta: float = 1.0) -> dict[str, Any]:
    """Rows of one prior, alpha and beta."""
    return {"gamma": gamma, "alpha": alpha, "beta": beta}


STUDY = Study(
    id="mathieu2019/figure-4",
    title="Sparse codes: a sparse prior needs the match of the aggregate",
    work=work,
    claims=(
        Claim(
            "a sparse prior gives more sparsity than a Gaussian one (gamma 0.9, alpha 100)",
            "mathieu2019 section 6.3, Fig. 4 left",
            Gap("hoyer", at(0.9, 100.0), at(0.0, 100.0)),
            "above",
            0.05,
            "substantial, shown as curves",
            SUBSTITUTE,
            primary=True,
            quote="substantial sparsity can be gained by replacing a Gaussian prior (gamma=0) by a "
            "sparse prior (gamma=0.9)",
            control=Control(
                "the Gaussian prior in its place, at alpha 300",
                Gap("hoyer", at(0.0, 300.0), at(0.0, 100.0)),
            ),
        ),
        Claim(
            "with the sparse prior alpha > 0 gives far more sparsity than alpha 0",
            "mathieu2019 section 6.3, Fig. 4 left",
            Gap("hoyer", at(0.9, 100.0), at(0.9, 0.0)),
            "above",
            0.05,
            "far lower at alpha 0, shown as curves",
            SUBSTITUTE,
            control=Control("with the Gaussian prior", Gap("hoyer", at(0.0, 100.0), at(0.0, 0.0))),
        ),
        Claim(
            "with the Gaussian prior alpha does not change sparsity",
            "mathieu2019 Fig. 4 left",
            Gap("hoyer", at(0.0, 100.0), at(0.0, 0.0)),
            "within",
            0.0,
            "flat, shown as curves",
            SUBSTITUTE,
            margin=0.05,
            control=Control("with the sparse prior", Gap("hoyer", at(0.9, 100.0), at(0.9, 0.0))),
        ),
        Claim(
            "alpha 100 costs less reconstruction than beta 5, with both priors",
            "mathieu2019 section 6.3, Fig. 4 centre",
            Gap("distortion", at(0.9, 0.0, 5.0), at(0.9, 100.0)),
            "above",
            0.0,
            "very small against beta's, shown as curves",
            SUBSTITUTE,
            also=(Test(Gap("distortion", at(0.0, 0.0, 5.0), at(0.0, 100.0)), "above", 0.0),),
            control=Control("beta left at 1", Gap("distortion", at(0.9, 0.0), at(0.9, 100.0))),
        ),
        Claim(
            "the discrepancy of q(z) and p(z) falls with alpha",
            "mathieu2019 Fig. 4 right",
            Trend("mmd", "alpha", {"gamma": 0.9, "beta": 1.0}),
            "below",
            -0.5,
            "shown as curves",
            SUBSTITUTE,
            control=Control(
                "the distortion of the same models",
                Trend("distortion", "alpha", {"gamma": 0.9, "beta": 1.0}),
            ),
        ),
    ),
    panels=(
        Curves("Hoyer sparsity", "hoyer", "alpha", "gamma", where={"beta": 1.0}),
        Curves("Distortion, nats", "distortion", "alpha", "beta", where={"gamma": 0.9}),
        Curves("MMD of q(z) and p(z)", "mmd", "alpha", "gamma", where={"beta": 1.0}),
    ),
    covers=("mathieu2019 Fig 4 left", "mathieu2019 Fig 4 centre", "mathieu2019 Fig 4 right"),
    about=(
        "Fashion-MNIST at 28 pixels with fully connected nets of 128, 20 latents, 1,500 steps of "
        "64, instead of DCGAN nets, 50 latents and 60 epochs; the likelihood (Laplace, 0.1) and "
        "the discrepancy by latent are the released code's, which stands for the paper's CelebA; "
        "gamma is the paper's 0.9, where the released scripts have 0.8. The spike's 0.05 is a "
        "standard deviation (docs/errata.md). Hoyer's measure is of means divided by their "
        "deviations over the data, so that collapsed latents are not taken for sparse ones; a "
        "dense Gaussian code of 20 latents has 0.26, not 0."
    ),
    found=(
        "Six seeds of the registered 16 were run, which cannot decide: units were added in their "
        "order until time was up. Hoyer's measure is 0.35 at alpha 0 and 0.43 at 100 with the "
        "sparse prior, 0.23 and 0.21 with the Gaussian one, so that the sparse prior leads by 0.21 "
        "to 0.26 in every seed. All of the gain that alpha brings comes with the first step, alpha "
        "10 (0.44), where the discrepancy falls from 10.2 to 1.4; a larger alpha costs "
        "reconstruction and lowers sparsity in the end (0.39 at 300). That alpha 100 costs less "
        "than beta 5 is against the table: with the sparse prior it costs 52 nats and beta 5 costs "
        "61, on a scale where distortions are near -600, in this order in five of six seeds; with "
        "the Gaussian prior it is the reverse in all six, 71 against 51. At alpha 10 it would cost "
        "less than beta 5 does. The discrepancy at alpha 100 is 0.28 with the sparse prior and "
        "0.12 with the Gaussian one, in this order in every seed. Whether training is at rest is "
        "not in this table; in an older one, of gamma 0.8, distortion fell by about 8 nats over "
        "the last 100 of 1,500 steps."
    ),
)
