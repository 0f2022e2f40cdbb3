"""What is said of the latents: their types, the prior, the training."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vaescope.latents.types import CONSTANT, EVERY, MORE, SOME, TRAPPED
from vaescope.verdicts.verdict import (
    THRESHOLDS,
    Tone,
    Verdict,
    are,
    listed,
    numbers,
    of_type,
    variances,
)

if TYPE_CHECKING:
    from vaescope.inspection import Latent, Moments, Training
    from vaescope.latents import Types
    from vaescope.traversals import Traversals

__all__ = ["fills_prior", "heard", "polarised", "settled", "silent"]

#: What is said of one mixed latent and of several, by kind.
_MIXED: Mapping[str, tuple[str, str]] = {
    SOME: ("is used for some examples only", "are used for some examples only"),
    EVERY: ("is uncertain in nearly every example", "are uncertain in nearly every example"),
    MORE: (
        "is more certain in some examples than in others",
        "are more certain in some examples than in others",
    ),
    CONSTANT: (
        "has the same posterior in every example",
        "have the same posterior in every example",
    ),
    TRAPPED: (
        "ignores x in a local minimum of the rate",
        "ignore x in a local minimum of the rate",
    ),
    "": (
        "is neither as certain as an active latent nor as uncertain as a passive one",
        "are neither as certain as active latents nor as uncertain as passive ones",
    ),
}


def polarised(
    latents: "Sequence[Latent]",
    kinds: "Types | None" = None,
    trained: Verdict | None = None,
    traversals: "Traversals | None" = None,
) -> Verdict | None:
    """`trained` is what is said of the training, if anything."""
    if all(latent.kl_nats is None for latent in latents):
        return None  # the rule is about posteriors; a plain autoencoder has none
    if kinds is not None and kinds.why:
        return Verdict(
            "untyped", "note", f"{kinds.why[0].upper()}{kinds.why[1:]}.",
            number=0, shown="no passive", threshold=0, rule="unused latents have a known variance",
            advice="Judge latents by what the decoder does with them, not by their variances.",
            section="latents",
        )  # fmt: skip
    active, mixed = of_type(latents, "active"), of_type(latents, "mixed")
    passive, d = of_type(latents, "passive"), len(latents)
    if not active and not mixed:
        return Verdict(
            "collapsed", "warning",
            f"All {d} latents are passive: none depends on the data (posterior collapse).",
            number=0, shown="0 active", threshold=1, rule="at least one is active",
            advice="Train longer; if it stays, lower beta or let it rise from 0 at first.",
            section="latents", latents=numbers(passive), paper="bonheme2023",
        )  # fmt: skip
    if mixed:
        return _mixed(latents, kinds, trained, traversals)
    if not passive:
        return Verdict(
            "full", "note",
            f"All {d} latents are active: the model has none to spare.",
            number=len(active), shown=f"{d} active", threshold=d, rule="fewer than there are",
            advice="Give it more latents until one stays passive, to see how many the data need.",
            section="latents", latents=numbers(active), paper="bonheme2023",
        )  # fmt: skip
    rates = [latent.kl_nats or 0.0 for latent in latents]
    share = sum(latent.kl_nats or 0.0 for latent in active) / sum(rates)
    return Verdict(
        "polarised", "good",
        f"The model is polarised: {are(len(active), 'latent')} active "
        f"({listed(numbers(active))}), {len(passive)} passive, none mixed.",
        number=0, shown="0 mixed", threshold=THRESHOLDS["mixed"].value, rule="no latent is mixed",
        advice=f"Read the active latents: they hold {share:.1%} of the KL of all.",
        section="latents", latents=numbers(active), paper="bonheme2023",
    )  # fmt: skip


def _mixed(
    latents: "Sequence[Latent]",
    kinds: "Types | None",
    trained: Verdict | None,
    traversals: "Traversals | None",
) -> Verdict:
    """Mixed latents are part of the regime (bonheme2023, Definition 2 and Proposition 4). A fault
    is to be found only where training has not settled, or the decoder contradicts the encoder."""
    mixed = of_type(latents, "mixed")
    by_kind: dict[str, list[int]] = {}
    for index in numbers(mixed):
        by_kind.setdefault("" if kinds is None else kinds.kind_of_mixed[index], []).append(index)
    clauses = [f"{listed(which)} {_MIXED[kind][len(which) > 1]}" for kind, which in by_kind.items()]
    counts = (
        f"{len(of_type(latents, 'active'))} of {len(latents)} are active, "
        f"{len(of_type(latents, 'passive'))} passive."
    )
    says = f"{are(len(mixed), 'latent')} mixed: {'; '.join(clauses)}. {counts}"
    trapped = by_kind.get(TRAPPED, [])
    constant = by_kind.get(CONSTANT, []) + trapped
    if trapped and kinds is not None:
        says += f" The local minimum costs {kinds.trapped_nats[trapped].sum():.2g} nats."
    unheard = [
        index
        for index in numbers(mixed)
        if index not in constant and _heard(traversals, index) is False
    ]
    tone: Tone = "warning"
    if trained is not None and trained.id == "unsettled":
        advice = "Train longer, then look again: training has not settled."
    elif unheard:
        which = f"the decoder hardly uses {listed(unheard)}, though the encoder does"
        advice = f"Look at the traversals: {which}."
    elif trapped:
        advice = (
            f"Train again with posterior variances that start below the spike of the prior: "
            f"{listed(trapped)} cannot reach it from where they are."
        )
    elif constant:
        advice = f"Train longer: {listed(constant)} cost more rate than they need to."
    elif set(by_kind) == {SOME}:
        tone = "note"
        what = "it" if len(mixed) == 1 else "them"
        advice = f"Keep {what}: a polarised model may have latents that it needs now and then."
    else:
        tone = "note"
        advice = (
            "Keep mixed latents: they depend on the data. A lower beta makes them more certain."
        )
    return Verdict(
        "mixed", tone, says, number=len(mixed), shown=f"{len(mixed)} mixed",
        threshold=THRESHOLDS["mixed"].value,
        rule="each is used for some examples only, or none is mixed", advice=advice,
        section="latents", latents=numbers(mixed),
        paper="bonheme2023" if set(by_kind) == {SOME} else None,
    )  # fmt: skip


def _heard(traversals: "Traversals | None", index: int) -> bool | None:
    """Whether the decoder uses a latent; None where nothing shows it."""
    if traversals is None or not traversals.share.any():
        return None
    return bool(traversals.share[index] >= THRESHOLDS["share"].value)


def heard(latents: "Sequence[Latent]", traversals: "Traversals | None") -> tuple[int, ...]:
    """Passive latents that the decoder still uses."""
    passive = of_type(latents, "passive")
    if len(passive) == len(latents):
        return ()  # shares of nothing
    return tuple(index for index in numbers(passive) if _heard(traversals, index))


def silent(
    latents: "Sequence[Latent]",
    traversals: "Traversals | None",
    kinds: "Types | None" = None,
) -> Verdict | None:
    passive = of_type(latents, "passive")
    # Where all are passive, shares are shares of nothing.
    if len(passive) == len(latents) or traversals is None:
        return None
    if not traversals.share.any():
        return Verdict(
            "deaf", "warning",
            "The decoder ignores all latents: its output is the same along every traversal.",
            number=0.0, shown="0%", threshold=0.0, rule="the output changes with some latent",
            advice="See that decode() uses its argument. If it does, the decoder models the data "
            "without the codes: weaken it, or lower beta.",
            section="traversals",
        )  # fmt: skip
    if not passive:
        return None
    limit = THRESHOLDS["share"].value
    loud = heard(latents, traversals)
    most = max(float(traversals.share[latent.index]) for latent in passive)
    rule = f"none makes {limit:.0%} of the change along the traversals or more"
    if loud:
        return Verdict(
            "heard", "warning",
            f"The decoder still listens to latents that are passive ({listed(loud)}): "
            f"one makes {most:.1%} of the change along the traversals.",
            number=most, shown=f"{most:.1%}", threshold=limit, rule=rule,
            advice="Do not drop them yet: train longer, then look again.",
            section="traversals", latents=loud, paper="bonheme2023",
        )  # fmt: skip
    which = "passive latent" if len(passive) == 1 else f"{len(passive)} passive latents"
    them = "it" if len(passive) == 1 else "them"
    at_most = f"{most:.1%}" if most >= 0.001 else "0.1%"
    return Verdict(
        "silent", "good",
        f"The decoder ignores the {which} ({variances(passive, kinds)}): none makes more than "
        f"{at_most} of the change along the traversals.",
        number=most, shown=f"{most:.1%}", threshold=limit, rule=rule,
        advice=f"The decoder can do without {them}: `vaescope prune` takes {them} out.",
        section="traversals", latents=numbers(passive), paper="bonheme2023",
    )  # fmt: skip


def fills_prior(latents: "Sequence[Latent]", samples: "Moments") -> Verdict | None:
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
    units = f" {samples.units}" if samples.units else ""
    rule = f"mean and standard deviation within {limit:g} of 0 and 1{units}"
    shape = (
        f"mean {samples.mean[worst]:.2f}, standard deviation {samples.variance[worst] ** 0.5:.2f}"
        f"{units}"
    )
    # Of N(0, I) it goes without saying, but for models of which nobody said it.
    which = "" if samples.prior == "N(0, I)" else f", {samples.prior}"
    which = ", assumed to be N(0, I)" if samples.assumed else which
    if number < limit:
        return Verdict(
            "prior", "good",
            f"Samples of the used latents fill the prior{which}; the furthest off is latent "
            f"{worst} ({shape}).",
            number=number, shown=f"{number:.2f}", threshold=limit, rule=rule,
            advice="Drawing codes from the prior is safe as far as these two moments go.",
            section="prior", latents=(worst,),
        )  # fmt: skip
    return Verdict(
        "prior", "warning",
        f"Samples of latent {worst} do not follow the prior{which} ({shape}).",
        number=number, shown=f"{number:.2f}", threshold=limit, rule=rule,
        advice="Draw codes from the samples of the data rather than from the prior."
        + (" If the model has another prior, say so: prior=." if samples.assumed else ""),
        section="prior", latents=tuple(index for index in used if off[index] >= limit),
    )  # fmt: skip


def settled(training: "Training | None") -> Verdict | None:
    if training is None:
        return None
    # While beta falls or rises, so does the loss, whatever the model does.
    loss = training.loss[training.step > training.since]
    if len(loss) < 8:
        return None
    limit = THRESHOLDS["settled"].value
    quarter = len(loss) // 4
    before = float(loss[-2 * quarter : -quarter].mean())
    last = float(loss[-quarter:].mean())
    fall = (before - last) / (abs(before) or 1.0)
    same = training.active == training.active[-1]
    first = 0 if same.all() else len(same) - int(np.argmin(same[::-1]))
    count = f"Its count of active latents is the same since step {training.step[first]:,}."
    rule = f"a change of less than {limit:.0%} over the last quarter of the steps"
    verb = "fell" if fall >= 0 else "rose"
    change = f"the loss {verb} by {abs(fall):.1%} over its last quarter. {count}"
    if abs(fall) < limit:
        return Verdict(
            "settled", "good", f"Training has settled: {change}",
            number=fall, shown=f"{fall:.1%}", threshold=limit, rule=rule,
            advice="A plateau can look the same: if latents are missing, train longer.",
            section="training",
        )  # fmt: skip
    return Verdict(
        "unsettled", "warning", f"Training has not settled: {change}",
        number=fall, shown=f"{fall:.1%}", threshold=limit, rule=rule,
        advice="Train for more steps before you judge the latents."
        if fall > 0
        else "Lower the learning rate, then train again before you judge the latents.",
        section="training",
    )  # fmt: skip
