"""Figure 2 of mathieu2019: priors that are not rotationally symmetric, and FactorVAE's score."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from vaescope.codes import Codes
from vaescope.metrics.factor_vae import factor_vae
from vaescope.model_specs import StudentTPriorSpec
from vaescope.runs import Run
from vaescope.studies.blocks import Blocked, Share
from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import AtEqual, Gap, Ratio
from vaescope.studies.measuring import counts, distortion, relabelled, subject
from vaescope.studies.panels import Curves, Scatter
from vaescope.studies.study import Measured, Scale, Study, Trained, cells
from vaescope.sweeps.grid import nest, product
from vaescope.types import Floats

__all__ = ["ANISOTROPIC", "SEED_SHARE", "STUDENT_T"]

#: 3,072 ellipses: 3 scales, 4 of the 20 orientations that differ, every other position.
EVERY_OTHER = list(range(0, 32, 2))
GRID = {
    "shape": [1], "scale": [0, 2, 5], "orientation": [0, 5, 10, 15], "x": EVERY_OTHER,
    "y": EVERY_OTHER,
}  # fmt: skip
TINY_GRID = {"shape": [1], "scale": [0, 5], "orientation": [0], "x": [0, 8, 16], "y": [0, 8, 16]}
#: The score is of the whole grid, here and at the paper's scale.
ROWS = 737_280
#: Examples whose distortion is taken.
EXAMPLES = 3072
#: What the paper prints for the two halves of the figure (App. B); the presets have the released
#: scripts' values.
PAPER = {
    "anisotropic-vae": {"optimiser.lr": 1e-4, "batch": 64, "steps": 230_400},  # 20 epochs
    "student-t-vae": {"optimiser.lr": 1e-4, "batch": 256, "steps": 115_200},  # 40 epochs
}
#: Votes that assign latents to factors, and that judge: 20,000 and the same ones in the paper.
VOTES, TEST_VOTES = 4000, 2000
BETAS = (1.0, 2.0, 4.0, 8.0)
DFS = (1.5, 3.0, 5.0, 10.0, 30.0)
#: Sixteen seeds are four blocks of four, which decide nothing even if they agree; 64 are sixteen.
CAP = 64
SUBSTITUTE = "3,072 dSprites ellipses of 32 pixels, small MLPs"


def by_rank(codes: Codes) -> Codes:
    """The same order of means in each latent, with the spacing of normal quantiles."""
    ranks = stats.rankdata(codes.mean, axis=0)
    return replace(codes, mean=stats.norm.ppf((ranks - 0.5) / codes.n))


def to_normal(mean: Floats, df: float) -> Floats:
    """The map that takes a Student-t to a normal: what the released code scores besides."""
    tail = stats.t.logsf(np.abs(mean), df)  # by the tail: no digit is lost where cdf is near 1
    return np.asarray(np.sign(mean) * stats.norm.isf(np.exp(tail)))


def _score(codes: Codes) -> float:
    found = factor_vae(codes, votes=VOTES, test_votes=TEST_VOTES, resamples=0)
    return found.value


def measure(run: Run) -> Measured:
    """FactorVAE's score of the means as they are, by rank and, of a Student-t, as a normal."""
    of = subject(run, rows=ROWS)
    prior, raw, rank = of.experiment.prior, _score(of.codes), _score(by_rank(of.codes))
    mapped = None
    if isinstance(prior, StudentTPriorSpec):
        mapped = _score(replace(of.codes, mean=to_normal(of.codes.mean, prior.df)))
    return {
        "score": raw,
        "score_by_rank": rank,
        "score_as_normal": mapped,
        "rank_gain": rank - raw,
        "score_permuted": _score(relabelled(of.codes)),
        "distortion": distortion(of, rows=EXAMPLES),
        **counts(of),
    }


def _base(scale: Scale, preset: str) -> dict[str, Any]:
    """The preset with the paper's training at its scale, else small data and nets."""
    if scale == "paper":
        return {"preset": preset, **PAPER[preset]}
    smoke = scale == "smoke"
    return {
        "preset": preset, "data.size": 32, "data.grid": TINY_GRID if smoke else GRID,
        "net.name": "mlp", "net.encoder": [40, 40], "net.decoder": [40, 40],
        "latent": 4 if smoke else 10, "optimiser.lr": 2e-3, "steps": 20 if smoke else 3000,
    }  # fmt: skip


def _seeds(scale: Scale) -> list[dict[str, Any]]:
    return product({"seed": range({"smoke": 2, "laptop": 12, "paper": 100}[scale])})


def priors(scale: Scale) -> Trained:
    """Three Gaussian priors, beta swept."""
    base = _base(scale, "anisotropic-vae")
    betas = product({"objective.beta": (1.0, 4.0) if scale == "smoke" else BETAS})
    kinds: Mapping[str, dict[str, Any]] = {
        "isotropic": {"prior.name": "normal"},
        "PCA": {"prior.learned": False},
        "learned": {"prior.learned": True},
    }
    return Trained(
        "mathieu2019-figure-2",
        tuple(
            cell
            for name, kind in kinds.items()
            for cell in cells(nest(nest([{**base, **kind}], betas), _seeds(scale)), prior=name)
        ),
        measure,
        version=4,
    )


def degrees_of_freedom(scale: Scale) -> Trained:
    """Student-t priors at beta 1, and the normal that they tend to."""
    base = _base(scale, "student-t-vae")
    dfs = (1.5, 5.0) if scale == "smoke" else DFS
    student = (
        cell
        for df in dfs
        for cell in cells(nest([{**base, "prior.df": df}], _seeds(scale)), prior=f"t {df:g}", df=df)
    )
    normal = cells(nest([{**base, "prior.name": "normal"}], _seeds(scale)), prior="normal")
    return Trained("mathieu2019-figure-2", (*student, *normal), measure, version=4)


def _at_equal(score: str, high: str, low: str) -> Blocked:
    """Over blocks of four seeds: single seeds are near a coin's toss."""
    return Blocked(AtEqual(score, "distortion", {"prior": high}, {"prior": low}))


def _gap(score: str, high: dict[str, Any], low: dict[str, Any]) -> Blocked:
    return Blocked(Gap(score, high, low))


_LABELS = "labels of other images"


def _better(says: str, high: str, low: str) -> Claim:
    return Claim(
        says, "mathieu2019 Fig. 2 top", _at_equal("score", high, low), "above", 0.0,
        "shown as curves over 100 nets", SUBSTITUTE,
        control=Control(_LABELS, _at_equal("score_permuted", high, low)),
    )  # fmt: skip


def _prior(name: str) -> dict[str, Any]:
    return {"prior": name}


_SCALED = (
    "3,072 ellipses of 32 pixels (3 scales, 4 orientations, 16 x 16 positions), fully connected "
    "nets of 40-40, 10 latents, 3,000 steps instead of 230,400 on all of dSprites. "
    "FactorVAE's score is from the codes of the whole grid, 4,000 votes to assign latents and "
    "2,000 others to judge (the paper: 20,000, judged by the same); latents of deviation under "
    "0.05 are left out, as in disentanglement_lib, not in the paper's code."
)

ANISOTROPIC = Study(
    id="mathieu2019/figure-2-anisotropic",
    title="Anisotropic Gaussian priors and disentanglement",
    work=priors,
    claims=(
        replace(
            _better(
                "at equal distortion a learned anisotropic prior scores higher than the isotropic "
                "one, and than one fixed to the data's principal variances",
                "learned",
                "isotropic",
            ),
            where="mathieu2019 section 6.1, Fig. 2 top",
            also=(Test(_at_equal("score", "learned", "PCA"), "above", 0.0),),
            primary=True,
            quote="for a given reconstruction loss, implicitly fixed by beta, non-isotropic "
            "Gaussian priors get better disentanglement scores, with improvement achieved when the "
            "prior variance is learnt",
        ),
        _better("so does one that is fixed to the data's principal variances", "PCA", "isotropic"),
        Claim(
            "with an isotropic prior the score does not change from beta 1 to beta 4",
            "mathieu2019 section 4.1",
            _gap(
                "score",
                {**_prior("isotropic"), "objective.beta": 4.0},
                {**_prior("isotropic"), "objective.beta": 1.0},
            ),
            "within",
            0.0,
            "no gains were observed",
            SUBSTITUTE,
            margin=0.05,
            control=Control(
                "the learned prior from beta 1 to beta 4",
                _gap(
                    "score",
                    {**_prior("learned"), "objective.beta": 4.0},
                    {**_prior("learned"), "objective.beta": 1.0},
                ),
            ),
            remark="The paper saw no gain; a fall, which it does not exclude, votes against this "
            "sentence.",
        ),
    ),
    panels=(
        Scatter("Score against distortion", "score", "distortion", "prior"),
        Curves("Score", "score", "objective.beta", "prior", log=True),
    ),
    covers=("mathieu2019 Fig 2 top",),
    about=(
        f"{_SCALED} Principal variances are of centred data in descending order; the released code "
        "takes the 20th to the 11th of data that are not centred (docs/errata.md), a much weaker "
        "anisotropy. Compared at equal distortion by interpolating each seed's curve over beta."
    ),
    found=(
        "Undecided: what varies is the seed. At equal distortion and averaged over 16 seeds the "
        "score of fixed principal variances is 0.05 above that of the isotropic prior, that of "
        "learned ones 0.03 above it and 0.03 below the fixed ones; among seeds of one prior and "
        "beta it spreads by 0.04 to 0.15. So the paper's first half, that anisotropic priors score "
        "higher, has the same sign here and its second half, that learning the variances improves "
        "it, has not: no block of four agrees with both. With labels of other images all "
        "scores are 0.26. Beta 4 scores 0.06 below beta 1 with an isotropic prior (0.70 and 0.77), "
        "which is no gain, as the paper has it; two of four blocks fall by more than 0.05. Four "
        "factors and small nets on 3,072 images leave little room for a prior: the mean score is "
        "between 0.68 and 0.81 in all "
        "twelve settings."
    ),
    cap=CAP,
)

STUDENT_T = Study(
    id="mathieu2019/figure-2-student-t",
    title="Student-t priors and disentanglement",
    work=degrees_of_freedom,
    claims=(
        Claim(
            "5 degrees of freedom score higher than the normal, at a distortion of at most 5% more",
            "mathieu2019 section 6.1, Fig. 2 bottom",
            _gap("score", _prior("t 5"), _prior("normal")),
            "above",
            0.0,
            "shown as a curve over 100 nets",
            SUBSTITUTE,
            also=(
                Test(Blocked(Ratio("distortion", _prior("t 5"), _prior("normal"))), "below", 1.05),
            ),
            primary=True,
            quote="reducing nu only incurs a minor reconstruction penalty, for improved "
            "disentanglement",
            control=Control(_LABELS, _gap("score_permuted", _prior("t 5"), _prior("normal"))),
        ),
        Claim(
            "at 1.5 degrees of freedom the score drops again, and stays above the normal's",
            "mathieu2019 section 6.1, Fig. 2 bottom",
            _gap("score", _prior("t 1.5"), _prior("t 5")),
            "below",
            0.0,
            "shown as a curve over 100 nets",
            SUBSTITUTE,
            also=(Test(_gap("score", _prior("t 1.5"), _prior("normal")), "above", 0.0),),
            control=Control(_LABELS, _gap("score_permuted", _prior("t 1.5"), _prior("t 5"))),
        ),
        Claim(
            "the drop is the metric's: scoring ranks gives back more at 1.5 degrees of freedom "
            "than at 5",
            "mathieu2019 section 6.1",
            _gap("rank_gain", _prior("t 1.5"), _prior("t 5")),
            "above",
            0.0,
            "speculated",
            SUBSTITUTE,
            control=Control(
                "30 degrees of freedom in place of 1.5",
                _gap("rank_gain", _prior("t 30"), _prior("t 5")),
            ),
        ),
    ),
    panels=(
        Curves("Score of the means", "score", "df", log=True),
        Curves("Score of their ranks", "score_by_rank", "df", log=True),
        Curves("Distortion, nats", "distortion", "df", log=True),
        Scatter("Score against distortion", "score", "distortion", "prior"),
    ),
    covers=("mathieu2019 Fig 2 bottom",),
    about=(
        f"{_SCALED} Beta 1; the rate is taken at the sample, as the paper's code has it. FactorVAE "
        "compares variances within a batch with those over all codes, so that single far codes "
        "weigh much: beside the raw score are those of the means' normal ranks, which no tail can "
        "disturb, and of the means through the map from the prior to a normal, which the released "
        "code prints and the paper does not mention."
    ),
    found=(
        "Undecided, with no sign of a gain: the score is 0.77 with a normal prior and 0.70 with "
        "five degrees of freedom, lower in each of the four blocks, which cannot decide it even if "
        "they agree; distortion is 33.3 and 33.7 nats. The paper's curve is over 100 nets on all "
        "of dSprites. From 1.5 to 30 degrees the score is 0.67 to 0.76 and spreads by 0.08 to 0.13 "
        "over seeds, so that the drop at 1.5 (0.67) does not stand out. Ranks do not recover it: "
        "they lower the score everywhere, by 0.03 at 1.5 and by 0.05 to 0.08 above. The map from "
        "the prior to a normal, which is what the released code scores, raises it by 0.07 at 1.5, "
        "0.05 at 3, 0.04 at 5, 0.02 at 10 and 0.00 at 30, to 0.74, 0.75, 0.74, 0.77 and 0.73: "
        "most of what heavy tails seem to cost is the metric's. Latents are typed against the "
        "Gaussian nearest to the prior: against N(0, 1) unused ones would be called mixed."
    ),
    cap=CAP,
)

SEED_SHARE = Study(
    id="mathieu2019/seed-share",
    title="How much of the score is the seed's",
    work=priors,
    claims=(
        Claim(
            "seeds make more of the variance of scores than beta and the prior do",
            "mathieu2019 section 4.1",
            Share("score", ("prior", "objective.beta")),
            "above",
            0.5,
            "extremely high levels of variation",
            SUBSTITUTE,
            primary=True,
            quote="It may also go some way to explaining the extremely high levels of variation "
            "we found",
            control=Control(
                "the distortion of the same models",
                Share("distortion", ("prior", "objective.beta")),
            ),
        ),
    ),
    panels=(
        Curves("Score", "score", "objective.beta", "prior", log=True),
        Curves("Distortion, nats", "distortion", "objective.beta", "prior", log=True),
    ),
    covers=("mathieu2019 Fig 2 top",),
    about=(
        "The runs of mathieu2019/figure-2-anisotropic: three priors, four betas. A share "
        "is of the sum of squares about the overall mean, seeds' part being what is left about the "
        "mean of each prior and beta, in blocks of four seeds: noise alone would leave them 0.77 "
        "of it, so that the threshold of 0.5 is easy."
    ),
    found=(
        "Within blocks of four seeds these account for 0.59 to 0.70 of the variance of the score "
        "and 0.05 to 0.09 of that of the distortion, which beta decides. Four blocks cannot "
        "decide the claim even if they agree."
    ),
    cap=CAP,
)
