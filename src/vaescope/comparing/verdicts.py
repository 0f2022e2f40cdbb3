"""A comparison in sentences: what is the same, what differs, and what its intervals mean."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vaescope.comparing.compared_runs import letter, letters
from vaescope.comparing.intervals import Basis, Side, SideGap
from vaescope.comparing.result import SAME, ComparedLatent, Comparison
from vaescope.estimates import LEVEL
from vaescope.verdicts import Verdict
from vaescope.wording import listed

__all__ = ["MEANING", "judge", "latent_name", "side_name"]

#: What an interval says, and what it does not.
MEANING: Mapping[Basis, str] = {
    "images": (
        "The interval is over images: what other images of these data would change between these "
        "runs. It says nothing about other seeds: for that, compare two or more seeds of each "
        "setting, or four of one."
    ),
    "seeds": (
        "The interval is Student's over seeds, with one spread for both sides: what other seeds of "
        "these settings would give on these images."
    ),
    "paired seeds": (
        "The interval is Student's over the differences of runs with the same seed: what other "
        "seeds of these settings would give on these images."
    ),
    "other seeds": (
        "The interval is Student's for one more seed of the others: a run beyond it is unusual "
        "among its seeds."
    ),
}
#: Names in one sentence; the table has all.
NAMED = 6
RULE = f"a {LEVEL:.0%} interval that excludes 0"


def side_name(side: Side) -> str:
    """`B against A`, `C and D against A and B`."""
    first = "the others" if side.basis == "other seeds" else letters(side.first)
    return f"{letters(side.second)} against {first}"


def latent_name(latent: ComparedLatent) -> str:
    """`A3`: latent 3 of run A, the first that has it."""
    place, found = next((p, own) for p, own in enumerate(latent.match) if own is not None)
    return f"{letter(place)}{found.latent}"


def judge(comparison: Comparison) -> Comparison:
    """The comparison with its verdicts."""
    found = [_identical(comparison)] if _is_identical(comparison) else _differences(comparison)
    return replace(comparison, verdicts=(*found, _matched(comparison), _settings(comparison)))


def _gaps(comparison: Comparison) -> list[SideGap]:
    measured = [*comparison.metrics.values()]
    measured += [own for latent in comparison.latents for own in latent.measured.values()]
    return [gap for own in measured for gap in own.gaps]


def _judged(comparison: Comparison) -> list[SideGap]:
    """Of metrics, and of latents that are not passive in all runs."""
    gaps = [gap for own in comparison.metrics.values() for gap in own.gaps]
    for latent in comparison.latents:
        for own in latent.measured.values():
            gaps += [gap for gap, known in zip(own.gaps, latent.judged, strict=True) if known]
    return gaps


def _is_blank(gap: SideGap) -> bool:
    """Whether there is a difference without an interval."""
    return gap.differs is None and bool(gap.difference)


def _is_identical(comparison: Comparison) -> bool:
    gaps = [gap.difference for gap in _gaps(comparison) if gap.difference is not None]
    one_sided = any(None in latent.match for latent in comparison.latents)
    same = bool(gaps) and all(gap == 0.0 for gap in gaps)
    return same and not one_sided and not comparison.differs


def _identical(comparison: Comparison) -> Verdict:
    n = len([gap for gap in _gaps(comparison) if gap.difference is not None])
    decoded = comparison.metrics.get("distortion")
    advice = "These are the same model, up to the order and the signs of latents."
    if decoded is None or any(gap.difference is None for gap in decoded.gaps):
        advice = "Their encoders are the same; their decoders were not compared."
    return Verdict(
        "identical", "good",
        f"Nothing differs: all {n} differences are exactly 0 on {comparison.n:,} images.",
        number=0, shown=f"0 of {n}", threshold=0, rule="a difference of exactly 0",
        advice=advice, section="metrics",
    )  # fmt: skip


def _differences(comparison: Comparison) -> list[Verdict]:
    found: list[Verdict] = []
    for place in range(len(comparison.sides)):
        odd = [latent for latent in comparison.latents if latent.differs_in(place)]
        names = [name for name, own in comparison.metrics.items() if own.gaps[place].differs]
        if odd or len(comparison.sides) == 1:
            found.append(_of_latents(comparison, place, odd))
        if names or len(comparison.sides) == 1:
            found.append(_of_metrics(comparison, place, names))
    if found:
        return found
    basis = comparison.sides[0].basis
    blank = sum(_is_blank(gap) for gap in _judged(comparison))
    rest = (
        "" if not blank else f" {blank} difference{'s have' if blank > 1 else ' has'} no interval."
    )
    return [
        Verdict(
            "alike", "note" if blank else "good",
            f"No latent and no metric differs at the {LEVEL:.0%} level on any side.{rest}",
            number=0, shown="0", threshold=0, rule=RULE, advice=MEANING[basis], section="metrics",
        )
    ]  # fmt: skip


def _chance(known: int) -> str:
    expected = known * (1 - LEVEL)
    return f"Of {known} intervals, about {expected:.0f} would exclude 0 by chance."


def _of_latents(comparison: Comparison, place: int, odd: Sequence[ComparedLatent]) -> Verdict:
    side = comparison.sides[place]
    gaps = [own.gaps[place] for latent in comparison.latents for own in latent.measured.values()]
    known = sum(gap.interval is not None for gap in gaps)
    judged = sum(latent.judged[place] for latent in comparison.latents)
    if odd:
        verb = "differs" if len(odd) == 1 else "differ"
        says = (
            f"{side_name(side)}: {len(odd)} of {judged} latents {verb} at the {LEVEL:.0%} level: "
        )
        says += f"{_few([_odd(latent, place) for latent in odd])}."
    elif known:
        says = f"{side_name(side)}: no latent differs at the {LEVEL:.0%} level."
    else:
        says = f"{side_name(side)}: no latent has an interval, so no difference can be shown."
    blank = [
        latent_name(latent)
        for latent in comparison.latents
        if latent.judged[place]
        and any(_is_blank(own.gaps[place]) for own in latent.measured.values())
    ]
    says += f" Without an interval: {_few(blank)}." if blank else ""
    numbers = tuple(own.latent for latent in odd if (own := latent.match[side.first[0]]))
    return Verdict(
        "latents", "good" if known and not odd else "note", says, number=len(odd),
        shown=f"{len(odd)} of {judged}", threshold=0,
        rule=f"{RULE}, or less than half of the variance shared",
        advice=f"{MEANING[side.basis]} {_chance(known)}", section="latents", latents=numbers,
    )  # fmt: skip


def _odd(latent: ComparedLatent, place: int) -> str:
    which = latent.differs_in(place)
    if "counterpart" in which:
        return f"{latent_name(latent)} (has no counterpart)"
    labels = {"kl": "KL", "mean_variance": "variance"}
    gap = latent.measured[which[0]].gaps[place]
    return f"{latent_name(latent)} ({labels[which[0]]} {_to(gap)})"


def _to(gap: SideGap) -> str:
    return f"{gap.first:.3g} to {gap.second:.3g}"


def _few(words: Sequence[str]) -> str:
    more = len(words) - NAMED
    return listed(list(words)) if more <= 1 else listed([*words[:NAMED], f"{more} more"])


def _of_metrics(comparison: Comparison, place: int, names: Sequence[str]) -> Verdict:
    side = comparison.sides[place]
    gaps = {name: own.gaps[place] for name, own in comparison.metrics.items()}
    known = sum(gap.interval is not None for gap in gaps.values())
    unknown = [name for name, gap in gaps.items() if _is_blank(gap)]
    if names:
        each = [f"{name} ({_to(gaps[name])})" for name in names]
        verb = "differs" if len(names) == 1 else "differ"
        says = (
            f"{side_name(side)}: {len(names)} of {known} numbers {verb} at the {LEVEL:.0%} level: "
        )
        says += f"{_few(each)}."
    elif known:
        says = f"{side_name(side)}: no number differs at the {LEVEL:.0%} level."
    else:
        says = f"{side_name(side)}: no number has an interval, so no difference can be shown."
    if unknown:
        without = listed([f"{name} ({_to(gaps[name])})" for name in unknown])
        says += f" Without an interval: {without}."
    return Verdict(
        "metrics", "good" if known and not names else "note", says, number=len(names),
        shown=f"{len(names)} of {known}", threshold=0, rule=RULE,
        advice=f"{MEANING[side.basis]} {_chance(known)}", section="metrics",
    )  # fmt: skip


def _matched(comparison: Comparison) -> Verdict:
    """How alike the matched latents are, over all runs."""
    pairs = [
        (abs(own.correlation), latent, own.sign)
        for latent in comparison.latents
        for own in latent.match
        if own is not None and own.how == "correlation"
    ]
    rest = sum(any(own and own.how == "rest" for own in la.match) for la in comparison.latents)
    alone = [la for la in comparison.latents if sum(own is not None for own in la.match) == 1]
    tail = (
        f" {rest} {'are' if rest > 1 else 'is'} paired with a remaining latent, because "
        f"{'they are passive or have' if rest > 1 else 'it is passive or has'} no counterpart."
        if rest
        else ""
    )
    tail += f" Only one run has {_few([latent_name(la) for la in alone])}." if alone else ""
    rule = f"a squared rank correlation of {SAME:g}: half of the variance is shared"
    if not pairs:
        bare = [
            place
            for place, own in enumerate(comparison.kinds)
            if len(own.passive) == len(own.names)
        ]
        return Verdict(
            "matched", "warning",
            f"No latents are matched: all latents of {letters(bare)} are passive.{tail}",
            number=0, shown="0", threshold=SAME, rule=rule,
            advice="Train longer, or lower beta: a collapsed model has nothing to compare.",
            section="latents",
        )  # fmt: skip
    least, latent, _ = min(pairs, key=lambda pair: pair[0])
    weak = sum(size**2 < SAME for size, _, _ in pairs)
    mirrored = sum(sign < 0 for _, _, sign in pairs)
    mirrors = f", {mirrored} of them mirrored" if mirrored else ""
    says = (
        f"{len(pairs)} pair{'s' * (len(pairs) > 1)} of latents {'are' if len(pairs) > 1 else 'is'} "
        f"matched by assignment{mirrors}; the lowest rank "
        f"correlation of means is {least:.2f}, at {latent_name(latent)}.{tail}"
    )
    advice = "Each pair shares half of its variance or more: treat it as one latent."
    if weak:
        advice = (
            f"{weak} {'share' if weak > 1 else 'shares'} less than half of the variance: there "
            "the runs have different axes, and a difference in KL is a difference between two "
            "unlike latents."
        )
    return Verdict(
        "matched", "warning" if weak else "good", says, number=least, shown=f"{least:.2f}",
        threshold=SAME, rule=rule, advice=advice, section="latents",
    )  # fmt: skip


def _settings(comparison: Comparison) -> Verdict:
    keys = [key for key in comparison.spec_diff if key != "seed"]
    seeds = "seed" in comparison.spec_diff
    unknown = [place for place, own in enumerate(comparison.members) if own.spec is None]
    if unknown:
        return Verdict(
            "settings", "note", f"The settings of {letters(unknown)} are not known.",
            number=len(unknown), shown=str(len(unknown)), threshold=0,
            rule="models whose settings are not known",
            advice="A difference may have any cause: the models may differ in all settings.",
            section="settings",
        )  # fmt: skip
    if keys:
        says = f"Settings differ in {_few(keys)}{' and in the seed' if seeds else ''}."
    else:
        says = "Settings differ in the seed only." if seeds else "Settings are the same."
    return Verdict(
        "settings", "note" if keys else "good", says, number=len(keys), shown=str(len(keys)),
        threshold=0, rule="settings that differ, seeds aside",
        advice="Any of the settings that differ may cause a difference between runs."
        if len(keys) > 1
        else "No other setting can explain a difference.",
        section="settings",
    )  # fmt: skip
