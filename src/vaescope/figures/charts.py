"""Charts for the report: Vega-Lite specs as plain data, and the rows that they draw.

Colours are names of the page's style sheet, so that a chart follows light, dark and print. A spec
of several panels says in `usermeta` how wide a panel should be; the page chooses how many fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaescope.inspection import FactorSummary, Histograms, Latent, Training
from vaescope.latent_types import ALPHA
from vaescope.latents import Types
from vaescope.traversals import Traversals
from vaescope.types import Floats, Integers

__all__ = [
    "Chart",
    "Value",
    "curves_chart",
    "factors_chart",
    "histograms_chart",
    "latents_chart",
    "outputs_chart",
    "traces_chart",
]

Value = str | int | float | None

#: Outputs of a vector that are drawn: more lines cannot be told apart.
LINES = 20

#: Nats that an axis or a bar of rates reaches at least, lest noise look like information.
LEAST_KL = 0.1


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite spec without data, and the data: columns of equal length by name."""

    spec: Mapping[str, Any]
    columns: Mapping[str, Sequence[Value]]


_NAMES = ["active", "mixed", "passive"]
_COLOUR = {
    "field": "type", "type": "nominal", "legend": {"title": None},
    "scale": {"domain": _NAMES, "range": [f"var(--{name})" for name in _NAMES]},
}  # fmt: skip
_ACCENT = "var(--accent)"


def _panels(cell: int, most: int, *, axis: int = 46) -> dict[str, Any]:
    """At most so many panels in a row, each so wide with so much for its axis, in pixels."""
    return {"usermeta": {"cell": cell, "most": most, "axis": axis}}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _tooltip(**titles: str) -> list[dict[str, str]]:
    """What is shown of a mark under the pointer: titles by field."""
    return [{"field": field, "title": title} for field, title in titles.items()]


def _order(latents: Sequence[Latent]) -> list[int]:
    return [latent.index for latent in latents]


@dataclass(frozen=True, eq=False)
class _Variances:
    """Posterior variances as they are drawn, with the bands of the types."""

    mean: list[float]
    sd: list[float]
    bands: list[dict[str, Value]]
    title: str
    field: str  # name of the column


def _variances(latents: Sequence[Latent], kinds: Types | None) -> _Variances:
    """In the units that types are decided in: those of an unused latent, or of the prior where an
    unused latent sits in a spike of it."""
    active: dict[str, Value] = {"from": 0.0, "to": ALPHA, "type": "active"}
    rule = (1.0 - ALPHA, 1.0 + ALPHA)
    order = _order(latents)
    if kinds is None or not kinds.rescaled:
        mean = [z.mean_variance for z in latents]
        sd = [float(np.sqrt(z.variance_of_variance)) for z in latents]
        over = ""
    else:
        units = np.ones(len(kinds.names)) if kinds.spread is None else kinds.spread
        mean = (units * kinds.mean_ratio)[order].tolist()
        sd = (units * np.sqrt(kinds.variance_of_ratio))[order].tolist()
        over = " over an unused latent's" if kinds.spread is None else " over the prior's"
        rule = (rule[0] * float(units.min()), rule[1] * float(units.max()))
    passive: dict[str, Value] = {"from": rule[0], "to": rule[1], "type": "passive"}
    bands = [active] if kinds is not None and kinds.why else [active, passive]
    title = f"Posterior variance{over} (mean ± sd over examples)"
    return _Variances(mean, sd, bands, title, "mean_ratio" if over else "mean_variance")


def latents_chart(latents: Sequence[Latent], kinds: Types | None = None) -> Chart:
    """Rate and posterior variance of every latent, sorted by the latter; `kinds` are what the types
    were decided by."""
    drawn = _variances(latents, kinds)
    y = {
        "field": "latent", "type": "nominal", "sort": _order(latents), "title": None,
        "axis": {"ticks": False, "domain": False, "labelPadding": 8},
    }  # fmt: skip
    height = {"step": 20}
    words = {drawn.field: drawn.field.replace("_", " ")}
    tooltip = _tooltip(latent="latent", type="type", kl_nats="KL", **words)
    small = all((z.kl_nats or 0.0) < LEAST_KL for z in latents)
    rates = {"domain": [0, LEAST_KL]} if small else {"zero": True}
    sides = {"domain": [0, max(1.2, *drawn.mean)]}
    spec = {
        **_panels(320, 2),
        "concat": [
            {
                "title": "KL per latent (nats)", "height": height,
                "mark": {"type": "bar", "cornerRadiusEnd": 2, "height": {"band": 0.66}},
                "encoding": {
                    "y": y, "color": _COLOUR, "tooltip": tooltip,
                    "x": {
                        "field": "kl_nats", "type": "quantitative", "title": None,
                        "axis": {"tickCount": 5}, "scale": rates,
                    },
                },
            },
            {
                "title": drawn.title, "height": height,
                "layer": [
                    {
                        "data": {"values": drawn.bands},
                        "mark": {"type": "rect", "opacity": 0.13},
                        "encoding": {
                            "x": {
                                "field": "from", "type": "quantitative", "title": None,
                                "axis": {"tickCount": 5},
                            },
                            "x2": {"field": "to"}, "color": _COLOUR,
                        },
                    },
                    {
                        "mark": {"type": "rule", "strokeWidth": 1.5, "clip": True},
                        "encoding": {
                            "y": y, "color": _COLOUR,
                            "x": {"field": "low", "type": "quantitative", "scale": sides},
                            "x2": {"field": "high"},
                        },
                    },
                    {
                        "mark": {"type": "circle", "size": 60, "opacity": 1},
                        "encoding": {
                            "y": y, "color": _COLOUR, "tooltip": tooltip,
                            "x": {"field": drawn.field, "type": "quantitative"},
                        },
                    },
                ],
            },
        ],
    }  # fmt: skip
    return Chart(
        spec,
        {
            "latent": _order(latents),
            "type": [z.type for z in latents],
            "kl_nats": [z.kl_nats for z in latents],
            drawn.field: drawn.mean,
            "low": [mean - sd for mean, sd in zip(drawn.mean, drawn.sd, strict=True)],
            "high": [mean + sd for mean, sd in zip(drawn.mean, drawn.sd, strict=True)],
        },
    )


def histograms_chart(histograms: Histograms, latents: Sequence[Latent]) -> Chart:
    """Means and samples of each latent against its prior; heights are cut above that."""
    series = {
        "scale": {
            "domain": ["samples", "means", "prior"],
            "range": ["var(--fill)", "var(--accent)", "var(--ink-2)"],
        },
        "legend": {"title": None, "symbolType": "stroke", "symbolStrokeWidth": 3},
    }
    x = {
        "field": "z",
        "type": "quantitative",
        "title": None,
        "axis": {"tickCount": 4, "grid": False},
    }

    def y(field: str) -> dict[str, Any]:
        axis = {"labels": False, "grid": False, "minExtent": 0}
        scale = {"domain": [0, histograms.top]}
        return {"field": field, "type": "quantitative", "title": None, "axis": axis, "scale": scale}

    def layer(mark: dict[str, Any], field: str, name: str) -> dict[str, Any]:
        # Each layer fills or strokes by a constant that the legend names.
        encoding = {"x": x, "y": y(field), "color": {"datum": name, **series}}
        return {"mark": {"clip": True, **mark}, "encoding": encoding}

    names = [f"{z.index}, {z.type}" for z in latents]
    spec = {
        **_panels(130, 5, axis=0),
        "facet": {
            "field": "panel", "type": "nominal", "sort": names,
            "header": {"title": None, "labelAnchor": "start"},
        },
        "spec": {
            "height": 84,
            "layer": [
                layer({"type": "area", "interpolate": "step", "opacity": 1}, "sample", "samples"),
                layer({"type": "line", "interpolate": "step", "strokeWidth": 1.5}, "mean", "means"),
                layer({"type": "line", "strokeDash": [3, 3], "strokeWidth": 1}, "prior", "prior"),
            ],
        },
    }  # fmt: skip
    bins = len(histograms.middles)
    return Chart(
        spec,
        {
            "panel": [name for name in names for _ in range(bins)],
            "z": np.tile(histograms.middles, len(latents)).tolist(),
            "mean": histograms.mean[_order(latents)].ravel().tolist(),
            "sample": histograms.sample[_order(latents)].ravel().tolist(),
            "prior": histograms.prior[_order(latents)].ravel().tolist(),
        },
    )


def curves_chart(training: Training) -> Chart:
    """Distortion, rate and the count of each type over the steps."""
    x = {
        "field": "step", "type": "quantitative", "title": None,
        "axis": {"tickCount": 4, "grid": False, "format": ",d"},
    }  # fmt: skip
    # A single record is a point, and a line through it would not show.
    line = {"type": "line", "color": _ACCENT, "strokeWidth": 1.75, "point": len(training.step) < 3}

    def panel(title: str, field: str) -> dict[str, Any]:
        y = {
            "field": field, "type": "quantitative", "title": None,
            "axis": {"tickCount": 4}, "scale": {"nice": 4},
        }  # fmt: skip
        return {"title": title, "height": 150, "mark": line, "encoding": {"x": x, "y": y}}

    counts = {
        "title": "Latents by type", "height": 150,
        "transform": [{"fold": _NAMES, "as": ["type", "count"]}],
        "mark": {"type": "area", "interpolate": "step-before", "opacity": 1},
        "encoding": {
            "x": x,
            "y": {
                "field": "count", "type": "quantitative", "title": None,
                "axis": {"tickMinStep": 1, "tickCount": 5},
            },
            "color": _COLOUR,
            "order": {"field": "type"},
        },
    }  # fmt: skip
    panels = [panel("Distortion (nats)", "distortion"), panel("Rate (nats)", "rate"), counts]
    if np.isnan(training.rate).all():
        panels = panels[:1]  # a plain autoencoder: no rate, and types say nothing
    names = ("step", "loss", "distortion", "rate", "active", "mixed", "passive")
    return Chart(
        {**_panels(230, 3), "concat": panels, "resolve": {"scale": {"color": "independent"}}},
        {name: [_finite(v) for v in getattr(training, name).tolist()] for name in names},
    )


def factors_chart(factors: FactorSummary, latents: Sequence[Latent]) -> Chart:
    """What each latent encodes of each factor, darker where it encodes more."""
    encoding = {
        "x": {
            "field": "factor", "type": "nominal", "sort": list(factors.names), "title": None,
            "axis": {"orient": "top", "labelAngle": 0, "ticks": False, "domain": False},
        },
        "y": {
            "field": "latent", "type": "nominal", "sort": _order(latents), "title": None,
            "axis": {"ticks": False, "domain": False},
        },
    }  # fmt: skip
    share = {"field": "information", "type": "quantitative"}
    scale = {"domain": [0, 1], "range": [0.04, 0.6]}  # text stays legible on the darkest
    spec = {
        "usermeta": {"cell": min(90 * len(factors.names), 640), "most": 1},
        "height": {"step": 24}, "encoding": encoding,
        "layer": [
            {
                "mark": {"type": "rect", "color": _ACCENT, "cornerRadius": 2},
                "encoding": {
                    "fillOpacity": {**share, "scale": scale, "legend": None},
                    "tooltip": _tooltip(latent="latent", factor="factor", information="share"),
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {**share, "format": ".2f"},
                    "color": {"value": "var(--ink)"},
                },
            },
        ],
    }  # fmt: skip
    pairs = [(z.index, k) for z in latents for k in range(len(factors.names))]
    return Chart(
        spec,
        {
            "latent": [index for index, _ in pairs],
            "factor": [factors.names[k] for _, k in pairs],
            "information": [float(factors.normalised[index, k]) for index, k in pairs],
        },
    )


def outputs_chart(
    traversals: Traversals, latents: Sequence[Latent], columns: Sequence[str] = ()
) -> Chart:
    """Outputs that are vectors along each latent: one line for each of the first `LINES`, with the
    names of their columns where they have some."""
    assert traversals.outputs is not None
    steps = len(traversals.values)
    chosen = traversals.outputs[_order(latents)]
    outputs = chosen.reshape(len(latents), steps, -1)[..., :LINES]
    names = [f"{z.index}, {z.type}" for z in latents]
    places = list(np.ndindex(*outputs.shape))
    series = {"field": "dimension", "type": "nominal", "legend": {"title": None}}
    told_apart = {"color": series} if columns else {}
    spec = {
        **_panels(180, 4),
        "facet": {
            "field": "panel", "type": "nominal", "sort": names,
            "header": {"title": None, "labelAnchor": "start"},
        },
        "spec": {
            "height": 110,
            "mark": {"type": "line", "color": _ACCENT, "strokeWidth": 1.25},
            "encoding": {
                "x": {"field": "z", "type": "quantitative", "title": None, "axis": {"grid": False}},
                "y": {
                    "field": "output", "type": "quantitative", "title": None,
                    "axis": {"tickCount": 3},
                },
                "detail": {"field": "dimension"},
                "tooltip": _tooltip(dimension="column", z="z", output="output"),
                **told_apart,
            },
        },
    }  # fmt: skip
    return Chart(
        spec,
        {
            "panel": [names[z] for z, _, _ in places],
            "z": [float(traversals.values[s]) for _, s, _ in places],
            "dimension": [columns[o] if columns else o for _, _, o in places],
            "output": [float(outputs[z, s, o]) for z, s, o in places],
        },
    )


def traces_chart(at: Integers, values: Floats, kinds: Mapping[int, str], title: str) -> Chart:
    """One number of each latent along the steps, coloured by its type in the end."""
    steps, d = values.shape
    places = np.unique(np.linspace(0, steps - 1, min(steps, 200)).astype(np.int64))
    spec = {
        **_panels(640, 1),
        "height": 220,
        "mark": {"type": "line", "strokeWidth": 1.5},
        "encoding": {
            "x": {
                "field": "step", "type": "quantitative", "title": "Step",
                "axis": {"grid": False, "tickCount": 5},
            },
            "y": {
                "field": "value", "type": "quantitative", "title": title,
                "axis": {"tickCount": 5}, "scale": {"zero": True},
            },
            "detail": {"field": "latent", "type": "nominal"},
            "color": {
                **_COLOUR,
                "legend": {"title": None, "symbolType": "stroke", "symbolStrokeWidth": 3},
            },
            "tooltip": _tooltip(latent="latent", type="type", step="step", value="value"),
        },
    }  # fmt: skip
    rows = [(int(place), j) for j in range(d) for place in places]
    return Chart(spec, {
        "step": [int(at[place]) for place, _ in rows],
        "latent": [str(j) for _, j in rows],
        "type": [kinds[j] for _, j in rows],
        "value": [_finite(float(values[place, j])) for place, j in rows],
    })  # fmt: skip
