"""Charts of data that are no images: lines of sequences, heat maps of tables."""

from collections.abc import Sequence

import numpy as np

from vaescope.figures.charts import Chart, Value
from vaescope.inspection import Latent
from vaescope.traversals import Reconstructions, Traversals
from vaescope.types import Floats

__all__ = ["sequences_chart", "table_chart", "traversed_sequences_chart"]

#: Examples, channels and steps of a sequence that are drawn: more cannot be told apart.
EXAMPLES, CHANNELS, STEPS = 6, 3, 400
#: Positions of a latent whose sequences are drawn.
POSITIONS = 5

_X = {"field": "step", "type": "quantitative", "title": None, "axis": {"grid": False}}
_Y = {"field": "value", "type": "quantitative", "title": None, "axis": {"tickCount": 3}}


def _facet(names: Sequence[str]) -> dict[str, object]:
    return {
        "field": "panel", "type": "nominal", "sort": list(names),
        "header": {"title": None, "labelAnchor": "start"},
    }  # fmt: skip


def _steps(n: int) -> list[int]:
    return [int(i) for i in np.unique(np.linspace(0, n - 1, min(n, STEPS)).astype(int))]


def sequences_chart(shown: Reconstructions, channels: Sequence[str]) -> Chart:
    """Examples and reconstructions over time, (n, time, channel): the first channels."""
    few = range(min(EXAMPLES, len(shown.originals)))
    steps, own = _steps(shown.originals.shape[1]), range(min(CHANNELS, len(channels)))
    panels = [f"{shown.labels[i]}, {channels[c]}" for i in few for c in own]
    rows = [
        (panels[i * len(own) + c], step, float(values[i, step, c]), name)
        for i in few for c in own
        for name, values in (("data", shown.originals), ("reconstruction", shown.outputs))
        for step in steps
    ]  # fmt: skip
    colour = {
        "field": "what", "type": "nominal", "legend": {"title": None},
        "scale": {"domain": ["data", "reconstruction"], "range": ["var(--ink-2)", "var(--accent)"]},
    }  # fmt: skip
    spec = {
        "usermeta": {"cell": 210, "most": 3, "axis": 46},
        "facet": _facet(panels),
        "spec": {
            "height": 110, "mark": {"type": "line", "strokeWidth": 1.25},
            "encoding": {"x": _X, "y": _Y, "color": colour},
        },
    }  # fmt: skip
    return Chart(spec, _columns(rows, ("panel", "step", "value", "what")))


def traversed_sequences_chart(
    moved: Traversals, outputs: Floats, latents: Sequence[Latent], channel: str
) -> Chart:
    """One channel over time as a latent moves: outputs (latent, position, time)."""
    positions = np.linspace(0, len(moved.values) - 1, POSITIONS).astype(int).tolist()
    steps = _steps(outputs.shape[2])
    names = [f"{z.index}, {z.type}" for z in latents]
    rows = [
        (name, step, float(outputs[z.index, position, step]), float(moved.values[position]))
        for name, z in zip(names, latents, strict=True)
        for position in positions for step in steps
    ]  # fmt: skip
    colour = {"field": "z", "type": "quantitative", "legend": {"title": "z"}}
    spec = {
        "usermeta": {"cell": 180, "most": 4, "axis": 46},
        "facet": _facet(names),
        "spec": {
            "height": 110, "mark": {"type": "line", "strokeWidth": 1.25},
            "encoding": {"x": _X, "y": _Y | {"title": channel}, "color": colour,
                         "detail": {"field": "z"}},
        },
    }  # fmt: skip
    return Chart(spec, _columns(rows, ("panel", "step", "value", "z")))


def table_chart(shown: Reconstructions, columns: Sequence[str]) -> Chart:
    """Examples above their reconstructions as a heat map, darker where a column is larger: `place`
    is that between the least and the greatest value of the column among the examples."""
    both = (("data", shown.originals), ("decoded", shown.outputs))
    lines = [(f"{label}, {what}", values[i]) for i, label in enumerate(shown.labels)
             for what, values in both]  # fmt: skip
    few = list(columns)[:40]
    low, high = shown.originals.min(0), shown.originals.max(0)
    span = np.where(high > low, high - low, 1.0)  # each column has units of its own
    rows = [
        (line, name, float(values[c]), float((values[c] - low[c]) / span[c]))
        for line, values in lines for c, name in enumerate(few)
    ]  # fmt: skip
    axis = {"ticks": False, "domain": False}
    spec = {
        "usermeta": {"cell": min(max(30 * len(few), 200), 640), "most": 1, "axis": 160},
        "height": {"step": 16}, "mark": {"type": "rect"},
        "encoding": {
            "x": {"field": "column", "type": "nominal", "sort": few, "title": None,
                  "axis": axis | {"orient": "top", "labelAngle": -45}},
            "y": {"field": "row", "type": "nominal", "sort": [line for line, _ in lines],
                  "title": None, "axis": axis},
            "color": {"field": "place", "type": "quantitative", "legend": None,
                      "scale": {"domain": [0, 1], "clamp": True}},
            "tooltip": [{"field": name} for name in ("row", "column", "value")],
        },
    }  # fmt: skip
    return Chart(spec, _columns(rows, ("row", "column", "value", "place")))


def _columns(rows: Sequence[tuple[Value, ...]], names: Sequence[str]) -> dict[str, list[Value]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
