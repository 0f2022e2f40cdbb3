"""The page of a court: every right answer with its reason, every wrong verdict with its command."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.court.encoders import ENCODERS, PROPERTIES
from vaescope.court.generators import GENERATORS
from vaescope.court.judging import LEVEL, Judgement, by_metric, ranking
from vaescope.court.promises import (
    AFTERWARDS,
    ASKS,
    COUNTED,
    DISPUTED,
    DISPUTED_GENERATORS,
    LOWER,
    SAME,
)
from vaescope.court.trial import IMPOSSIBLE, VARIANTS, Court, CourtCell
from vaescope.metrics.suite import METRICS

__all__ = ["page", "plain"]


def plain(found: Sequence[Judgement], out: Path) -> dict[str, Any]:
    """The judgements as plain values."""
    return {
        "page": str(out / "court.md"),
        "judgements": [
            {
                "metric": j.metric, "generator": j.cell.generator, "encoder": j.cell.encoder,
                "promise": j.promise, "value": j.value, "identity": j.reference,
                "right": j.right, "draws": j.draws, "verdict": j.verdict,
            }
            for j in found
        ],
    }  # fmt: skip


CHANGED = (
    "**Fresh draws.** The rules and answers were made while looking at draws 0 to 31. This led "
    "to 400 rows instead of 300 and to four classes of continuous factors instead of six; a "
    "score above a promised *same* became a false positive, and open answers were left out of "
    "the family of the false discovery rate. The results here are of draws 100 to 131, which were "
    "first drawn after "
    "the rules, the answers and all cells had been committed. One thing changed after that "
    "registration, before any of these draws was run: metrics that learn trees are tried on "
    "all cells, not only on those of the picture, because their trees had become fast enough."
)


def page(court: Court, found: Sequence[Judgement]) -> str:
    """The whole page, as Markdown."""
    draws = sorted({j.draws for j in found if j.draws})
    counts = {
        name: sum(j.verdict == name for j in found)
        for name in ("right", "false positive", "false negative", "undecided", "open", "no value")
    }
    ends = (draws[0], draws[-1]) if draws else (0,)
    counted = sum(j.metric in COUNTED for j in found if j.verdict == "open")
    doubted = sum(
        j.cell.encoder == "identity" and j.cell.generator in ("correlated .9", "function")
        for j in found
        if j.verdict == "false negative"
    )
    parts = [
        "# The court of metrics",
        "![Verdicts by metric and cell](court.svg)",
        f"Codes are constructed from factors, so the right answer is known, and nothing is "
        f"trained. {len(METRICS)} metrics, {len({j.cell for j in found})} cells, "
        f"{' to '.join(dict.fromkeys(map(str, ends)))} draws each, on means, protocol "
        f"`default` with 1,000 + 500 votes. {counts['right']} verdicts are right, "
        f"**{counts['false positive']} false positives**, **{counts['false negative']} false "
        f"negatives**, {counts['undecided']} undecided, {counts['open']} open ({counted} of them "
        f"of measures without a right answer), "
        f"{counts['no value']} without a value (the metric refused, or was not tried there "
        f"yet). Made by `vaescope court`: {court.seconds / 60:.0f} minutes of one processor, by "
        f"two workers half of that. The cells are the whole product of factors and codes but "
        + "; ".join(f"{e} of {g} ({why})" for (g, e), why in IMPOSSIBLE.items())
        + "; identity of independent is what the others are compared with. "
        + f"{doubted} of the false negatives are identity of factors that share information, whose "
        "right answer is disputed below.",
        "**The right answers were written down first** (`court/promises.py`). A metric's "
        "definition asks "
        "for properties of a perfect code. On a code that breaks one of them the right answer is "
        f"*lower* than for the perfect code of the same draw (by more than {LOWER:g}), else "
        f"*the same* (within {SAME:g}). A perfect code of dependent factors should score as much "
        f"as one of "
        "independent factors. A metric gives a *false positive* if it does not score a broken "
        "code lower, or scores a good code above the perfect one, and a *false negative* if "
        "it scores a good code lower. Each draw votes. A verdict needs evidence by the "
        "e-process that also decides the papers' claims, at a false discovery rate of "
        f"{LEVEL:.0%} over all verdicts; otherwise it is undecided.",
        CHANGED,
        _wrong(found),
        _ranks(court),
        _asked(),
        _encoders(),
        _generators(),
        _disputed(),
        _sensitivity(court),
        _chance(court),
        _counted(court),
    ]
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _number(value: float) -> str:
    return "-" if not np.isfinite(value) else f"{value:.2f}"


def _listed(judged: Sequence[Judgement], tried: int) -> str:
    if not judged:
        return "none found" if tried else "not tried"
    groups: dict[str, list[Judgement]] = {}
    for j in judged:
        groups.setdefault(j.cell.encoder, []).append(j)
    return "; ".join(
        f"{first.cell.encoder} of {first.cell.generator} ({_number(first.value)} beside "
        f"{_number(first.reference)}, {first.draws - first.right} of {first.draws} draws)"
        + (f", also of {', '.join(j.cell.generator for j in rest)}" if rest else "")
        for first, *rest in groups.values()
    )


def _wrong(found: Sequence[Judgement]) -> str:
    praised, blamed = by_metric(found, "false positive"), by_metric(found, "false negative")
    tried = {name: sum(j.draws for j in found if j.metric == name) for name in METRICS}
    rows = [
        [f"`{name}`", *(_listed(own[name], tried[name]) for own in (praised, blamed))]
        for name in METRICS
        if name not in COUNTED
    ]
    return (
        "## Where they are wrong\n\nEach entry names a code and the first factors on which the "
        "metric is wrong, the median score of the code beside that of the perfect one, and "
        "how many draws were wrong; other factors follow. To see one, "
        "e.g. the code `rotated 45` of the factors "
        '`correlated .9`: `vaescope court --cell "correlated .9/rotated 45"`.\n\n'
        + _table(["metric", "false positives", "false negatives"], rows)
    )


def _ranks(court: Court) -> str:
    rows = []
    for name in METRICS:
        if name in COUNTED or not ASKS[name].properties & ENCODERS["rotated 45"].breaks:
            continue
        shares = []
        for generator in GENERATORS:
            won = ranking(
                court, name, CourtCell(generator, "identity"), CourtCell(generator, "rotated 45")
            )
            shares.append("-" if won is None else f"{won[0]} of {won[1]}")
        rows.append([f"`{name}`", *shares])
    return (
        "## Which ranks the better of two codes first\n\nIdentity is compared with the same "
        "code after two latents are rotated by 45 degrees, for metrics that ask for a "
        "property that the rotation breaks. The table has the number of draws in which "
        "identity scored higher.\n\n" + _table(["metric", *GENERATORS], rows)
    )


def _asked() -> str:
    rows = [
        [f"`{name}`", ", ".join(sorted(asks.properties)) or "nothing that is tried here", asks.why]
        for name, asks in ASKS.items()
    ]
    means = "; ".join(f"*{name}*: {says}" for name, says in PROPERTIES.items())
    return f"## What each metric asks for\n\n{means}.\n\n" + _table(["metric", "asks", "why"], rows)


def _encoders() -> str:
    rows = [
        [name, own.says, ", ".join(sorted(own.breaks)) or "nothing", own.why]
        for name, own in ENCODERS.items()
    ]
    return "## The codes\n\n" + _table(["code", "is", "breaks", "why"], rows)


def _generators() -> str:
    return "## The factors\n\n" + _table(
        ["generator", "is"], [[name, own.says] for name, own in GENERATORS.items()]
    )


def _disputed() -> str:
    rows = [[f"`{metric}`", encoder, why] for (metric, encoder), why in DISPUTED.items()]
    rows += [["all", f"identity of {name}", why] for name, why in DISPUTED_GENERATORS.items()]
    later = [
        [f"`{metric}`" if metric in ASKS else metric, encoder, why]
        for (metric, encoder), why in AFTERWARDS.items()
    ]
    return (
        "## Right answers that can be disputed\n\nThey are shown as open and are not counted.\n\n"
        + _table(["metric", "code", "why"], rows)
        + "\n\nWhat we noticed afterwards; it changed neither an answer nor a verdict:\n\n"
        + _table(["metric", "code", "what can be said for it"], later)
    )


def _sensitivity(court: Court) -> str:
    plain_cell = CourtCell("independent", "rotated 10")
    rows = []
    for name in METRICS:
        cells = []
        for variant in VARIANTS:
            if variant:
                cells.append(
                    _moved(court, name, plain_cell, CourtCell("independent", "rotated 10", variant))
                )
        small = court.of(name, CourtCell("small n", "identity"))
        many = court.of(name, CourtCell("independent", "identity"))
        both = _number(np.nanmedian(many)) if np.isfinite(many).any() else "-"
        few = _number(np.nanmedian(small)) if np.isfinite(small).any() else "refused"
        rows.append([f"`{name}`", *cells, both, few])
    names = [variant for variant in VARIANTS if variant]
    return (
        "## How much bins, seeds and rows change scores\n\n"
        "The first columns have the mean absolute change, on codes rotated by 10 degrees, under "
        "other bins and another seed of the metric; the last have the score of the perfect "
        "code at 400 and at 60 rows.\n\n" + _table(["metric", *names, "400 rows", "60 rows"], rows)
    )


def _moved(court: Court, name: str, before: CourtCell, after: CourtCell) -> str:
    a, b = court.of(name, before), court.of(name, after)
    n = min(len(a), len(b))
    change = np.abs(a[:n] - b[:n])
    return _number(float(np.nanmean(change))) if n and np.isfinite(change).any() else "-"


def _chance(court: Court) -> str:
    cell = CourtCell("independent", "nothing")
    rows = []
    for name in METRICS:
        own = court.of(name, cell)
        if name in COUNTED or not np.isfinite(own).any():
            continue
        chance = court.chance.get((name, cell))
        rows.append(
            [
                f"`{name}`",
                _number(float(np.nanmedian(own))),
                "-" if chance is None else _number(chance),
            ]
        )
    return (
        "## What codes without information score\n\nThe table has the median, and the chance "
        "level that the score itself states, if it states one.\n\n"
        + _table(["metric", "noise alone", "stated chance"], rows)
    )


def _counted(court: Court) -> str:
    names = ("identity", "dead", "passive", "noise", "duplicated", "nothing")
    rows = []
    for name in COUNTED:
        found = [court.of(name, CourtCell("independent", encoder)) for encoder in names]
        rows.append(
            [
                f"`{name}`",
                *(_number(float(np.nanmedian(own))) if len(own) else "-" for own in found),
            ]
        )
    return (
        "## Measures without factors\n\nThese measures count, so no code is perfect. The right "
        "number of active units is 3, 3, 3, 6, 6 and 3. The factors have four values with a little "
        "noise, which has no "
        "dimension of its own.\n\n" + _table(["measure", *names], rows)
    )
