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
    "beta_vae": _asks("informative", "accuracy of a linear classifier of the fixed factor"),
    "factor_vae": _asks("modular alone informative", "the latent that stays still names a factor"),
    "modularity": _asks("modular", "information of a latent beside its best factor"),
    "explicitness": _asks("explicit informative", "linear readability of each value"),
    "irs": _asks("modular alone", "how still a latent stays while other factors move"),
    "mcc": _asks("alone linear informative", "correlation of each factor with a latent of its own"),
    "knn_score": _asks("compact alone informative", _GAP),
    "downstream": _asks("explicit informative", "accuracy of a linear classifier"),
    "infom": _asks("modular", "a latent's largest share of information over its sum"),
    "infoc": _asks("compact", "a factor's largest share of information over its sum"),
    "infoe": _asks("explicit informative", "cross-entropy of a linear classifier"),
    "dci_explicitness": _asks("explicit", "capacity that a probe needs"),
    "dci_size": _asks("lean", "factors over latents"),
    "monotonicity": _asks("ordered", "one way along a factor's values, whatever the steps"),
    "smoothness": _asks("ordered even", "even steps along a factor's values"),
}
#: Measures that need no factors: no right answer relative to identity, but a count.
COUNTED = ("active_units", "entropy_of_means", "id_mle", "id_two_nn")

#: Right answers that a reader may dispute: they are shown and not counted.
DISPUTED: Mapping[tuple[str, str], str] = {
    **{
        (name, "fewer"): "what is left is as it was; the definition does not say what a factor "
        "without a latent is worth"
        for name in (
            "dci_completeness", "infoc", "monotonicity", "smoothness", "dci_explicitness", "irs",
        )
    },
    **{
        (name, "nothing"): "a ratio of importances or shares has no answer where nothing is known"
        for name in ("dci_explicitness", "dci_disentanglement", "infom", "infoc")
    },
    **{
        (name, "mixed"): "three rows in ten may be too few to count as a second latent"
        for name in ("mig", "sap", "sap_continuous", "knn_score", "dci_completeness", "infoc")
    },
    **{
        (name, "passive"): "the copies are there, if small: means have no unit"
        for name in (
            "mig", "sap", "sap_continuous", "knn_score", "dci_completeness", "infoc", "mcc",
        )
    },
    ("irs", "split"): "either half is moved by one factor only",
    ("dci_size", "nothing"): "it counts, and as many latents as factors there are",
}  # fmt: skip
#: The same of generators, whose identity should score as that of independent factors does.
DISPUTED_GENERATORS: Mapping[str, str] = {
    "cyclic": "an angle needs two latents, so that its own topology breaks compactness",
    "continuous": "classes of numbers have edges within which nothing can be read",
}

#: What can be said for a metric after its verdict was seen. Answers and verdicts stay as they were.
AFTERWARDS: Mapping[tuple[str, str], str] = {
    ("mcc", "rotated 10"): "two of three factors keep a correlation of cos 10 = 0.985, so that its "
    "definition promises 0.99: lower, by less than the margin",
    ("mig_sup", "split"): "the gap is in shares of the factor's entropy, so that a latent that "
    "encodes half of a factor counts half",
    ("mig_sup", "mixed"): "as for split",
    ("mig_sup", "fewer"): "it averages over latents, so that a factor without one is not seen",
    ("mig", "warped"): "the information stays, but bins of equal width put the lower values into "
    "one: its estimator is to blame, not its definition",
    ("mig_sup", "warped"): "as for mig",
    ("factor_vae", "split"): "either half stays still while the factor does, and majority votes "
    "give both to it",
    ("beta_vae", "fewer"): "where no latent stays still it is the third factor that is fixed: the "
    "classifier finds it by elimination, and its definition asks for no more",
    ("dci_disentanglement", "fewer"): "the classifier of a factor that nothing encodes spreads its "
    "importance over all latents; the definition weighs that noise like information",
    ("sap", "identity"): "accuracies depend on the number of values, so that two numbers of values "
    "cannot be compared",
    (
        "those of gaps and shares",
        "identity of correlated .9 and of function",
    ): "where factors share "
    "information, a perfect latent of one encodes the other too: whoever takes the formula as the "
    "promise expects them to be lower, and the court calls it wrong because the code is perfect",
    ("mig, sap, knn_score, infoc", "rotated 45 and merged of correlated .9"): "they are above "
    "identity because identity is blamed there, not because the code is praised",
    (
        "all that ask for axes",
        "rotated 45 of correlated factors",
    ): "a turn by 45 degrees decorrelates "
    "two factors of equal spread: whoever asks for independent latents (mathieu2019 section 2.2) "
    "prefers the turned code; the court asks for the true factors",
    ("active_units", "noise and nothing"): "by its definition, the variance of means, latents of "
    "noise count; whoever asks for latents that know something says 3 and 0",
    ("dci_disentanglement", "rotated 10"): "four values that are apart stay apart on an axis that "
    "turns by 10 degrees, so that trees never cut the other latent; so for dci_completeness",
    ("factor_vae", "rotated 10"): "the latent that stays most still is the same one after 10 "
    "degrees",
    ("sap", "rotated 10"): "the accuracy of the best latent stays, and that of the next moves by "
    "less than its noise",
    (
        "beta_vae",
        "rotated 45",
    ): "we took a linear classifier not to mind a rotation; the absolute "
    "differences that it sees do not turn with the latents. Who asks it for separate axes expects "
    "lower",
    ("irs", "noise"): "it averages over all latents, and noise moves whatever is fixed",
    ("irs", "identity"): "the largest deviation depends on the number of values",
    ("smoothness", "split"): "each half is flat along the other's values: who calls that uneven "
    "expects lower, and then it is right",
    ("modularity, infom, dci_disentanglement", "fewer of function"): "the latent that is left out "
    "was one of those that share nothing, so that their mean falls",
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
