"""What each metric's own definition promises: the right answers, stated before a draw is made.

A metric asks for properties of a perfect code. Where an encoder breaks one of those, the right
answer is "lower than identity", else "the same as identity".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vaescope.court.encoders import ENCODERS, PROPERTIES

__all__ = [
    "AFTERWARDS",
    "ASKS",
    "COUNTED",
    "DISPUTED",
    "LOWER",
    "SAME",
    "Asks",
    "Promise",
    "promise",
]

Promise = Literal["lower", "same", "open"]

#: Below identity by more than `LOWER` is lower; by less than `SAME` is the same. In between a
#: draw is right either way, so that no verdict hangs on the choice of one number.
LOWER, SAME = 0.02, 0.1


@dataclass(frozen=True)
class Asks:
    """Properties that a metric asks for, and where its definition says so."""

    properties: frozenset[str]
    why: str


def _asks(properties: str, why: str) -> Asks:
    names = frozenset(properties.split())
    assert names <= set(PROPERTIES)
    return Asks(names, why)


_GAP = "the gap between the best latent and the next of each factor"

ASKS: Mapping[str, Asks] = {
    "mig": _asks("compact alone informative", _GAP),
    "mig_sup": _asks("modular informative", "the gap between a latent's best factor and the next"),
    "dci_disentanglement": _asks("modular", "entropy of a latent's importance over factors"),
    "dci_completeness": _asks("compact", "entropy of a factor's importance over latents"),
    "dci_informativeness": _asks("informative", "accuracy from all latents"),
    "sap": _asks("compact alone informative", _GAP),
    "sap_continuous": _asks("compact alone linear informative", f"{_GAP}, by correlation"),
    "beta_vae": _asks(
        "informative", "accuracy of a linear classifier that predicts the fixed factor"
    ),
    "factor_vae": _asks(
        "modular alone informative", "the latent that varies least identifies the fixed factor"
    ),
    "modularity": _asks("modular", "information of a latent about factors other than its best"),
    "explicitness": _asks(
        "explicit informative", "how well a linear classifier detects each value"
    ),
    "irs": _asks("modular alone", "how little a latent moves while other factors change"),
    "mcc": _asks("alone linear informative", "correlation of each factor with a latent of its own"),
    "knn_score": _asks("compact alone informative", _GAP),
    "downstream": _asks("explicit informative", "accuracy of a linear classifier"),
    "infom": _asks("modular", "a latent's largest share of information over its sum"),
    "infoc": _asks("compact", "a factor's largest share of information over its sum"),
    "infoe": _asks("explicit informative", "cross-entropy of a linear classifier"),
    "dci_explicitness": _asks("explicit", "capacity that a probe needs"),
    "dci_size": _asks("lean", "number of factors divided by number of latents"),
    "monotonicity": _asks("ordered", "monotonic along a factor's values, whatever the steps"),
    "smoothness": _asks("ordered even", "even steps along a factor's values"),
}
#: Measures that need no factors: no right answer relative to identity, but a count.
COUNTED = ("active_units", "entropy_of_means", "id_mle", "id_two_nn")

#: Right answers that a reader may dispute: they are shown and not counted.
DISPUTED: Mapping[tuple[str, str], str] = {
    **{
        (name, "fewer"): "the other latents are unchanged; the definition does not say what a "
        "factor without a latent should score"
        for name in (
            "dci_completeness", "infoc", "monotonicity", "smoothness", "dci_explicitness", "irs",
        )
    },
    **{
        (name, "nothing"): "a ratio of importances or shares is undefined if no latent encodes "
        "anything"
        for name in ("dci_explicitness", "dci_disentanglement", "infom", "infoc")
    },
    **{
        (name, "mixed"): "three rows in ten may be too few to count as a second latent"
        for name in ("mig", "sap", "sap_continuous", "knn_score", "dci_completeness", "infoc")
    },
    **{
        (name, "passive"): "the copies exist, although they are small: means have no unit"
        for name in (
            "mig", "sap", "sap_continuous", "knn_score", "dci_completeness", "infoc", "mcc",
        )
    },
    ("irs", "split"): "each half is moved by one factor only",
    ("dci_size", "nothing"): "it is a count, and there are as many latents as factors",
}  # fmt: skip
#: The same of generators, whose identity should score as that of independent factors does.
DISPUTED_GENERATORS: Mapping[str, str] = {
    "cyclic": "an angle needs two latents, so its topology alone violates compactness",
    "continuous": "within a class, differences between numbers are lost",
}

#: What can be said for a metric after its verdict was seen. Answers and verdicts stay as they were.
AFTERWARDS: Mapping[tuple[str, str], str] = {
    ("mcc", "rotated 10"): "two of three factors keep a correlation of cos 10 = 0.985, so by "
    "its definition it should be 0.99: lower, but by less than the margin",
    ("mig_sup", "split"): "the gap is a share of the factor's entropy, so a latent that encodes "
    "half of a factor counts half",
    ("mig_sup", "mixed"): "as for split",
    ("mig_sup", "fewer"): "it averages over latents, so it does not notice a factor without one",
    ("mig", "warped"): "the information remains, but bins of equal width put the lower values "
    "into one bin: the fault lies with the estimator, not with the definition",
    ("mig_sup", "warped"): "as for mig",
    ("factor_vae", "split"): "each half stays constant while the factor does, and the majority "
    "vote assigns both to it",
    ("beta_vae", "fewer"): "if no latent stays constant, the third factor must be the fixed "
    "one: the classifier finds it by elimination, and the definition asks for no more",
    ("dci_disentanglement", "fewer"): "a classifier of a factor that no latent encodes spreads "
    "its importance over all latents, and the definition weighs this noise like information",
    ("sap", "identity"): "accuracies depend on the number of values, so scores for different "
    "numbers of values cannot be compared",
    (
        "those of gaps and shares",
        "identity of correlated .9 and of function",
    ): "if factors share information, a perfect latent of one also encodes the other. By the "
    "formula alone the score should be lower; the court calls that wrong because the code is "
    "perfect",
    ("mig, sap, knn_score, infoc", "rotated 45 and merged of correlated .9"): "they exceed "
    "identity because identity scores too low there, not because these codes score well",
    (
        "all that ask for axes",
        "rotated 45 of correlated factors",
    ): "a rotation by 45 degrees decorrelates two factors of equal spread: those who ask for "
    "independent latents (mathieu2019 section 2.2) prefer the rotated code; the court asks "
    "for the true factors",
    ("active_units", "noise and nothing"): "by its definition, the variance of means, noise "
    "latents count; counting only latents with information would give 3 and 0",
    ("dci_disentanglement", "rotated 10"): "four separate values stay separate on an axis "
    "rotated by 10 degrees, so trees never split on the other latent; the same holds for "
    "dci_completeness",
    ("factor_vae", "rotated 10"): "the latent that varies least is the same after a rotation by "
    "10 degrees",
    ("sap", "rotated 10"): "the accuracy of the best latent remains, and that of the next "
    "changes by less than its noise",
    (
        "beta_vae",
        "rotated 45",
    ): "we assumed that a rotation does not affect a linear classifier, but the absolute "
    "differences that it sees do not rotate with the latents. Those who expect the metric to "
    "require separate axes expect a lower score",
    (
        "irs",
        "noise",
    ): "it averages over all latents, and noise latents move whichever factor is fixed",
    ("irs", "identity"): "the largest deviation depends on the number of values",
    ("smoothness", "split"): "each half is constant along the other's values: those who call "
    "this uneven expect a lower score, and then the metric is right",
    ("modularity, infom, dci_disentanglement", "fewer of function"): "the latent that is left "
    "out was one that shares nothing, so the mean falls",
    (
        "dci_size",
        "merged and fewer of cyclic",
    ): "identity has four latents for three factors there, and these have three",
}


def promise(metric: str, encoder: str) -> Promise:
    """The right answer for a metric on an encoder, against identity on the same draw."""
    if metric in COUNTED or (metric, encoder) in DISPUTED:
        return "open"
    return "lower" if ASKS[metric].properties & ENCODERS[encoder].breaks else "same"
