"""What is said of the latents: their types, and whether the decoder uses them."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from vaescope.latent_types import ALPHA
from vaescope.latents.types import CONSTANT, EVERY, MORE, SOME, TRAPPED
from vaescope.latents.unused import PASSIVE_KL_NATS
from vaescope.verdicts.thresholds import (
    THRESHOLDS,
    Tone,
    Verdict,
    against,
    are,
    close,
    listed,
    near_limit,
    numbers,
    of_type,
    variances,
)

if TYPE_CHECKING:
    from vaescope.encoding import Maps
    from vaescope.inspection import Latent
    from vaescope.latents import Types
    from vaescope.traversals import Traversals

__all__ = ["averaged", "heard", "polarised", "silent"]

#: What is said of one mixed latent and of several, by kind.
_MIXED: Mapping[str, tuple[str, str]] = {
    SOME: ("is used for some examples only", "are used for some examples only"),
    EVERY: ("is uncertain in nearly every example", "are uncertain in nearly every example"),
    MORE: (
        "is more certain in some examples than in others",
        "are more certain in some examples than in others",
    ),
    CONSTANT: (
        "has nearly the same posterior in nearly every example",
        "have nearly the same posterior in nearly every example",
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
    traversals: "Traversals | None" = None,
    *,
    beyond: Collection[int] = (),
    more: str = "Train longer",
) -> Verdict | None:
    """`beyond`: latents whose codes lie outside of the traversals, which then do not show whether
    the decoder uses them; `more`: what training the model needs, if any."""
    if all(latent.kl_nats is None for latent in latents):
        return None  # the rule is about posteriors; a plain autoencoder has none
    if kinds is not None and kinds.why:
        return Verdict(
            "untyped", "note", f"{kinds.why[0].upper()}{kinds.why[1:]}.",
            number=0, shown="no passive", threshold=0, rule="unused latents have a known variance",
            advice="Judge these latents by what the decoder does with them, not by their "
            "variances.",
            section="latents",
        )  # fmt: skip
    active, mixed = of_type(latents, "active"), of_type(latents, "mixed")
    passive, d = of_type(latents, "passive"), len(latents)
    faint = "" if kinds is None else kinds.of_faint()
    beside = f"{_undecided(kinds)}{f' {faint}' if faint else ''}{_stuck(kinds)}"
    every = "The only latent is" if d == 1 else f"All {d} latents are"
    if not active and not mixed:
        # Below the rule's threshold there may still be a little that follows the data.
        none = "" if faint or kinds is None else ": none depends on the data (posterior collapse)"
        return Verdict(
            "collapsed", "warning",
            f"{every} passive{none}.{beside}",
            number=0, shown="0 active", threshold=1, rule="at least one latent is active",
            advice=f"{more}; if they stay passive, lower beta or raise it slowly from 0."
            if more
            else "Lower beta, or raise it slowly from 0.",
            section="latents", latents=numbers(passive), paper="bonheme2023",
        )  # fmt: skip
    if mixed:
        return _mixed(latents, kinds, traversals, beyond, more=more, beside=beside)
    if not passive:
        return Verdict(
            "full", "note",
            f"{every} active: none is passive.{beside}",
            number=len(active), shown=f"{d} active", threshold=d, rule="some latent is passive",
            advice="Give the model more latents until one stays passive, to see how many the "
            "data need.",
            section="latents", latents=numbers(active), paper="bonheme2023",
        )  # fmt: skip
    return Verdict(
        "polarised", "good",
        f"The model is polarised: {are(len(active), 'latent')} active "
        f"({listed(numbers(active))}), {len(passive)} passive, none mixed.{beside}",
        number=0, shown="0 mixed", threshold=THRESHOLDS["mixed"].value, rule="no latent is mixed",
        advice=f"Start with the active latents{_share_of_rate(latents, active)}.",
        section="latents", latents=numbers(active), paper="bonheme2023",
    )  # fmt: skip


def averaged(latents: "Sequence[Latent]", maps: "Maps | None") -> Verdict | None:
    """Channels that look passive because their places average out; else None."""
    if maps is None or maps.kl_nats is None:
        return None
    nats = maps.kl_nats
    loud = [i for i in numbers(of_type(latents, "passive")) if nats[i] > PASSIVE_KL_NATS]
    if not loud:
        return None
    most = float(nats[loud].max())
    one = len(loud) == 1
    means = (
        f"The spatial mean of channel {loud[0]} is"
        if one
        else f"Spatial means of channels {listed(loud)} are"
    )
    return Verdict(
        "averaged", "note",
        f"{means} passive, but {'its' if one else 'their'} positions carry up to {most:.2g} nats "
        "each.",
        number=most, shown=f"{most:.2g} nats", threshold=PASSIVE_KL_NATS,
        rule=f"no position of a channel with a passive mean carries over {PASSIVE_KL_NATS:g} nats",
        advice="Judge these channels by position, and keep them.",
        section="maps", latents=tuple(loud),
    )  # fmt: skip


def _undecided(kinds: "Types | None") -> str:
    """Which latents would be of another type if the threshold were a tenth off."""
    if kinds is None or not kinds.borderline:
        return ""
    which = [
        f"{j} ({against(ratio, ALPHA)})" if near_limit(ratio, ALPHA) else str(j)
        for j, ratio in ((j, float(kinds.mean_ratio[j])) for j in kinds.borderline)
    ]
    return f" Borderline between two types: {listed(which)}."


def _stuck(kinds: "Types | None") -> str:
    """Active latents that are as narrow as they are the same: they tell no examples apart."""
    if kinds is None:
        return ""
    which = [j for j in kinds.active.tolist() if kinds.movement[j] < ALPHA * kinds.mean_ratio[j]]
    if not which:
        return ""
    verb, they = ("has", "it does") if len(which) == 1 else ("have", "they do")
    return (
        f" Of the active latents, {listed(which)} {verb} nearly the same mean in every example, so "
        f"{they} not distinguish examples."
    )


def _share_of_rate(latents: "Sequence[Latent]", active: "Sequence[Latent]") -> str:
    """Of the KL that active latents hold; empty where that is infinite or nothing."""
    rates = [latent.kl_nats for latent in latents]
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates) or not sum(known) > 0:
        return ""
    held = sum(latent.kl_nats or 0.0 for latent in active)
    return f": they carry {held / sum(known):.1%} of the total KL"


def _mixed(
    latents: "Sequence[Latent]",
    kinds: "Types | None",
    traversals: "Traversals | None",
    beyond: Collection[int],
    *,
    more: str,
    beside: str,
) -> Verdict:
    """Mixed latents are part of the regime (bonheme2023, Definition 2 and Proposition 4). A fault
    is to be found only where one of them ignores x, or the decoder contradicts the encoder."""
    mixed = of_type(latents, "mixed")
    by_kind: dict[str, list[int]] = {}
    for index in numbers(mixed):
        by_kind.setdefault("" if kinds is None else kinds.kind_of_mixed[index], []).append(index)
    clauses = [
        f"{listed(which)} {_MIXED[kind][len(which) > 1]} "
        f"({variances([z for z in mixed if z.index in which], kinds)})"
        for kind, which in by_kind.items()
    ]
    counts = (
        f"{len(of_type(latents, 'active'))} of {len(latents)} are active, "
        f"{len(of_type(latents, 'passive'))} passive."
    )
    says = f"{are(len(mixed), 'latent')} mixed: {'; '.join(clauses)}. {counts}{beside}"
    trapped = by_kind.get(TRAPPED, [])
    constant = by_kind.get(CONSTANT, []) + trapped
    if trapped and kinds is not None:
        says += f" The local minimum costs {kinds.trapped_nats[trapped].sum():.2g} nats."
    unheard = [
        index
        for index in numbers(mixed)
        if index not in {*constant, *beyond} and _heard(traversals, index) is False
    ]
    tone: Tone = "warning"
    if unheard:
        which = f"the decoder hardly uses {listed(unheard)}, though the encoder does"
        advice = f"Look at the traversals: {which}."
    elif trapped:
        advice = (
            "Train again with posterior variances that start below the spike of the prior: "
            f"{listed(trapped)} cannot reach it from above. Or drop "
            f"{'it' if len(trapped) == 1 else 'them'} with `vaescope prune`."
        )
    elif constant:
        does = (
            "costs rate and hardly distinguishes"
            if len(constant) == 1
            else "cost rate and hardly distinguish"
        )
        advice = f"{more or 'Lower beta'}: {listed(constant)} {does} examples."
    elif set(by_kind) == {SOME}:
        tone = "note"
        what = "it" if len(mixed) == 1 else "them"
        advice = f"Keep {what}: a polarised model may use latents for some examples only."
    else:
        tone = "note"
        advice = (
            "Keep mixed latents: they depend on the data. A lower beta makes them more certain."
        )
    return Verdict(
        "mixed", tone, says, number=len(mixed), shown=f"{len(mixed)} mixed",
        threshold=THRESHOLDS["mixed"].value,
        rule="no latent is mixed, or each mixed one is used for some examples only", advice=advice,
        section="latents", latents=numbers(mixed),
        paper="bonheme2023" if set(by_kind) == {SOME} else None,
    )  # fmt: skip


def _least_share(d: int) -> float:
    """Share of the change along the traversals from which on the decoder uses a latent."""
    return min(THRESHOLDS["share"].value, 0.1 / d)


def _heard(traversals: "Traversals | None", index: int) -> bool | None:
    """Whether the decoder uses a latent; None where nothing shows it."""
    if traversals is None or not traversals.share.any():
        return None
    return bool(traversals.share[index] >= _least_share(len(traversals.share)))


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
    *,
    wanted: str = "",
    more: str = "Train longer",
) -> Verdict | None:
    """Whether the decoder uses what the encoder does not. `wanted`: what users of the means lose
    by dropping it, if anything; `more`: what training the model needs, if any."""
    passive = of_type(latents, "passive")
    # Where all are passive, shares are shares of nothing.
    if len(passive) == len(latents) or traversals is None:
        return None
    if not traversals.share.any():
        return Verdict(
            "deaf", "warning",
            "The decoder's output is the same along every traversal: around a typical example it "
            "ignores all latents.",
            number=0.0, shown="0%", threshold=0.0, rule="the output changes with some latent",
            advice="Check that decode() uses its argument. If it does, the decoder models "
            "the data without the codes: use a weaker decoder, or lower beta.",
            section="traversals",
        )  # fmt: skip
    if not passive:
        return None
    limit = _least_share(len(latents))
    loud = heard(latents, traversals)
    shares = [float(traversals.share[latent.index]) for latent in passive]
    most, total = max(shares), sum(shares)
    rule = f"each passive latent accounts for less than {limit * 100:.2g}% of that change"
    undecided = close(most, limit, unit="%")
    if loud:
        which = "a latent that is" if len(loud) == 1 else "latents that are"
        them = "it" if len(loud) == 1 else "them"
        return Verdict(
            "heard", "warning",
            f"The decoder still uses {which} passive ({listed(loud)}): "
            f"{'it' if len(loud) == 1 else 'the strongest'} accounts for {most:.1%} of the "
            f"change along the traversals.{undecided}",
            number=most, shown=f"{most:.1%}", threshold=limit, rule=rule,
            advice=f"Do not drop {them} yet: train longer, then look again."
            if more
            else f"Do not drop {them} before you know the cost: `vaescope prune` measures it.",
            section="traversals", latents=loud, paper="bonheme2023",
            borderline=bool(undecided),
        )  # fmt: skip
    which = "passive latent" if len(passive) == 1 else f"{len(passive)} passive latents"
    them = "it" if len(passive) == 1 else "them"
    one = len(passive) == 1
    makes = f"{'it' if one else 'together they'} account{'s' * one} for"
    advice = f"The decoder can do without {them}: `vaescope prune` removes {them}."
    if wanted:
        advice = f"The decoder can do without {them}, but {wanted}."
    return Verdict(
        "silent", "good",
        f"The decoder hardly uses the {which} ({variances(passive, kinds)}): "
        f"{makes} {_percent(total)} of the change along the traversals.{undecided}",
        number=most, shown=f"{most:.1%}", threshold=limit, rule=rule, advice=advice,
        section="traversals", latents=numbers(passive), paper="bonheme2023",
        borderline=bool(undecided),
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.0005 else "less than 0.1%"
