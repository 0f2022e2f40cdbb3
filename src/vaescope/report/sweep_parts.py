"""Charts and tables of a sweep's page: Vega-Lite specs and the rows that they draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaescope.report.page import Column, Figure, PageTable
from vaescope.statistics import Shares, Source, rank_correlations, ranked, summarise
from vaescope.tables import Table as Runs
from vaescope.tables import Value

__all__ = [
    "Front",
    "correlations_figure",
    "curves_figure",
    "front_figure",
    "means_table",
    "pareto",
    "setting_name",
    "settings_of",
    "shares_table",
    "strength_of",
    "unit_of",
]

#: Lines of a panel that can be told apart, and their colours (Okabe and Ito).
LINES = 8
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#000000"]
MINUS, HOLD = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
#: Rows of the table of means, and settings on the front that have their names beside them.
ROWS, LABELLED = 500, 12


def strength_of(runs: Runs) -> str | None:
    """The number that the curves run along: the objective's own where one is varied."""
    numbers = [
        name
        for name in runs.varying()
        if name != "seed" and np.unique(_finite(runs.numbers(name))).size > 1
    ]
    own = [name for name in numbers if name.startswith("objective.")]
    found = own or numbers
    return found[0] if found else None


def _finite(values: Any) -> Any:
    return values[np.isfinite(values)]


def unit_of(measure: str) -> str:
    """In which a measure is, where it has a unit."""
    word = measure.rpartition(".")[2]
    nats = ("rate", "distortion", "loss", "kl", "elbo", "total_correlation")
    return "nats" if word in nats else "s" if word == "seconds" else ""


def settings_of(runs: Runs) -> dict[tuple[Value, ...], list[int]]:
    """Places of the runs that differ in their seeds only, in the order of their settings."""
    by = [name for name in runs.varying() if name != "seed"]
    found: dict[tuple[Value, ...], list[int]] = {}
    for place in range(len(runs)):
        found.setdefault(tuple(runs.settings[name][place] for name in by), []).append(place)
    return dict(sorted(found.items(), key=lambda setting: ranked(setting[0])))


def setting_name(runs: Runs, place: int) -> str:
    """What is set in a run and not in all of them: `beta 4, latent 10`."""
    varied = [name for name in runs.varying() if name != "seed"]
    words = [f"{name.rpartition('.')[2]} {_text(runs.settings[name][place])}" for name in varied]
    return ", ".join(words) or "all runs"


@dataclass(frozen=True)
class Front:
    """Mean rate and distortion of each setting, and whether no other is better in both."""

    names: tuple[str, ...]
    rate: tuple[float, ...]
    distortion: tuple[float, ...]
    n: tuple[int, ...]
    front: tuple[bool, ...]


def pareto(runs: Runs) -> Front | None:
    """None where runs have no rate and distortion.

    A setting is off the front if another is no worse in both and better in one.
    """
    if not {"rate", "distortion"} <= set(runs.results):
        return None
    rate, distortion = runs.numbers("rate"), runs.numbers("distortion")
    both = np.stack([rate, distortion])  # (2, run)
    known = np.isfinite(rate) & np.isfinite(distortion)
    settings = {
        setting_name(runs, places[0]): kept
        for places in settings_of(runs).values()
        if (kept := [place for place in places if known[place]])
    }
    if not settings:
        return None
    means = np.stack([both[:, places].mean(axis=1) for places in settings.values()])
    others, own = means[None], means[:, None]  # (setting, setting, 2)
    worse = np.logical_and(np.all(others <= own, axis=-1), np.any(others < own, axis=-1))
    return Front(
        tuple(settings), tuple(means[:, 0].tolist()), tuple(means[:, 1].tolist()),
        tuple(map(len, settings.values())), tuple((~np.any(worse, axis=1)).tolist()),
    )  # fmt: skip


def front_figure(found: Front) -> Figure:
    """Settings in the plane of rate and distortion, and the front as a line."""
    plain = {"type": "quantitative", "scale": {"zero": False, "nice": True}}
    x = {"field": "rate", "title": "Rate (nats)", **plain, "axis": {"tickCount": 6}}
    y = {"field": "distortion", "title": "Distortion (nats)", **plain, "axis": {"tickCount": 5}}
    on = "datum.front == 'yes'"
    line = {
        "transform": [{"filter": on}],
        "mark": {"type": "line", "color": "var(--accent)", "strokeWidth": 1.5},
        "encoding": {"order": {"field": "rate"}},
    }
    dots = {
        "mark": {"type": "circle", "size": 70, "opacity": 1},
        "encoding": {
            "color": {
                "condition": {"test": on, "value": "var(--accent)"}, "value": "var(--passive)",
            },
            "tooltip": [{"field": name} for name in ("setting", "rate", "distortion", "n")],
        },
    }  # fmt: skip
    names = {
        "transform": [{"filter": on}],
        "mark": {
            "type": "text", "align": "left", "dx": 7, "dy": -7, "fontSize": 11, "limit": 180,
            "color": "var(--ink-2)",
        },
        "encoding": {"text": {"field": "setting"}},
    }  # fmt: skip
    spec = {
        "usermeta": {"cell": 640, "most": 1},
        "height": 300,
        "encoding": {"x": x, "y": y},
        "layer": [line, dots, names] if sum(found.front) <= LABELLED else [line, dots],
    }
    rows = tuple(
        (name, rate, distortion, n, "yes" if best else "no")
        for name, rate, distortion, n, best in zip(
            found.names, found.rate, found.distortion, found.n, found.front, strict=True
        )
    )
    columns = (
        Column("setting"), Column("rate", "number"), Column("distortion", "number"),
        Column("n", "number", 0), Column("front"),
    )  # fmt: skip
    caption = "Rate and distortion of each setting, means over seeds; the line is the Pareto front."
    best = sum(found.front)
    alt = f"Rate against distortion of {len(rows)} settings, of which {best} are on the front."
    return Figure(caption, alt, spec, PageTable("front", caption, columns, rows))


def _series(runs: Runs, strength: str) -> list[str]:
    """Settings that tell lines of a panel apart: all others that vary, if there are few of them."""
    others = [name for name in runs.varying() if name not in ("seed", strength)]
    lines = set(zip(*(runs.settings[name] for name in others), strict=True)) if others else set()
    if len(lines) <= LINES:
        return others
    return [name for name in others if name == "objective.name"]


def curves_figure(runs: Runs, measures: Sequence[str]) -> Figure | None:
    """Every measure along the strength: the mean over seeds, and its t interval as a band."""
    strength = strength_of(runs)
    if strength is None or not measures:
        return None
    series = _series(runs, strength)
    rows: list[tuple[Value, ...]] = []
    for measure in measures:
        for one in summarise(runs, measure, [strength, *series]):
            at = one.settings[strength]
            if isinstance(at, str) or at is None or one.estimate.n == 0:
                continue
            line = ", ".join(_text(one.settings[name]) for name in series) or "all"
            low, high = one.estimate.interval or (one.estimate.value, one.estimate.value)
            rows.append((measure, line, float(at), one.estimate.value, low, high, one.estimate.n))
    rows.sort(key=lambda row: (measures.index(str(row[0])), str(row[1]), float(row[2] or 0)))
    lines = sorted({str(row[1]) for row in rows})
    x = {
        "field": "strength", "type": "quantitative", "title": strength.rpartition(".")[2],
        "axis": {"tickCount": 4, "grid": False, "format": "~g"},
        "scale": _scale(runs.numbers(strength)),
    }  # fmt: skip
    y = {"type": "quantitative", "title": None, "axis": {"tickCount": 4}, "scale": {"zero": False}}
    colour: dict[str, Any] = {"value": "var(--accent)"}
    if len(lines) > 1:
        scale = {"domain": lines, "range": COLOURS[: len(lines)]}
        colour = {"field": "line", "type": "nominal", "legend": {"title": None}, "scale": scale}
    spec = {
        "usermeta": {"cell": 230, "most": 3, "axis": 46},
        "facet": {
            "field": "measure", "type": "nominal", "sort": list(measures),
            "header": {"title": None, "labelAnchor": "start"},
        },
        "resolve": {"scale": {"y": "independent"}},
        "spec": {
            "height": 150,
            "encoding": {"x": x, "color": colour},
            "layer": [
                {
                    "mark": {"type": "area", "opacity": 0.18},
                    "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
                },
                {
                    "mark": {"type": "line", "strokeWidth": 1.75, "point": {"size": 30}},
                    "encoding": {
                        "y": {"field": "mean", **y},
                        "tooltip": [
                            {"field": name}
                            for name in ("line", "strength", "mean", "low", "high", "n")
                        ],
                    },
                },
            ],
        },
    }  # fmt: skip
    names = ("measure", "line", "strength", "mean", "low", "high", "n")
    columns = tuple(Column(n, "text" if n in ("measure", "line") else "number", 4) for n in names)
    by = f", one line for each {' and '.join(series)}" if series else ""
    caption = f"Measures along {strength}{by}: mean over seeds and its 95% t interval."
    alt = f"Curves of {', '.join(measures)} along {strength}."
    return Figure(caption, alt, spec, PageTable("curves", caption, columns, tuple(rows)))


def _text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _scale(values: Any) -> dict[str, Any]:
    """Logarithmic where values span more than one order and a half; about zero where it is one."""
    known = _finite(values)
    low, high = known.min(), known.max()
    if low > 0 and high / low > 30:
        return {"type": "log"}
    positive = known[known > 0]
    if low == 0 and positive.size > 1 and high / positive.min() > 30:
        return {"type": "symlog", "constant": float(positive.min())}
    return {"zero": False}


def means_table(runs: Runs, measures: Sequence[str]) -> PageTable:
    """Mean and interval for each setting."""
    by = [name for name in runs.varying() if name != "seed"]
    found = {measure: summarise(runs, measure, by) for measure in measures}
    settings = [one.settings for one in found[measures[0]]]
    columns = [Column(name) for name in by] + [Column("n", "number", 0)]
    for measure in measures:
        columns += [Column(measure, "number", 4), Column("95% interval")]
    rows = []
    for place, setting in enumerate(settings[:ROWS]):
        row: list[Value] = [_text(setting[name]) for name in by]
        row.append(max(found[measure][place].estimate.n for measure in measures))
        for measure in measures:
            t = found[measure][place].estimate
            row += [
                t.value if t.n else None,
                None if t.interval is None else _between(*t.interval),
            ]
        rows.append(tuple(row))
    more = f" The first {ROWS} of {len(settings):,} settings." if len(settings) > ROWS else ""
    caption = f"Means over seeds and their 95% t intervals.{more}"
    return PageTable("means", caption, tuple(columns), tuple(rows), sortable=True)


def _between(low: float, high: float) -> str:
    return f"{low:.4g}{HOLD}to{HOLD}{high:.4g}".replace("-", MINUS)


def correlations_figure(runs: Runs, measures: Sequence[str]) -> Figure:
    """The matrix of rank correlations."""
    matrix = rank_correlations(runs, measures)
    axis = {"title": None, "type": "nominal", "sort": list(measures)}
    plain = {"ticks": False, "domain": False, "labelLimit": 160}
    value = {"field": "correlation", "type": "quantitative"}
    spec = {
        "usermeta": {"cell": min(240 + 44 * len(measures), 900), "most": 1, "axis": 160},
        "height": {"step": 28},
        "encoding": {
            "x": {**axis, "field": "with", "axis": {**plain, "orient": "top", "labelAngle": -40}},
            "y": {**axis, "field": "measure", "axis": plain},
        },
        "layer": [
            {
                "mark": {"type": "rect", "cornerRadius": 2},
                "encoding": {
                    "color": {
                        **value, "legend": None,
                        "scale": {"domain": [-1, 0, 1], "range": ["#e69f00", "#bbbbbb", "#0072b2"]},
                    },
                    "fillOpacity": {
                        "field": "strength", "type": "quantitative", "legend": None,
                        "scale": {"domain": [0, 1], "range": [0.06, 0.6]},
                    },
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {**value, "format": ".2f"}, "color": {"value": "var(--ink)"},
                },
            },
        ],
    }  # fmt: skip
    rows = tuple(
        (a, b, *((None, None) if np.isnan(r) else (float(r), abs(float(r)))))
        for a, line in zip(measures, matrix, strict=True)
        for b, r in zip(measures, line, strict=True)
    )
    columns = (Column("measure"), Column("with"), Column("correlation", "number", 2),
               Column("strength", "number", 2))  # fmt: skip
    caption = f"Rank correlations between measures over {len(runs):,} runs."
    pairs = sum(abs(row[2]) >= 0.7 for row in rows if row[2] is not None and row[0] < row[1])
    alt = f"Rank correlations of {len(measures)} measures; {pairs} pairs are at 0.7 or more."
    return Figure(caption, alt, spec, PageTable("correlations", caption, columns, rows))


def shares_table(shares: Mapping[str, Shares]) -> PageTable:
    """What each measure's variance is due to."""
    kinds: tuple[Source, ...] = ("objective", "strength", "seed")
    rows: list[tuple[Value, ...]] = [
        (name, *(f"{s.share[kind]:.0%} ({s.chance[kind]:.0%})" for kind in kinds), s.n)
        for name, s in shares.items()
    ]
    columns = (Column("measure"), *(Column(kind) for kind in kinds), Column("runs", "number", 0))
    return PageTable("variance", "Shares of variance, in brackets by chance.", columns, tuple(rows))
