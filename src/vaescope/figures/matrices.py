"""Matrices of latents against latents, side by side."""

from collections.abc import Mapping, Sequence

from vaescope.figures.charts import Chart
from vaescope.inspection import Latent
from vaescope.types import Double

__all__ = ["correlations_chart"]


def correlations_chart(matrices: Mapping[str, Double], latents: Sequence[Latent]) -> Chart:
    """Absolute correlations of the latents, one panel for each matrix, darker where larger."""
    order = [z.index for z in latents]
    axis = {"ticks": False, "domain": False, "labelAngle": 0}
    size = {"field": "size", "type": "quantitative"}
    marks = {
        "mark": {"type": "rect", "color": "var(--accent)"},
        "encoding": {
            "x": {"field": "with", "type": "nominal", "sort": order, "title": None, "axis": axis},
            "y": {"field": "latent", "type": "nominal", "sort": order, "title": None, "axis": axis},
            "fillOpacity": {
                **size, "scale": {"domain": [0, 1], "range": [0.03, 1]},
                "legend": {"title": None, "format": ".1f", "symbolType": "square"},
            },
            "tooltip": [
                {"field": name, "type": kind, "title": title}
                for name, kind, title in (
                    ("latent", "nominal", "latent"), ("with", "nominal", "with"),
                    ("size", "quantitative", "|correlation|"),
                )
            ],
        },
    }  # fmt: skip
    spec = {
        "usermeta": {"cell": 300, "most": 2, "axis": 46},
        "facet": {
            "field": "of", "type": "nominal", "sort": list(matrices),
            "header": {"title": None, "labelAnchor": "start"},
        },
        "spec": {"height": {"step": max(8, min(24, 260 // max(len(order), 1)))}, **marks},
    }  # fmt: skip
    cells = [(name, i, j) for name in matrices for i in order for j in order]
    return Chart(
        spec,
        {
            "of": [name for name, _, _ in cells],
            "latent": [i for _, i, _ in cells],
            "with": [j for _, _, j in cells],
            "size": [float(abs(matrices[name][i, j])) for name, i, j in cells],
        },
    )
