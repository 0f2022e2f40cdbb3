"""What is said of the axes: whether they are correlated, and know factors apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vaescope.latents.correlation import by_chance, left_by_lot
from vaescope.types import Booleans, Double, Long
from vaescope.verdicts.thresholds import (
    THRESHOLDS,
    Tone,
    Verdict,
    against,
    close,
    listed,
    near_limit,
    numbers,
    of_type,
    variances,
)

if TYPE_CHECKING:
    from vaescope.inspection import FactorSummary, Latent
    from vaescope.latents import LatentGroups, Types
    from vaescope.latents.group_results import LatentGroup
    from vaescope.measures import Measures
    from vaescope.pruning.price import Price

__all__ = ["correlated", "known_to_passive", "separated"]


def correlated(
    latents: "Sequence[Latent]",
    measures: "Measures | None",
    kinds: "Types | None" = None,
    price: "Price | None" = None,
    heard: Sequence[int] = (),
    *,
    known: Sequence[str] = (),
    rows: int | None = None,
) -> Verdict | None:
    """bonheme2023: passive latents, not active ones, make means look correlated.

    Fewer latents are less correlated whichever they are: passive ones are the reason only if
    dropping them leaves less than dropping as many at random.
    `price` is what dropping them costs, `heard` are those that the decoder still uses, `known`
    are factors that their means know best, and `rows` counts the examples that differ."""
    passive = of_type(latents, "passive")
    if measures is None or not passive or len(passive) == len(latents):
        return None
    of = measures.correlation
    mean, sample, kept = of["mean"], of["sample"], of["mean_without_passive"]
    if mean is None or sample is None:
        return None
    n = measures.n if rows is None else rows
    if n <= len(latents):
        return _too_few(n, latents, passive)
    chance = by_chance(len(latents), n)
    expected = chance - by_chance(len(latents) - len(passive), n)
    limit = max(THRESHOLDS["correlated"].value, 2.0 * expected)
    rest = 0.0 if kept is None else kept.total_correlation
    gap = mean.total_correlation - rest
    which, d, spread = listed(numbers(passive)), len(latents), variances(passive, kinds)
    says = (
        f"Latent {which} of {d} is passive ({spread}). "
        if len(passive) == 1
        else f"{len(passive)} of {d} latents are passive ({which}; {spread}). "
    ) + (
        f"The total correlation is {mean.total_correlation:.2f} nats for the means, "
        f"{sample.total_correlation:.2f} for the samples, and {rest:.2f} for the means without "
        "the passive latents"
    )
    rule = (
        f"dropping the passive latents lowers the total correlation by less than {limit:.2g} nats"
    )
    used = listed(sorted(z.index for z in latents if z.type != "passive"))
    by_lot = left_by_lot(of.mean, len(passive))  # None: one used latent, and no pair without them
    tone: Tone = "note"
    if gap >= limit and by_lot is not None:
        says += f" ({by_lot.total_correlation:.2f} after dropping as many latents at random)"
    if chance >= THRESHOLDS["correlated"].value / 2.0:
        says += f", where independent latents have {chance:.2f} at n = {n:,}"
    if gap >= limit and (by_lot is None or by_lot.total_correlation - rest >= limit):
        tone = "warning"
        says += ": the passive latents make the means look correlated."
        advice = (
            "Before you leave them out of a model that takes the means, measure what that costs; "
            "`vaescope prune` does so if the data have labels. bonheme2023 advises leaving them "
            f"out, but in our runs linear classifiers lost accuracy. Used: {used}."
        )
    elif gap >= limit and rest < limit:
        says += (
            ": the used latents are hardly correlated, but the same is true of the latents that "
            "remain when as many are dropped at random."
        )
        advice = f"Look at the used latents alone: {used}."
    elif gap >= limit:
        says += (
            ": dropping as many latents at random lowers it about as much, so the passive "
            "latents are not the whole reason."
        )
        advice = f"Look for correlated pairs among the used latents: {used}."
    else:
        says += ": the passive latents add little to it."
        advice = (
            "Drop the passive latents if you feed samples to another model: their samples are "
            f"noise. Keep {used}."
        )
    undecided = close(gap, limit, unit="nats")
    says += undecided
    faint = () if kinds is None else kinds.faint
    if heard:
        advice = f"Keep all latents for now: the decoder still uses {listed(heard)}."
    elif price is not None:
        advice = price.advice()
    elif known:
        advice = f"Keep them if you need {listed(known)}: their means encode it best."
    elif faint:
        advice += (
            f" That loses the little information that {listed(faint)} "
            f"encode{'s' * (len(faint) == 1)}."
        )
    return Verdict(
        "passive", tone, says, number=gap, shown=f"{gap:.2f} nats", threshold=limit, rule=rule,
        advice=advice, section="correlation", latents=numbers(passive), paper="bonheme2023",
        borderline=bool(undecided),
    )  # fmt: skip


def _too_few(n: int, latents: "Sequence[Latent]", passive: "Sequence[Latent]") -> Verdict:
    """A covariance of n rows has a rank below n: the total correlation of n latents is infinite."""
    d = len(latents)
    return Verdict(
        "passive", "note",
        f"{n} different examples are too few to tell how correlated {d} latents are.",
        number=float(n), shown=f"{n} examples", threshold=float(d),
        rule="there are more examples than latents", advice=f"Encode more than {d} examples.",
        section="correlation", latents=numbers(passive), paper="bonheme2023",
    )  # fmt: skip


def known_to_passive(
    factors: "FactorSummary | None", latents: "Sequence[Latent]"
) -> tuple[str, ...]:
    """Factors that the means of passive latents know much better than those of used ones."""
    if factors is None:
        return ()
    passive = list(numbers(of_type(latents, "passive")))
    used = factors.normalised.copy()
    used[passive] = 0.0
    hidden = factors.normalised.max(axis=0) - used.max(axis=0) >= factors.least
    return tuple(np.array(factors.names)[hidden].tolist())


@dataclass(frozen=True)
class _Known:
    """Who knows the factors, by the latents that are not passive."""

    best: Long  # (factor,) latent
    most: Double  # (factor,) share of the factor's entropy
    apart: list[str]  # factors with a latent of their own
    gap: float  # mean over factors: how much more the best used latent knows than the second
    few: Booleans  # factors on which chance could know everything
    says: str


def _known(factors: "FactorSummary", latents: "Sequence[Latent]") -> _Known:
    knows, names = factors.least, np.array(factors.names)
    used = factors.normalised.copy()
    # Means of passive latents may know a factor, but the decoder does not use them.
    used[list(numbers(of_type(latents, "passive")))] = 0.0
    best, most = used.argmax(axis=0), used.max(axis=0)
    hidden, few = known_to_passive(factors, latents), knows >= 1.0
    pairs = [
        f"{name} in latent {best[k]} ({most[k]:.2f})"
        for k, name in enumerate(factors.names)
        if most[k] >= knows[k]
    ]
    near = [
        f"{name} ({against(most[k], knows[k])})"
        for k, name in enumerate(factors.names)
        if near_limit(most[k], knows[k]) and not few[k] and name not in hidden
    ]
    lost = names[(most < knows) & ~few & ~np.isin(names, hidden)].tolist()
    shared = _shared(names, best, most >= knows)
    gaps = most - np.sort(used, axis=0)[-2]
    clear = (gaps >= THRESHOLDS["gap"].value) & (most >= knows) & ~np.isin(best, list(shared))
    clear &= ~np.isin(names, hidden)
    # Passive means may copy what used ones know (bonheme2023), and MIG counts them.
    second = np.sort(factors.normalised, axis=0)[-2]
    copied = names[clear & (most - second < THRESHOLDS["gap"].value)].tolist()
    said = [
        f"Best encoded: {', '.join(pairs)}." if pairs else "",
        f"No latent encodes {listed(lost)}." if lost else "",
        f"Borderline: {', '.join(near)}." if near else "",
        f"There are too few examples to tell what encodes {listed(names[few].tolist())}."
        if few.any() and not few.all()
        else "",
        f"Means of passive latents encode {listed(hidden)} best." if hidden else "",
        f"Means of passive latents encode {listed(copied)} too, which lowers MIG."
        if copied
        else "",
        *(f"Latent {latent} encodes {listed(held)}." for latent, held in shared.items()),
    ]
    says = "".join(f" {one}" for one in said if one)
    return _Known(best, most, names[clear].tolist(), float(gaps.mean()), few, says)


def separated(
    factors: "FactorSummary | None",
    latents: "Sequence[Latent]" = (),
    groups: "LatentGroups | None" = None,
) -> Verdict | None:
    """Whether each factor has a latent of its own. MIG is a mean over factors, and says nothing of
    a latent that holds two: both are looked at factor by factor."""
    if factors is None:
        return None
    value, high = factors.mig.value, THRESHOLDS["mig"].value
    known, k = _known(factors, latents), len(factors.names)
    chance = "" if factors.mig.chance is None else f", {factors.mig.chance:.2f} by chance"
    seen = ", supervised" if factors.supervised else ""
    number = f"MIG is {value:.2f} (one seed{seen}{chance}, n = {factors.mig.protocol.n:,}): "
    undecided = close(known.gap, high, "Their mean gap")
    found = () if groups is None or factors.supervised else _several(groups)
    # The gap of MIG is that to the second latent; it does not ask whether both do better together.
    joint = {name for group in found for name in group.factors}
    apart = [name for name in known.apart if name not in joint]
    joined = [own for own in found if own.angle is None and set(own.factors) & set(known.apart)]
    tone: Tone = "note"
    if factors.supervised:
        says = "the encoder saw the factors, so this does not show what it learns without them."
        advice = (
            "Test it on data whose factors it did not see, or compare it with a model without u."
        )
    elif known.few.all():
        says = "there are too few examples to tell which latents encode the factors."
        advice = "Encode more examples that have factors."
    elif len(apart) == k and known.gap >= high:
        tone = "good"
        says = f"the axes separate the factors.{undecided}"
        advice = (
            "Train other seeds before you rely on this: seeds can differ as much as methods do."
        )
    elif len(apart) == k:
        says = f"the axes separate the factors, but only by a small gap.{undecided}"
        advice = "Look at the table of factors for latents that encode the same factor."
    elif apart:
        says = f"the axes separate {len(apart)} of {k} factors ({listed(apart)})."
        advice = "Look at the table of factors for the others."
    elif known.apart:
        says = f"no single latent is enough for {listed(known.apart)}."
        advice = "Name these latents together, not one by one."
    else:
        tone = "warning"
        says = "the axes do not separate the factors."
        advice = "Treat the latents as coordinates without a meaning, and do not name them."
    if joined:
        says += f" Encoded by several latents: {'; '.join(group.says for group in joined)}."
    rotated = () if groups is None or factors.supervised else groups.rotated
    if rotated:
        tone = "note"
        says += f" A rotation separates them: {listed([group.says for group in rotated])}."
        advice = "Rotate these latents before you name them: vs.rotate."
    elif known_to_passive(factors, latents) and not factors.supervised:
        tone = "note"
        advice = "Use the table of factors without the passive latents: their samples are noise."
    which = {int(i) for i, share in zip(known.best, known.most, strict=True) if share}
    return Verdict(
        "mig", tone, f"{number}{says}{known.says}", number=value, shown=f"{value:.2f}",
        threshold=high,
        rule=f"MIG is {high:g} or more, the gap of each factor is {THRESHOLDS['gap'].value:g} "
        "or more, and each factor has a latent of its own",
        advice=advice, section="factors", latents=tuple(sorted(which)), paper="mig",
        borderline=bool(undecided) and undecided in says,
    )  # fmt: skip


def _several(groups: "LatentGroups") -> "list[LatentGroup]":
    """Groups whose factors need several latents, rotated or not."""
    return [own for own in groups.groups if len(own.latents) > 1 and not own.straight]


def _shared(names: NDArray[np.str_], best: Long, known: Booleans) -> dict[int, list[str]]:
    """Latents that know two factors or more best, and which."""
    held: dict[int, list[str]] = {}
    for name, latent in zip(names[known], best[known], strict=True):
        held.setdefault(int(latent), []).append(str(name))
    return {latent: factors for latent, factors in held.items() if len(factors) > 1}
