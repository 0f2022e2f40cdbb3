"""What is said of the latents: their types, the prior, the training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vaescope.verdicts.verdict import THRESHOLDS, Verdict, are, listed, numbers, of_type

if TYPE_CHECKING:
    from vaescope.inspection import Latent, Moments, Training
    from vaescope.latents import Types
    from vaescope.traversals import Traversals

__all__ = ["fills_prior", "polarised", "settled", "silent"]


def polarised(latents: "Sequence[Latent]", kinds: "Types | None" = None) -> Verdict | None:
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
    limit = THRESHOLDS["mixed"].value
    rule = "no latent is mixed"
    if not active and not mixed:
        return Verdict(
            "collapsed", "warning",
            f"All {d} latents are passive: the posterior has collapsed onto the prior.",
            number=0, shown="0 active", threshold=1, rule="at least one is active",
            advice="Train longer; if it stays, lower beta or let it rise from 0 at first.",
            section="latents", latents=numbers(passive), paper="001",
        )  # fmt: skip
    if mixed:
        what = "it" if len(mixed) == 1 else "them"
        counts = f"{len(active)} of {d} are active, {len(passive)} passive."
        which = f"{are(len(mixed), 'latent')} mixed ({listed(numbers(mixed))})"
        # Definition 2 of bonheme2023: part of the regime, not a fault.
        some = "used for some examples only"
        if kinds is not None and all(kinds.kind_of_mixed[z.index] == some for z in mixed):
            return Verdict(
                "mixed", "note", f"{which}: {some}. {counts}",
                number=len(mixed), shown=f"{len(mixed)} mixed", threshold=limit, rule=rule,
                advice=f"Keep {what}: a polarised model may have latents that it needs now and "
                "then.",
                section="latents", latents=numbers(mixed), paper="001",
            )  # fmt: skip
        return Verdict(
            "mixed", "warning", f"{which}: neither used for all examples nor for none. {counts}",
            number=len(mixed), shown=f"{len(mixed)} mixed", threshold=limit, rule=rule,
            advice=f"Train longer; if that does not help, beta is too high for {what}.",
            section="latents", latents=numbers(mixed),
        )  # fmt: skip
    if not passive:
        return Verdict(
            "full", "note",
            f"All {d} latents are active: the model has none to spare.",
            number=len(active), shown=f"{d} active", threshold=d, rule="fewer than there are",
            advice="Give it more latents until one stays passive, to see how many the data need.",
            section="latents", latents=numbers(active), paper="001",
        )  # fmt: skip
    rates = [latent.kl_nats or 0.0 for latent in latents]
    share = sum(latent.kl_nats or 0.0 for latent in active) / sum(rates)
    return Verdict(
        "polarised", "good",
        f"The model is polarised: {are(len(active), 'latent')} active "
        f"({listed(numbers(active))}), {len(passive)} passive, none mixed.",
        number=0, shown="0 mixed", threshold=limit, rule=rule,
        advice=f"Read the active latents: they hold {share:.1%} of the rate.",
        section="latents", latents=numbers(active), paper="001",
    )  # fmt: skip


def silent(latents: "Sequence[Latent]", traversals: "Traversals | None") -> Verdict | None:
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
    variances = [latent.mean_variance for latent in passive]
    heard = [latent for latent in passive if traversals.share[latent.index] >= limit]
    most = max(float(traversals.share[latent.index]) for latent in passive)
    at_most = f"{most:.1%}" if most >= 0.001 else "0.1%"
    rule = f"none makes {limit:.0%} of the change along the traversals or more"
    if heard:
        return Verdict(
            "heard", "warning",
            f"The decoder still listens to latents that are passive ({listed(numbers(heard))}): "
            f"one makes {most:.1%} of the change along the traversals.",
            number=most, shown=f"{most:.1%}", threshold=limit, rule=rule,
            advice="Do not drop them yet: train longer, then look again.",
            section="traversals", latents=numbers(heard), paper="001",
        )  # fmt: skip
    which = "passive latent" if len(passive) == 1 else f"{len(passive)} passive latents"
    return Verdict(
        "silent", "good",
        f"The decoder ignores the {which} (mean variance {min(variances):.2f} to "
        f"{max(variances):.2f}): none makes more than {at_most} of the change along the "
        "traversals.",
        number=most, shown=f"{most:.1%}", threshold=limit, rule=rule,
        advice="Leave them out when you feed means to another model: their samples are noise, but "
        "their means may be correlated.",
        section="traversals", latents=numbers(passive), paper="001",
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
