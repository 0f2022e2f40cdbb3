"""Questions that bonheme2023 leaves open: is the correlation of passive means special, does it hang
on the threshold, and who loses by dropping them.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679. The claims are ours.
"""

from collections.abc import Callable

import numpy as np
import torch
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from vaescope.encoding import load_vae
from vaescope.latents.correlation import total_correlation
from vaescope.metrics.logistic import standardised_multinomial
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.bonheme2023.bank import Halves, arm, halves
from vaescope.studies.bonheme2023.scores import lots
from vaescope.studies.claims import Claim, Condition, Control
from vaescope.studies.effects import Level
from vaescope.studies.measuring import relabelled
from vaescope.studies.panels import Dots
from vaescope.studies.study import Measured, Scale, Study, Trained
from vaescope.tables import Value
from vaescope.types import Floats, Integers
from vaescope.vae import as_input

__all__ = ["CONSUMERS", "READOUTS", "THRESHOLD", "features_of"]

STRENGTH = 1.0
DRAWS = 20
ALPHAS = (0.02, 0.05, 0.1, 0.2, 0.3)
_SMALL = (
    "beta-VAEs with beta 1 on 2,592 sprites of four factors at 16 pixels, MLPs of 64-64, 3,000 "
    "steps at learning rate 1e-3; types are decided on one half of the images, everything else is "
    "measured on the other."
)
_PASSIVE = Condition(
    "some latent is passive, by the other half of the images", Level("passive"), "above", 0.5
)


def _tc(values: Floats) -> float:
    return total_correlation(np.cov(values, rowvar=False))


def features_of(of: Halves, run: Run) -> Floats:
    """The features that the encoder's heads read, of the images whose codes are measured."""
    vae = load_vae(run)
    order = rng(0, "halves").permutation(of.model.codes.n)
    rows = np.asarray(of.model.rows)[order[len(order) // 2 :]]
    with torch.no_grad():
        features = vae.encoder.body(as_input(of.model.data.rows(rows), torch.device("cpu")))
    return np.asarray(features.flatten(1).double().numpy())


def readouts(run: Run) -> Measured:
    """Total correlation of all means, and with random readouts of the encoder's last layer in the
    place of passive means."""
    of = halves(run)
    mean = of.codes.mean.astype(np.float64)
    kept, passive = mean[:, of.others(of.kinds.passive)], of.kinds.passive
    features = features_of(of, run)
    draws = rng(0, "readouts")
    totals = []
    for _ in range(DRAWS):
        weights = draws.standard_normal((features.shape[1], len(passive)))
        totals.append(_tc(np.concatenate([kept, features @ weights], axis=1)))
    return {
        **of.counts(), "tc": _tc(mean), "tc_readouts": float(np.mean(totals)),
        "excess": _tc(mean) - float(np.mean(totals)),
        "excess_readouts": totals[0] - float(np.mean(totals[1:])),
    }  # fmt: skip


def thresholds(run: Run) -> Measured:
    """How many lots of as many latents leave less of the gap in total correlation than dropping
    the passive ones, for thresholds from 0.02 to 0.3 in the place of 0.1."""
    of = halves(run)
    mean = of.codes.mean.astype(np.float64)
    noise = rng(0, "samples").standard_normal(mean.shape)
    sample = mean + np.sqrt(of.codes.variance.astype(np.float64)) * noise
    variance = of.typed.variance.astype(np.float64)
    middle, spread = variance.mean(axis=0), variance.var(axis=0)
    row: dict[str, Value] = dict(of.counts())
    whole = _tc(mean) - _tc(sample)
    worst, worst_lot = [], []
    for alpha in ALPHAS:
        passive = np.flatnonzero((np.abs(middle - 1.0) <= alpha) & (spread < alpha))
        row[f"passive_{alpha:g}"] = len(passive)
        if not len(passive) or mean.shape[1] - len(passive) < 2:
            continue
        left = _left(mean, sample, of.others(passive))
        by_lot = np.array([_left(mean, sample, lot) for lot in lots(mean.shape[1], len(passive))])
        worst.append(_below(left, by_lot))
        worst_lot.append(_below(by_lot[0], by_lot[1:]))
        row |= {f"share_{alpha:g}": left / whole, f"lots_below_{alpha:g}": worst[-1]}
    row |= {
        "lots_below": max(worst) if worst else None,
        "lots_below_lot": max(worst_lot) if worst_lot else None,
    }
    return row


def _below(value: float, others: Floats) -> float:
    return float((others < value).mean() + 0.5 * (others == value).mean())


def _left(mean: Floats, sample: Floats, which: Integers) -> float:
    return _tc(mean[:, which]) - _tc(sample[:, which])


def consumers(run: Run) -> Measured:
    """What dropping passive means costs in accuracy, mean over factors: four consumers, raw and
    standardised; of factors of other images too, and with as many others dropped by lot."""
    of = halves(run)
    d = of.codes.d
    kept = of.others(of.kinds.passive)
    by_lot = lots(d, len(of.kinds.passive))
    row: dict[str, Value] = dict(of.counts())
    for name, codes in (("", of.codes), ("_relabelled", relabelled(of.codes))):
        mean, factors = codes.mean.astype(np.float64), codes.factors
        assert factors is not None
        for form in ("raw", "standard"):
            values = mean if form == "raw" else (mean - mean.mean(0)) / (mean.std(0) + 1e-12)
            for consumer in ("logistic", "ridge", "neighbours", "tree"):
                if (consumer, form) == ("logistic", "raw"):
                    continue  # its codes are standardised in any case
                whole = _accuracy(consumer, values, factors)
                row[f"{consumer}_{form}{name}"] = whole - _accuracy(
                    consumer, values[:, kept], factors
                )
                if name == "" and consumer in ("neighbours", "ridge") and by_lot:
                    dropped = [_accuracy(consumer, values[:, lot], factors) for lot in by_lot[:5]]
                    row[f"{consumer}_{form}_lot"] = whole - float(np.mean(dropped))
    return row


def _accuracy(consumer: str, values: Floats, factors: Integers) -> float:
    """On the last third of the rows, which are in random order."""
    cut = 2 * len(values) // 3
    found = []
    for y in factors.T:
        if consumer == "logistic":
            model = standardised_multinomial(values[:cut], y[:cut], seed=0)
        else:
            model = {
                "ridge": RidgeClassifier(),
                "neighbours": KNeighborsClassifier(10),
                "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
            }[consumer].fit(values[:cut], y[:cut])
        found.append(float((model.predict(values[cut:]) == y[cut:]).mean()))
    return float(np.mean(found))


def _work(key: str, measure: Callable[[Run], Measured]) -> Callable[[Scale], Trained]:
    def work(scale: Scale) -> Trained:
        return Trained(key, arm(scale, "beta-vae", "dsprites", strengths=[STRENGTH]), measure)

    return work


READOUTS = Study(
    "bonheme2023/readouts",
    "Are passive means more correlated than shared features explain",
    _work("bonheme2023-readouts", readouts),
    (
        Claim(
            "Passive means are more correlated than random readouts of the encoder's last layer.",
            "bonheme2023 section 5, a question", Level("excess"), "above", 0.0,
            "not compared with a null", primary=True, own=True,
            control=Control("readouts against other readouts", Level("excess_readouts")),
            needs=_PASSIVE,
        ),
    ),
    (
        Dots("TC of means", "tc", "strength"),
        Dots("TC with readouts for passives", "tc_readouts", "strength"),
        Dots("Difference", "excess", "strength", threshold=0.0),
    ),
    ("bonheme2023 13.6 null of random readouts",),
    f"{_SMALL} A readout is a random linear function of the features that the encoder's heads "
    "read, as many as there are passive latents; 20 sets. Where readouts are as correlated, shared "
    "features suffice for an explanation.",
    "The other way round in all 16 seeds: all means together have a total correlation of 0.97 nats "
    "(0.55 to 1.9), and 6.1 (5.4 to 7.6) with readouts in the place of the passive ones; medians. "
    "So their correlation needs no cause of its own. Readouts are not a model of passive means "
    "either, being six times as correlated. The four leading directions of the features have 83% "
    "of their variance; readouts have 78% of theirs in them, passive means 12%, so that linear "
    "functions of the means that are not passive tell 74% of a readout and 9% of a passive mean "
    "(medians; scripts/bank_explained.py). Passive means are what is left of the same features off "
    "the directions that the other latents use.",
)  # fmt: skip

THRESHOLD = Study(
    "bonheme2023/threshold",
    "Does the finding depend on the threshold of passive latents",
    _work("bonheme2023-threshold", thresholds),
    (
        Claim(
            "Without passive latents the gap between means and samples is smaller than without as "
            "many others, for each threshold from 0.02 to 0.3.",
            "bonheme2023 section 4, Fig. 10", Level("lots_below"), "below", 0.5, "0.1 only",
            primary=True, own=True,
            control=Control("one lot among the others", Level("lots_below_lot")), needs=_PASSIVE,
        ),
    ),
    (
        Dots("Largest share of sets that leave less", "lots_below", "strength", threshold=0.5),
        Dots("The same for one random set", "lots_below_lot", "strength", threshold=0.5),
        Dots("Share of the gap that is left at 0.02", "share_0.02", "strength"),
        Dots("At 0.1", "share_0.1", "strength"),
        Dots("At 0.3", "share_0.3", "strength"),
    ),
    ("bonheme2023 13.6 threshold",),
    f"{_SMALL} A latent is passive where its posterior variance has a mean within alpha of one and "
    "a variance below alpha; 20 random sets of as many latents are dropped for comparison, and "
    "the effect is the share of them that leave less of the gap, at the alpha of five at which it "
    "is largest.",
    "It does at 0.02 and hardly elsewhere. Passive latents do better than most random sets in all "
    "48 seeds at thresholds of 0.2 and 0.3, in 46 at 0.1 and in 45 at 0.05, where they leave less "
    "than 1% of the gap (medians). At 0.02 three latents are called passive instead of six, 42% "
    "of the gap is left, and they do better in 29 of the 43 seeds that have any: the others, left "
    "among the rest, are as correlated. The registered claim asks for all five thresholds: 33 of "
    "48 seeds, undecided at its cap.",
)  # fmt: skip

CONSUMERS = Study(
    "bonheme2023/consumers",
    "Which classifiers lose by dropping passive means",
    _work("bonheme2023-consumers", consumers),
    (
        Claim(
            "A logistic regression on standardised means loses accuracy without passive ones.",
            "bonheme2023 section 4.1, a question", Level("logistic_standard"), "above", 0.01,
            "", primary=True, own=True,
            control=Control("factors of other images", Level("logistic_standard_relabelled")),
            needs=_PASSIVE,
        ),
        Claim(
            "Nearest neighbours on raw means lose nothing without passive ones.",
            "bonheme2023 section 4.1, a question", Level("neighbours_raw"), "within", 0.0, "",
            margin=0.01, own=True,
            control=Control("as many latents dropped by lot", Level("neighbours_raw_lot")),
            needs=_PASSIVE,
        ),
        Claim(
            "A ridge classifier on raw means loses nothing without passive ones.",
            "bonheme2023 section 4.1, a question", Level("ridge_raw"), "within", 0.0, "",
            margin=0.01, own=True,
            control=Control("as many latents dropped by lot", Level("ridge_raw_lot")),
            needs=_PASSIVE,
        ),
    ),
    (
        Dots("Logistic, standardised: loss", "logistic_standard", "strength", threshold=0.01),
        Dots("Neighbours, raw: loss", "neighbours_raw", "strength", threshold=0.01),
        Dots("Neighbours, standardised: loss", "neighbours_standard", "strength"),
        Dots("Trees, raw: loss", "tree_raw", "strength"),
        Dots("Ridge, raw: loss", "ridge_raw", "strength", threshold=0.01),
    ),
    ("bonheme2023 13.6 consumers",),
    f"{_SMALL} Accuracy on the last third of these rows, mean over factors, with all means less "
    "that without passive ones. Consumers: multinomial logistic regression, ridge classifier, ten "
    "nearest neighbours, decision tree.",
    "It depends on the consumer. Medians of what is lost without the six passive means of ten: "
    "0.039 by a logistic regression on standardised means (over 0.01 in 15 of 16 seeds; 0.0035 "
    "with factors of other images), 0.015 by a ridge classifier, raw or standardised (over 0.01 "
    "in 13 and 10), 0 by nearest neighbours on raw means, whose distances tiny means hardly "
    "change. Standardised, neighbours gain 0.025 (in 13 seeds over 0.01) and trees 0.009. As many "
    "latents dropped at random cost 0.09 to 0.17.",
)  # fmt: skip
