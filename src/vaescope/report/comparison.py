"""A comparison as a page."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from vaescope import __version__
from vaescope.comparing import Comparison
from vaescope.comparing.compared_runs import letter, letters
from vaescope.comparing.intervals import SideGap
from vaescope.comparing.result import ComparedLatent
from vaescope.comparing.verdicts import latent_name, side_name
from vaescope.figures.comparison import certain_first, comparison_chart
from vaescope.latent_exchange import CLASSES
from vaescope.report.chart_parts import figure
from vaescope.report.matched_latents import shared_screen
from vaescope.report.page import (
    Column,
    Fact,
    Page,
    PageStatement,
    PageTable,
    Part,
    Picture,
    Pictures,
    Prose,
    Section,
    Value,
)
from vaescope.report.pictures import columns_of, rows_of
from vaescope.report.render import write_page

__all__ = ["comparison_page", "save_comparison"]

MINUS, HOLD = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
#: Matched latents in the figure and in pictures; tables have all.
SHOWN = 20
LABELS = {"kl": "KL", "mean_variance": "variance", "counterpart": "no counterpart"}


def save_comparison(comparison: Comparison, path: str | Path, *, images: bool = True) -> None:
    """Writes the page: one HTML file that opens from disk."""
    write_page(comparison_page(comparison, images=images), path)


def comparison_page(comparison: Comparison, *, images: bool = True) -> Page:
    """What the runs share, verdicts, then pictures, runs, latents, numbers and settings."""
    pictures = [_traversals(comparison), _reconstructions(comparison)] if images else []
    sections = [section for section in pictures if section is not None]
    sections += [
        _runs(comparison),
        _latents(comparison),
        _metrics(comparison),
        *([_exchanges(comparison)] if comparison.exchanges else []),
        _settings(comparison),
    ]
    return Page(
        " and ".join(dict.fromkeys(own.name for own in comparison.members[:2]))
        + (f" and {len(comparison.members) - 2} more" if len(comparison.members) > 2 else ""),
        f"{len(comparison.members)} runs on the same {comparison.n:,} of {comparison.of:,} images "
        f"of {comparison.data}.",
        _facts(comparison),
        tuple(
            PageStatement(
                one.tone, one.shown, one.says, f"Rule: {one.rule}", one.advice, one.section
            )
            for one in comparison.verdicts
        ),
        tuple(sections),
        (
            f"Made by vaescope {__version__}. This file loads nothing from the network.",
            "It shows examples of the data and reconstructions; --no-images leaves them out."
            if any(section is not None for section in pictures)
            else "It shows no examples of the data.",
        ),
        shared_screen(comparison, images=images),
    )


def _facts(comparison: Comparison) -> tuple[Fact, ...]:
    settings = len({own.setting for own in comparison.members})
    seeds = len({own.seed for own in comparison.members})
    note = f"{_count(settings, 'setting')}, {_count(seeds, 'seed')}"
    judged = [latent for latent in comparison.latents if any(latent.judged)]
    odd = sum(latent.differs for latent in judged)
    known = {n: [gap.differs for gap in own.gaps] for n, own in comparison.metrics.items()}
    measured = [n for n, answers in known.items() if any(one is not None for one in answers)]
    return (
        Fact("runs", str(len(comparison.members)), note),
        Fact("latents that differ", str(odd), f"of {len(judged)} in use"),
        Fact(
            "numbers that differ", str(sum(True in known[n] for n in measured)),
            f"of {len(measured)} with intervals",
        ),
        Fact("settings that differ", str(len([k for k in comparison.spec_diff if k != "seed"]))),
    )  # fmt: skip


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _runs(comparison: Comparison) -> Section:
    rows: list[tuple[Value, ...]] = [
        (letter(place), own.name, own.setting + 1, own.seed, own.data or "", len(kinds.names),
         len(kinds.active), len(kinds.mixed), len(kinds.passive))
        for place, (own, kinds) in enumerate(
            zip(comparison.members, comparison.kinds, strict=True)
        )
    ]  # fmt: skip
    columns = (
        Column("Run"), Column("Folder"), Column("Setting", "number", 0),
        Column("Seed", "number", 0), Column("Trained on"), Column("Latents", "number", 0),
        Column("Active", "number", 0), Column("Mixed", "number", 0),
        Column("Passive", "number", 0),
    )  # fmt: skip
    parts: list[Part] = [
        PageTable("runs", "The runs and their letters on this page.", columns, tuple(rows))
    ]
    parts += [Prose(note) for note in comparison.notes]
    return Section("runs", "Runs", "Runs of one setting differ in their seeds only.", tuple(parts))


def _latents(comparison: Comparison) -> Section:
    names = [letter(place) for place in range(len(comparison.members))]
    matching = PageTable(
        "matching", "Matched latents: the number in each run, and the rank correlation of means.",
        (*(Column(own) for own in names), Column("Name"), Column("Type"), Column("Differs")),
        tuple(
            (*(_found(own) for own in comparison.latents[place].match), comparison.name_of(place),
             _types(comparison.latents[place]), _differs(comparison.latents[place]))
            for place in certain_first(comparison)
        ),
    )  # fmt: skip
    parts: list[Part] = [matching]
    chart = comparison_chart(comparison, SHOWN)
    if chart is not None:
        caption = (
            "KL of each latent that some run uses, and how much it differs between runs. Where "
            "the interval excludes the dashed line, runs differ."
        )
        alt = "Dots of the KL of each latent in each run, beside differences with intervals. "
        alt += "; ".join(_alt(latent) for latent in _ordered(comparison) if any(latent.judged))
        parts.append(figure("latents-figure", chart, caption, alt))
    parts += [_latents_table(comparison, place) for place in range(len(comparison.sides))]
    rule = (
        "Latents that are not passive are assigned so that the sum of |rank correlation| of their "
        "means is largest; signs do not count. Passive latents are paired among themselves; "
        "these pairs mean little, so their differences have no interval. A number in "
        "brackets is the correlation; (rest) marks latents that were paired because no others "
        "were left."
    )
    parts.append(Prose(rule, aside=True))
    lead = "The same latents side by side, whatever their order and sign."
    return Section("latents", "Latents", lead, tuple(parts))


def _ordered(comparison: Comparison) -> list[ComparedLatent]:
    """The most certain first."""
    return [comparison.latents[place] for place in certain_first(comparison)]


def _found(found: Any) -> str | None:
    if found is None:
        return None
    if found.how == "first":
        return str(found.latent)
    what = "rest" if found.how == "rest" else f"{found.correlation:.2f}".replace("-", MINUS)
    return f"{found.latent}{HOLD}({what})"


def _types(latent: ComparedLatent) -> str:
    kinds = [kind or "none" for kind in latent.types]
    if len(set(kinds)) == 1:
        return kinds[0]
    if len(kinds) == 2:
        return ", ".join(kinds)
    return ", ".join(f"{count} {kind}" for kind, count in Counter(kinds).items())


def _differs(latent: ComparedLatent) -> str:
    names = dict.fromkeys(n for s in range(len(latent.judged)) for n in latent.differs_in(s))
    return ", ".join(LABELS[name] for name in names) or ("nothing" if any(latent.judged) else "")


def _alt(latent: ComparedLatent) -> str:
    values = ", ".join(
        f"{letter(place)} {value:.2f}"
        for place, value in enumerate(latent.measured["kl"].values)
        if value is not None
    )
    return f"{latent_name(latent)}: {values} nats"


def _ends(gap: SideGap, digits: int = 3) -> str | None:
    if gap.interval is None:
        return None
    low, high = (f"{end:.{digits}f}".replace("-", MINUS) for end in gap.interval)
    return f"{low}{HOLD}to{HOLD}{high}"


def _latents_table(comparison: Comparison, place: int) -> PageTable:
    side = comparison.sides[place]
    first, second = map(letters, (side.first, side.second))
    columns = [Column("Latent")]
    for label in ("KL", "Variance"):
        columns += [
            Column(f"{label} in {first}", "number"), Column(f"in {second}", "number"),
            Column("Difference", "number"), Column("95% interval"),
        ]  # fmt: skip
    rows = [
        (latent_name(latent), *_cells(latent.measured["kl"].gaps[place]),
         *_cells(latent.measured["mean_variance"].gaps[place]))
        for latent in comparison.latents
    ]  # fmt: skip
    caption = (
        f"{side_name(side)}: KL in nats and mean posterior variance; intervals over {side.basis}."
    )
    return PageTable(f"latents-{place + 1}", caption, tuple(columns), tuple(rows))


def _cells(gap: SideGap) -> tuple[Value, ...]:
    return gap.first, gap.second, gap.difference, _ends(gap)


def _metrics(comparison: Comparison) -> Section:
    parts: list[Part] = []
    for place, side in enumerate(comparison.sides):
        gaps = {name: own.gaps[place] for name, own in comparison.metrics.items()}
        first, second = map(letters, (side.first, side.second))
        parts.append(
            PageTable(
                f"metrics-{place + 1}", f"{side_name(side)}: intervals over {side.basis}.",
                (
                    Column("Number"), Column(first, "number"), Column(second, "number"),
                    Column("Difference", "number"), Column("95% interval"), Column("Differs"),
                ),
                tuple((name, *_cells(gap), _answer(gap)) for name, gap in gaps.items()),
            )
        )  # fmt: skip
    if len(comparison.members) > 2:
        names = [letter(place) for place in range(len(comparison.members))]
        parts.append(
            PageTable(
                "metrics-runs", "The same for each run.",
                (Column("Number"), *(Column(own, "number") for own in names)),
                tuple((name, *own.values) for name, own in comparison.metrics.items()),
            )
        )  # fmt: skip
    if comparison.skipped:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in comparison.skipped.items())
        parts.append(Prose(f"Left out: {reasons}", aside=True))
    text = (
        "ELBO, distortion and rate in nats per image, at the same noise in matched latents. Total "
        "correlation in nats, of the latents that are not passive. Metrics of means, protocol "
        "default. Counts, and metrics that learn, have no interval over images."
    )
    parts.append(Prose(text, aside=True))
    lead = "The same numbers for each side, measured on the same images."
    return Section("metrics", "Metrics", lead, tuple(parts))


def _exchanges(comparison: Comparison) -> Section:
    columns = (
        Column("Encodes"), Column("Decodes"), Column("Own, nats", "number", 1),
        *(Column(f"{name}, nats", "number", 1) for name in CLASSES),
        Column("Constant, nats", "number", 1), Column("What holds"),
    )  # fmt: skip
    rows = tuple(
        (own.a, own.b, own.own, *(own.costs[name] for name in CLASSES), own.mean_image, own.says)
        for own in comparison.exchanges
    )
    table = PageTable("exchange",
    "The cost of an image when one model encodes and another decodes, by the map between "
    "their latents.", columns, rows)  # fmt: skip
    text = (
        "Maps act on posterior means in units of each latent's standard deviation, and are fitted "
        "on half of the images and measured on the others. Constant: the mean image for every "
        "image. A class of maps suffices if it recovers 90% of what the constant loses."
    )
    lead = "Whether one model can decode what another has encoded: nats per image; lower is better."
    return Section("exchange", "Exchanged latents", lead, (table, Prose(text, aside=True)))


def _answer(gap: SideGap) -> str | None:
    return None if gap.differs is None else "yes" if gap.differs else "no"


def _settings(comparison: Comparison) -> Section:
    names = [letter(place) for place in range(len(comparison.members))]
    rows = tuple(
        (key, *(None if value is None else _plain(value) for value in values))
        for key, values in comparison.spec_diff.items()
    )
    parts: tuple[Part, ...] = (Prose("All settings are the same."),)
    if rows:
        columns = (Column("Setting"), *(Column(own) for own in names))
        parts = (
            PageTable("settings", "Settings that are not the same in all runs.", columns, rows),
        )
    lead = "The settings of each run."
    return Section("settings", "Settings", lead, parts)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _reconstructions(comparison: Comparison) -> Section | None:
    shown = comparison.shown
    if shown is None or shown.originals.ndim != 4:
        return None
    columns = np.concatenate([shown.originals[:, None], np.swapaxes(shown.outputs, 0, 1)], axis=1)
    runs = letters(range(shown.runs))
    pictures = tuple(
        Picture(png, f"Example {place + 1} above its reconstruction by {runs}.")
        for place, png in enumerate(columns_of(columns))
    )
    caption = f"From top to bottom: the image, then its reconstruction by {runs}."
    lead = "The same images through each run, from the posterior mean."
    part = Pictures(caption, pictures, "tiles")
    return Section("reconstructions", "Reconstructions", lead, (part,))


def _traversals(comparison: Comparison) -> Section | None:
    shown = comparison.shown
    if shown is None or shown.originals.ndim != 4:
        return None
    strips, about = [], []
    for place in certain_first(comparison)[:SHOWN]:
        latent = comparison.latents[place]
        for run, strip in enumerate(shown.strips[place]):
            found = latent.match[run]
            if strip is not None and found is not None and latent.types[run] != "passive":
                strips.append(strip)
                about.append((run, found, latent.types[run] or ""))
    if not strips:
        return None
    pictures = tuple(
        Picture(
            png, f"Outputs of run {letter(run)} as its latent {found.latent}, {kind}, moves"
            f"{' backwards' if found.sign < 0 else ''}.",
            label=f"{letter(run)}{found.latent}", type=kind,
            note="" if found.how == "first" else f"{found.correlation:.2f}".replace("-", MINUS),
        )
        for (run, found, kind), png in zip(about, rows_of(np.stack(strips)), strict=True)
    )  # fmt: skip
    marks = tuple(f"{value:g}".replace("-", MINUS) for value in shown.values)
    more = len(comparison.members) - shown.runs
    caption = (
        "Matched latents below each other, with their rank correlation; mirrored latents are "
        "drawn backwards so that rows agree. Passive latents are left out."
    )
    caption += f" The last {more} runs are left out." if more > 0 else ""
    lead = "What the decoders draw from the same latents, starting from the same image."
    return Section("traversals", "Traversals", lead, (Pictures(caption, pictures, "rows", marks),))
