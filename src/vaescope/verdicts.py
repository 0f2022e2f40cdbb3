"""Sentences about a model, each with its number, its threshold and what to do about it.

All thresholds are in one table, each with its reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from vaescope.inspection import Factors, Latent, Moments, Training
    from vaescope.traversals import Traversals

__all__ = ["PAPERS", "THRESHOLDS", "Paper", "Threshold", "Tone", "Verdict", "judge", "listed"]

Tone = Literal["good", "note", "warning"]


@dataclass(frozen=True)
class Threshold:
    """Where a number changes what is said of it, and why there."""

    value: float
    reason: str


@dataclass(frozen=True)
class Paper:
    """Where a verdict comes from."""

    title: str
    url: str


@dataclass(frozen=True)
class Verdict:
    """One sentence about the model."""

    id: str
    tone: Tone
    says: str
    number: float
    shown: str  # the number as people read it, e.g. "7 of 10"
    threshold: float
    rule: str  # the threshold in words
    advice: str
    section: str  # id of the report's section that shows more
    latents: tuple[int, ...] = ()
    paper: str | None = None  # a key of PAPERS

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "tone": self.tone,
            "says": self.says,
            "number": self.number,
            "threshold": self.threshold,
            "advice": self.advice,
            "latents": list(self.latents),
            "section": self.section,
        }


THRESHOLDS: Mapping[str, Threshold] = {
    "mixed": Threshold(
        0, "a polarised model has none: each latent is used for all examples or for none"
    ),
    "share": Threshold(0.01, "an active latent of the demo makes 20% or more, a passive one 0.1%"),
    "mig": Threshold(0.3, "what the demo reaches, where each factor has a latent of its own"),
    "mig_turned": Threshold(0.1, "what the demo reaches where x and y are alike and axes may turn"),
    "knows": Threshold(0.1, "20 bins, 32 classes and 2,000 examples know 0.04 of it by chance"),
    "prior": Threshold(0.25, "a quarter of the prior's standard deviation: a rule of thumb"),
    "settled": Threshold(0.05, "a twentieth of the loss: a rule of thumb"),
}

PAPERS: Mapping[str, Paper] = {
    "001": Paper("Bonheme and Grzes 2021", "https://arxiv.org/abs/2109.12679"),
    "mig": Paper("Chen et al. 2018", "https://arxiv.org/abs/1802.04942"),
}


def listed(numbers: Sequence[int | str]) -> str:
    """`2`, `2 and 7`, `2, 7 and 9`.

    >>> listed([2, 7, 9])
    '2, 7 and 9'
    """
    words = [str(number) for number in numbers]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _are(count: int, what: str) -> str:
    return f"{count} {what} is" if count == 1 else f"{count} {what}s are"


def _of_type(latents: "Sequence[Latent]", kind: str) -> "list[Latent]":
    return [latent for latent in latents if latent.type == kind]


def _numbers(latents: "Sequence[Latent]") -> tuple[int, ...]:
    return tuple(sorted(latent.index for latent in latents))


def _polarised(latents: "Sequence[Latent]") -> Verdict | None:
    if all(latent.kl_nats is None for latent in latents):
        return None  # the rule is about posteriors; a plain autoencoder has none
    active, mixed = _of_type(latents, "active"), _of_type(latents, "mixed")
    passive, d = _of_type(latents, "passive"), len(latents)
    limit = THRESHOLDS["mixed"].value
    rule = "no latent is mixed"
    if not active and not mixed:
        return Verdict(
            "collapsed", "warning",
            f"All {d} latents are passive: the posterior has collapsed onto the prior.",
            number=0, shown="0 active", threshold=1, rule="at least one is active",
            advice="Train longer; if it stays, lower beta or let it rise from 0 at first.",
            section="latents", latents=_numbers(passive), paper="001",
        )  # fmt: skip
    if mixed:
        what = "it" if len(mixed) == 1 else "them"
        return Verdict(
            "mixed", "warning",
            f"{_are(len(mixed), 'latent')} mixed ({listed(_numbers(mixed))}): neither used for all "
            f"examples nor for none. {len(active)} of {d} are active, {len(passive)} passive.",
            number=len(mixed), shown=f"{len(mixed)} mixed", threshold=limit, rule=rule,
            advice=f"Train longer; if that does not help, beta is too high for {what}.",
            section="latents", latents=_numbers(mixed), paper="001",
        )  # fmt: skip
    if not passive:
        return Verdict(
            "full", "note",
            f"All {d} latents are active: the model has none to spare.",
            number=len(active), shown=f"{d} active", threshold=d, rule="fewer than there are",
            advice="Give it more latents until one stays passive, to see how many the data need.",
            section="latents", latents=_numbers(active), paper="001",
        )  # fmt: skip
    rates = [latent.kl_nats or 0.0 for latent in latents]
    share = sum(latent.kl_nats or 0.0 for latent in active) / sum(rates)
    return Verdict(
        "polarised", "good",
        f"The model is polarised: {_are(len(active), 'latent')} active "
        f"({listed(_numbers(active))}), {len(passive)} passive, none mixed.",
        number=0, shown="0 mixed", threshold=limit, rule=rule,
        advice=f"Read the active latents: they hold {share:.1%} of the rate.",
        section="latents", latents=_numbers(active), paper="001",
    )  # fmt: skip


def _silent(latents: "Sequence[Latent]", traversals: "Traversals | None") -> Verdict | None:
    passive = _of_type(latents, "passive")
    # Where all are passive, shares are shares of nothing.
    if not passive or len(passive) == len(latents) or traversals is None:
        return None
    limit = THRESHOLDS["share"].value
    variances = [latent.mean_variance for latent in passive]
    heard = [latent for latent in passive if traversals.share[latent.index] >= limit]
    most = max(float(traversals.share[latent.index]) for latent in passive)
    rule = f"none makes {limit:.0%} of the change along the traversals or more"
    if heard:
        return Verdict(
            "heard", "warning",
            f"The decoder still listens to latents that are passive ({listed(_numbers(heard))}): "
            f"one makes {most:.1%} of the change along the traversals.",
            number=most, shown=f"{most:.1%}", threshold=limit, rule=rule,
            advice="Do not drop them yet: train longer, then look again.",
            section="traversals", latents=_numbers(heard), paper="001",
        )  # fmt: skip
    which = "passive latent" if len(passive) == 1 else f"{len(passive)} passive latents"
    return Verdict(
        "silent", "good",
        f"The decoder ignores the {which} (mean variance {min(variances):.2f} to "
        f"{max(variances):.2f}): none makes more than {most:.1%} of the change along the "
        "traversals.",
        number=most, shown=f"{most:.1%}", threshold=limit, rule=rule,
        advice="Leave them out when you feed means to another model: their samples are noise, but "
        "their means may be correlated.",
        section="traversals", latents=_numbers(passive), paper="001",
    )  # fmt: skip


def _separated(factors: "Factors | None") -> Verdict | None:
    if factors is None:
        return None
    value, protocol = factors.mig.value, factors.mig.protocol
    high, low = THRESHOLDS["mig"], THRESHOLDS["mig_turned"]
    knows = THRESHOLDS["knows"].value
    best = factors.normalised.argmax(axis=0)  # the latent that knows most of each factor
    pairs = [
        f"{name} in latent {best[k]} ({factors.normalised[best[k], k]:.2f})"
        for k, name in enumerate(factors.names)
        if factors.normalised[best[k], k] >= knows
    ]
    lost = [name for k, name in enumerate(factors.names) if factors.normalised[best[k], k] < knows]
    found = f" Best known: {', '.join(pairs)}." if pairs else ""
    found += f" Known to none: {', '.join(lost)}." if lost else ""
    number = f"MIG is {value:.2f} (one seed, n = {protocol.n:,}): "
    if value >= high.value:
        tone: Tone = "good"
        says = f"{number}the axes tell the factors apart.{found}"
        advice = "Train other seeds before you rely on it: they can differ as much as methods do."
    elif value >= low.value:
        tone = "note"
        says = f"{number}the axes tell some of the factors apart.{found}"
        advice = "Look at the table of factors for the ones that share a latent."
    else:
        tone = "warning"
        says = f"{number}the axes do not tell the factors apart.{found}"
        advice = "Treat the latents as coordinates without meaning; do not name them."
    return Verdict(
        "mig", tone, says, number=value, shown=f"{value:.2f}", threshold=high.value,
        rule=f"{high.value:g} or more; below {low.value:g} axes look turned at random",
        advice=advice, section="factors", latents=tuple(sorted({int(i) for i in best})),
        paper="mig",
    )  # fmt: skip


def _fills_prior(latents: "Sequence[Latent]", samples: "Moments") -> Verdict | None:
    used = [
        latent.index
        for latent in latents
        if latent.type != "passive" and latent.kl_nats is not None
    ]
    if not used:
        return None
    limit = THRESHOLDS["prior"].value
    off = np.maximum(np.abs(samples.mean), np.abs(np.sqrt(samples.variance) - 1.0))
    worst = max(used, key=lambda index: off[index])
    number = float(off[worst])
    rule = f"mean and standard deviation within {limit:g} of 0 and 1"
    shape = (
        f"mean {samples.mean[worst]:.2f}, standard deviation {samples.variance[worst] ** 0.5:.2f}"
    )
    if number < limit:
        return Verdict(
            "prior", "good",
            f"Samples of the used latents fill the prior; the furthest off is latent {worst} "
            f"({shape}).",
            number=number, shown=f"{number:.2f}", threshold=limit, rule=rule,
            advice="Drawing codes from the prior is safe as far as these two moments go.",
            section="prior", latents=(worst,),
        )  # fmt: skip
    return Verdict(
        "prior", "warning",
        f"Samples of latent {worst} do not follow the prior ({shape}).",
        number=number, shown=f"{number:.2f}", threshold=limit, rule=rule,
        advice="Draw codes from the samples of the data rather than from the prior.",
        section="prior", latents=tuple(index for index in used if off[index] >= limit),
    )  # fmt: skip


def _settled(training: "Training | None") -> Verdict | None:
    if training is None or len(training.step) < 8:
        return None
    limit = THRESHOLDS["settled"].value
    quarter = len(training.step) // 4
    before = float(training.loss[-2 * quarter : -quarter].mean())
    last = float(training.loss[-quarter:].mean())
    fall = (before - last) / abs(before)
    same = training.active == training.active[-1]
    first = 0 if same.all() else len(same) - int(np.argmin(same[::-1]))
    count = f"Its count of active latents is the same since step {training.step[first]:,}."
    rule = f"less than {limit:.0%} over the last quarter of the steps"
    if fall < limit:
        verb = "fell" if fall >= 0 else "rose"
        return Verdict(
            "settled", "good",
            f"Training has settled: the loss {verb} by {abs(fall):.1%} over its last quarter. "
            f"{count}",
            number=fall, shown=f"{fall:.1%}", threshold=limit, rule=rule,
            advice="A plateau can look the same: if latents are missing, train longer.",
            section="training",
        )  # fmt: skip
    return Verdict(
        "unsettled", "warning",
        f"Training has not settled: the loss fell by {fall:.1%} over its last quarter. {count}",
        number=fall, shown=f"{fall:.1%}", threshold=limit, rule=rule,
        advice="Train for more steps before you judge the latents.", section="training",
    )  # fmt: skip


def judge(
    latents: "Sequence[Latent]",
    samples: "Moments",
    *,
    factors: "Factors | None" = None,
    traversals: "Traversals | None" = None,
    training: "Training | None" = None,
) -> tuple[Verdict, ...]:
    """What can be said from the parts that are there, the weightiest first."""
    verdicts = (
        _polarised(latents),
        _silent(latents, traversals),
        _separated(factors),
        _fills_prior(latents, samples),
        _settled(training),
    )
    return tuple(verdict for verdict in verdicts if verdict is not None)
