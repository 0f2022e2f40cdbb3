"""What grzes2023 derives or asks and does not try: latents beyond the manifold's dimension (Theorem
1), the bounds of eq. 12, collapse under KL pressure, and downstream tasks with learnt prior means.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.metrics.logistic import standardised_multinomial
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Condition, Control
from vaescope.studies.effects import Level, Ratio, Trend
from vaescope.studies.grzes2023.linear_ivae import CLASSES, Classes, LinearIVAE, R, classes, fit
from vaescope.studies.panels import Curves, Dots
from vaescope.studies.study import Cell, Computed, Measured, Scale, Study
from vaescope.tables import Value
from vaescope.types import Floats

__all__ = ["DISCARDED", "LEARNED_MEANS", "PRESSURE"]

#: The decoder's variance.
GAMMA = 0.1
LATENTS, PRECISE = (2, 3, 5, 8), 0.01
BETAS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
#: Rows of which a class is told.
ROWS = 3000
_SEEDS: Mapping[Scale, int] = {"smoke": 2, "laptop": 16, "paper": 48}
_ROUNDS: Mapping[Scale, int] = {"smoke": 50, "laptop": 2000, "paper": 2000}


def _cells(scale: Scale, arms: Mapping[str, Mapping[str, Value]]) -> tuple[Cell, ...]:
    return tuple(
        Cell({}, {"seed": seed, "arm": arm, "rounds": _ROUNDS[scale], **own})
        for seed in range(_SEEDS[scale])
        for arm, own in arms.items()
    )


def _fitted(columns: Mapping[str, Any], data: Classes, **options: Any) -> LinearIVAE:
    return fit(
        data, int(columns["seed"]), int(columns["latent"]), gamma=float(columns["gamma"]),
        rounds=int(columns["rounds"]), **options,
    )  # fmt: skip


def _counts(found: LinearIVAE) -> dict[str, Value]:
    ever, always = found.used.any(axis=0), found.used.all(axis=0)
    return {
        "used": float(found.used.sum(axis=1).max()), "used_mean": float(found.used.sum(1).mean()),
        "ever_used": float(ever.sum()), "mixed": float((ever & ~always).sum()),
        "distortion": found.distortion, "rate": float(found.kl.sum(axis=1).mean()),
        "change": found.change,
    }  # fmt: skip


def inside(found: LinearIVAE, gamma: float, *, full: bool = False, reverse: bool = False) -> float:
    """The share of posterior variances, in order, that lie within eq. 12's bounds, which are in the
    order of the eigenvalues of the decoder's Gram matrix: the largest belongs to the least. With
    `full` of the eigenvalues of eq. 11's covariance, which is not diagonal."""
    gram = found.decoder.T @ found.decoder / gamma
    eigenvalues, v = np.linalg.eigvalsh(gram), found.prior_variance  # ascending
    low = 1.0 / (1.0 / v.min(axis=1)[:, None] + eigenvalues)
    high = 1.0 / (1.0 / v.max(axis=1)[:, None] + eigenvalues)
    variances: NDArray[Any] = np.sort(found.sigma, axis=1)
    if full:
        variances = np.linalg.eigvalsh(np.linalg.inv(gram + np.eye(v.shape[1]) / v[:, None, :]))
    variances = variances if reverse else variances[:, ::-1]
    within = (variances >= low * (1.0 - 1e-6)) & (variances <= high * (1.0 + 1e-6))
    return float(within.mean())


def discarded(columns: Mapping[str, Any]) -> Measured:
    """How many latents are above the prior in some class, by class, and how wide they are."""
    found = _fitted(columns, classes(int(columns["seed"]), r=int(columns["r"])))
    ratio = found.sigma / found.prior_variance
    idle = ratio[~found.used]
    gamma = float(columns["gamma"])
    return {
        **_counts(found),
        "ratio_used": float(ratio[found.used].mean()) if found.used.any() else None,
        "ratio_idle": float(idle.mean()) if idle.size else None,
        "inside": inside(found, gamma), "inside_reversed": inside(found, gamma, reverse=True),
        "inside_full": inside(found, gamma, full=True),
    }  # fmt: skip


def _discarded(scale: Scale) -> Computed:
    arms: dict[str, dict[str, Value]] = {
        f"{k} latents": {"latent": k, "r": R, "gamma": GAMMA} for k in LATENTS
    }
    arms["6 dimensions"] = {"latent": 8, "r": 6, "gamma": GAMMA}
    # Where the decoder is precise the rounds go slowly.
    precise: dict[str, Value] = {"r": R, "gamma": PRECISE, "rounds": 3 * _ROUNDS[scale]}
    arms["precise"] = {"latent": R, **precise}
    arms["precise, 8 latents"] = {"latent": 8, **precise}
    return Computed("grzes2023-discarded", _cells(scale, arms), discarded)


def pressure(columns: Mapping[str, Any]) -> Measured:
    """Latents above the prior, and how many eigenvalues of a class's data are above beta gamma."""
    data = classes(int(columns["seed"]), equal=bool(columns["equal"]))
    beta, gamma = float(columns["beta"]), float(columns["gamma"])
    found = _fitted(columns, data, beta=beta)
    above = (np.linalg.eigvalsh(data.covariance) > beta * gamma).sum(axis=1)
    missed = np.abs(found.used.sum(axis=1) - above)
    return {
        **_counts(found), "predicted": float(above.mean()), "missed": float(missed.mean()),
        "missed_unpressed": float(np.abs(R - above).mean()),
    }  # fmt: skip


def _pressure(scale: Scale) -> Computed:
    arms: dict[str, dict[str, Value]] = {}
    for beta in BETAS:
        own: dict[str, Value] = {"beta": beta, "latent": 6}
        arms[f"beta {beta:g}"] = {**own, "gamma": GAMMA, "equal": False, "sweep": "beta"}
        arms[f"beta {beta:g}, precise"] = {
            **own, "gamma": GAMMA / beta, "equal": False, "sweep": "beta with gamma",
        }  # fmt: skip
    arms["equal classes"] = {
        "beta": 30.0, "latent": 6, "gamma": GAMMA, "equal": True,
        "sweep": "equal classes",
    }  # fmt: skip
    return Computed("grzes2023-pressure", _cells(scale, arms), pressure)


def _told(values: Floats, labels: NDArray[np.int64], seed: int) -> float:
    """Accuracy of the class by a logistic regression, on the last third."""
    if not values.shape[1]:
        return 1.0 / CLASSES
    cut = 2 * len(values) // 3
    model = standardised_multinomial(values[:cut], labels[:cut], seed=seed)
    return float((model.predict(values[cut:]) == labels[cut:]).mean())


def _explained(values: Floats, sources: Floats) -> float:
    """Share of the sources' variance that a least-squares fit explains, mean over sources."""
    design = np.column_stack([values, np.ones(len(values))])
    solution = np.linalg.lstsq(design, sources, rcond=None)[0]
    return float(1.0 - ((sources - design @ solution).var(0) / sources.var(0)).mean())


def learned_means(columns: Mapping[str, Any]) -> Measured:
    """How well the class and the sources are told from all means, without the passive ones, from
    them alone, and without as many that are used; and of samples."""
    seed = int(columns["seed"])
    data = classes(seed, spread=1.0)
    found = _fitted(columns, data, learned_mean=bool(columns["learned"]))
    draw = rng(seed, "linear-ivae-rows")
    labels = draw.integers(CLASSES, size=ROWS)
    sources = data.source_mean[labels] + data.source_scale[labels] * draw.normal(size=(ROWS, R))
    x = sources @ data.mixing.T
    mean = (found.weights[labels] @ x[..., None])[..., 0] + found.offset[labels]
    sample = mean + np.sqrt(found.sigma[labels]) * draw.normal(size=mean.shape)
    passive = ~found.used.any(axis=0)
    kept = np.flatnonzero(~passive)
    few = kept[: int(passive.sum())]
    every, whole = _told(mean, labels, seed), _explained(mean, sources)
    dropped = np.delete(mean, few, axis=1)
    return {
        **_counts(found), "passive": float(passive.sum()), "all": every,
        "passive_alone": _told(mean[:, passive], labels, seed),
        "passive_samples": _told(sample[:, passive], labels, seed),
        "loss_passive": every - _told(mean[:, ~passive], labels, seed),
        "loss_used": every - _told(dropped, labels, seed),
        "source_loss_passive": whole - _explained(mean[:, ~passive], sources),
        "source_loss_used": whole - _explained(dropped, sources),
    }  # fmt: skip


def _learned_means(scale: Scale) -> Computed:
    arms: dict[str, dict[str, Value]] = {
        name: {"latent": 6, "gamma": GAMMA, "learned": learned}
        for name, learned in (("learnt means", True), ("means fixed at 0", False))
    }
    return Computed("grzes2023-learned-means", _cells(scale, arms), learned_means)


def _arm(name: str) -> Mapping[str, Value]:
    return {"arm": name}


_SPARE = _arm("8 latents")
_MODEL = (
    "Linear identifiable VAEs of data on three dimensions of eight: u is one of four classes, each "
    "with its own variances of the three sources; prior variances are learnt, the encoder has its "
    "own map for each class. Encoder, prior and decoder take their best values in turn, 2,000 "
    "times, from a random decoder, by the data's moments: there is no noise of training, and "
    "nothing that a network could not represent is asked. A latent is used in a class where its KL "
    "to the prior is above 0.01 nats there. The paper has no experiment on this. Four exploratory "
    "seeds (100 to 103), which do not vote, set the numbers of latents, betas and thresholds. "
)

DISCARDED = Study(
    "grzes2023/discarded",
    "Latents beyond the manifold's dimension, and the bounds of eq. 12",
    _discarded,
    (
        Claim(
            "Of eight latents no more than three, the dimension of the data, are above the prior "
            "in any class.",
            "grzes2023 Theorem 1, App. A.1", Level("used", _SPARE), "below", R + 0.5, "r of k",
            primary=True,
            quote="any superfluous variable of iVAEs will seek to lower the cost of the KL "
            "divergence by remaining close to the prior",
            control=Control("data on six dimensions", Level("used", _arm("6 dimensions"))),
        ),
        Claim(
            "Five more latents leave the distortion as it is, within 2%.",
            "grzes2023 App. A.1", Ratio("distortion", _SPARE, _arm("3 latents")), "within", 1.0,
            "will not improve the reconstruction", margin=0.02,
            control=Control("three in place of two",
                            Ratio("distortion", _arm("3 latents"), _arm("2 latents"))),
        ),
        Claim(
            "Where the decoder is precise, some of eight latents are used in some classes only.",
            "grzes2023 Theorem 2(iii)", Level("mixed", _arm("precise, 8 latents")), "above", 0.5,
            "none seen", own=True,
            control=Control("no spare latent", Level("mixed", _arm("precise"))),
        ),
        Claim(
            "Variances of used latents over the prior's are proportional to gamma: a tenth at a "
            "tenth of it, within 0.02.",
            "grzes2023 App. A.1, below eq. 12",
            Ratio("ratio_used", _arm("precise"), _arm("3 latents")), "within", 0.1,
            "at a rate proportional to gamma", margin=0.02,
            control=Control("latents at the prior",
                            Ratio("ratio_idle", _arm("precise, 8 latents"), _SPARE)),
        ),
        Claim(
            "Posterior variances lie within the bounds of eq. 12, where k = r: over 99% of them.",
            "grzes2023 eq. 12", Level("inside", _arm("precise")), "above", 0.99,
            "derived for the eigenvalues of Sigma, which eq. 1 has diagonal",
            control=Control("variances in the reverse order",
                            Level("inside_reversed", _arm("precise"))),
        ),
    ),
    (
        Dots("Most latents used in a class", "used", "arm", threshold=R + 0.5),
        Dots("Latents used in some class", "ever_used", "arm"),
        Dots("Distortion", "distortion", "arm"),
        Dots("Variance of used latents over the prior's", "ratio_used", "arm"),
        Dots("Share within eq. 12", "inside", "arm", threshold=0.99),
        Dots("Share of a full covariance's eigenvalues", "inside_full", "arm"),
    ),
    ("grzes2023 latents beyond r discarded", "grzes2023 eq. 11 with full Sigma, eq. 12"),
    _MODEL,
    "Theorem 1 holds for each u in every seed: of three, five or eight latents exactly three are "
    "above the prior in a class, the others lie on it (variances 1.00 of the prior's), and the "
    "distortion of 0.300, three times gamma, stays. It says nothing over all u: a source may be "
    "handed from one latent to another between classes (in 8 of 16 seeds with five latents, in 3 "
    "with eight, in 10 with eight at gamma 0.01), so that more than three are used in all and some "
    "are mixed, of which the paper saw none. This costs nothing: a "
    "latent whose prior variance goes to 0 in a class leaves its column to a copy "
    "(`tests/studies/test_grzes2023.py`). Whether it happens is left to the start, and stays "
    "undecided. The rate in gamma is as derived: 0.0995 at a tenth (0.097 to 0.100). Eq. 12 fails: "
    "at gamma 0.01 40% of the posterior variances lie within its bounds, in one seed as many as "
    "92%. The bounds are right for eq. 11's covariance, all of whose eigenvalues lie within them "
    "in every cell; but eq. 1 has a diagonal one, whose best variances are 1 / (1 / v_j + "
    "||a_j||^2 / gamma) and need not lie between bounds made of the Gram matrix's eigenvalues, "
    "where columns are not orthogonal. The narrower the bounds, as gamma falls, the fewer lie "
    "within (60% at 0.1).",
    at_optimum=True,
)  # fmt: skip

PRESSURE = Study(
    "grzes2023/pressure",
    "Posterior collapse of identifiable VAEs under KL pressure",
    _pressure,
    (
        Claim(
            "At beta 300 no latent is left in any class.",
            "grzes2023 conclusion", Level("used", _arm("beta 300")), "below", 0.5,
            "asked, not tried", primary=True,
            quote="iVAEs are likely to be sensitive to posterior collapse when the pressure on the "
            "KL divergence is too high",
            control=Control("a decoder that is as much more precise",
                            Level("used", _arm("beta 300, precise"))),
        ),
        Claim(
            "The number of latents in use falls with beta.",
            "grzes2023 conclusion", Trend("used_mean", "beta", {"sweep": "beta"}), "below", 0.0,
            control=Control("a decoder that is as much more precise",
                            Trend("used_mean", "beta", {"sweep": "beta with gamma"})),
        ),
        Claim(
            "On the way, at beta 30, latents are used in some classes only.",
            "grzes2023 Theorem 2(iii)", Level("mixed", _arm("beta 30")), "above", 0.5, own=True,
            control=Control("classes of equal variances", Level("mixed", _arm("equal classes"))),
        ),
        Claim(
            "At beta 30 a class keeps as many latents as its data have principal variances above "
            "beta gamma, but for less than 0.6 on average.",
            "grzes2023 App. A.1", Level("missed", _arm("beta 30")), "below", 0.6, own=True,
            control=Control("all three everywhere", Level("missed_unpressed", _arm("beta 30"))),
        ),
    ),
    (
        Curves("Latents used, mean over classes", "used_mean", "beta", "sweep", log=True),
        Curves("Latents used in some classes only", "mixed", "beta", "sweep", log=True),
        Curves("Rate, nats", "rate", "beta", "sweep", log=True),
        Curves("Principal variances above beta gamma", "predicted", "beta", "sweep", log=True),
    ),
    ("grzes2023 collapse under KL pressure",),
    _MODEL + "Here each has six latents. The control sets the decoder's variance to 0.1 / beta, "
    "which takes the pressure away: the loss depends on their product alone, but for its scale.",
    "The paper's conclusion holds: at beta 1 each class uses three latents, at 10 2.4 in the mean, "
    "at 30 1.4, and from 100 on none; with a decoder as much more precise all three stay at every "
    "beta. What remains at beta 30 is about what probabilistic PCA of each class would keep, the "
    "principal variances above beta gamma (missed by 0.28 of a latent; where all classes "
    "are the same, by none); at 100 the collapse is ahead of it, 0 in place of 0.23, as all "
    "classes share one decoder, and a source that pays in one of four is not kept. On the way the "
    "collapse goes class by class: latents used in some classes only are seen in 14 of 16 seeds at "
    "beta 30, where the other two had none left or the same in each, which is too few for a "
    "verdict.",
    at_optimum=True,
)  # fmt: skip

_LEARNT, _FIXED = _arm("learnt means"), _arm("means fixed at 0")
_SOME = Condition("some latent is passive in all classes", Level("passive", _LEARNT), "above", 0.5)

LEARNED_MEANS = Study(
    "grzes2023/learned-means",
    "Downstream tasks with passive latents whose prior means are learnt",
    _learned_means,
    (
        Claim(
            "Without its passive means a model with learnt prior means tells the class as well: it "
            "loses less than 0.02 of accuracy.",
            "grzes2023 conclusion", Level("loss_passive", _LEARNT), "below", 0.02,
            "said, without an experiment", primary=True,
            quote="the mean representations of iVAEs should be pruned of their passive variables "
            "when used on downstream tasks",
            control=Control("as many used latents dropped", Level("loss_used", _LEARNT)),
            needs=_SOME,
        ),
        Claim(
            "The sources, which are not in u, are told as well without passive means: within 0.02 "
            "of their variance.",
            "grzes2023 conclusion", Level("source_loss_passive", _LEARNT), "below", 0.02,
            "said, without an experiment",
            control=Control("as many used latents dropped", Level("source_loss_used", _LEARNT)),
            needs=_SOME,
        ),
        Claim(
            "Passive means alone tell the class, in over 90% of the rows.",
            "grzes2023 Prop. 2(i)", Level("passive_alone", _LEARNT), "above", 0.9, own=True,
            control=Control("prior means fixed at 0", Level("passive_alone", _FIXED)), needs=_SOME,
        ),
        Claim(
            "Passive samples tell it less well: in under 90%.",
            "grzes2023 Theorem 2(i)", Level("passive_samples", _LEARNT), "below", 0.9, own=True,
            control=Control("means of the same latents", Level("passive_alone", _LEARNT)),
            needs=_SOME,
        ),
    ),
    (
        Dots("Class from all means", "all", "arm"),
        Dots("Class from passive means", "passive_alone", "arm", threshold=0.9),
        Dots("Class from passive samples", "passive_samples", "arm", threshold=0.9),
        Dots("Accuracy lost without passive means", "loss_passive", "arm", threshold=0.02),
        Dots("Variance of sources lost without them", "source_loss_passive", "arm", threshold=0.02),
    ),
    ("grzes2023 bonheme2023's analysis on iVAEs",),
    _MODEL + "Here sources have means of their own in each class (standard deviation 1), there are "
    "six latents, and prior means start from N(0, 1). A logistic regression tells the class from "
    "3,000 rows, of which a third is kept for the accuracy.",
    "The sentence is contradicted for what u says, and supported for what x says. With learnt "
    "prior means a passive latent is N(m_u, v_u), and its mean is m_u: a name of the class, which "
    "any start gives and no gradient takes away. So passive means alone tell the class in every "
    "row (25%, chance, where means are fixed at 0), and without them the accuracy falls from 1.00 "
    "to 0.55 (0.43 to 0.70), what the used latents know; with prior means fixed at 0, as in the "
    "paper's experiment, it falls by nothing. But the encoder was given u: this is no knowledge "
    "about x, and a reader of scores of iVAEs should know that passive means can hold all of their "
    "labels. The sources, which x has and u has not, are told as well without passive means: "
    "0.2% of their variance is lost (63% without as many used latents). Samples of passive "
    "latents tell the class in 72% of the rows, less where v_u is wide; in three seeds in over "
    "90%, in one of these in all, which leaves that claim undecided.",
    at_optimum=True,
)  # fmt: skip
