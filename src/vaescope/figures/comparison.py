"""The rate of matched latents in several runs, and its differences with intervals."""

from typing import Any

from vaescope.comparing import Comparison
from vaescope.comparing.compared_runs import letter
from vaescope.comparing.verdicts import latent_name, side_name
from vaescope.figures.charts import Chart
from vaescope.figures.palette import SERIES

__all__ = ["certain_first", "comparison_chart"]


def comparison_chart(comparison: Comparison, shown: int) -> Chart | None:
    """KL of the first `shown` matched latents in each run beside its difference on each side; None
    where no run has any."""
    rows: list[tuple[Any, ...]] = []
    ordered = [comparison.latents[place] for place in certain_first(comparison)]
    latents = [latent for latent in ordered if any(latent.judged)][:shown]
    for latent in latents:
        kl, name = latent.measured["kl"], latent_name(latent)
        rows += [
            (name, letter(place), value, None, None, None)
            for place, value in enumerate(kl.values)
            if value is not None
        ]
        rows += [
            (name, side_name(side), None, gap.difference, gap.interval[0], gap.interval[1])
            for side, gap in zip(comparison.sides, kl.gaps, strict=True)
            if gap.interval is not None
        ]
    if not rows:
        return None
    names = ("latent", "which", "kl_nats", "difference", "low", "high")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return Chart(_spec([latent_name(own) for own in latents]), columns)


def certain_first(comparison: Comparison) -> list[int]:
    """Places of the matched latents by the least mean posterior variance in any run."""
    least = [
        min(value for value in latent.measured["mean_variance"].values if value is not None)
        for latent in comparison.latents
    ]
    return sorted(range(len(least)), key=least.__getitem__)


def _spec(order: list[str]) -> dict[str, Any]:
    y = {
        "field": "latent", "type": "nominal", "sort": order, "title": None,
        "axis": {"ticks": False, "domain": False, "labelPadding": 8},
    }  # fmt: skip
    which = {"field": "which", "type": "nominal", "legend": {"title": None, "labelLimit": 300},
             "scale": {"range": list(SERIES)}}  # fmt: skip
    height = {"step": 24}

    def tooltip(*fields: str) -> list[dict[str, str]]:
        return [{"field": field} for field in ("latent", "which", *fields)]

    return {
        "usermeta": {"cell": 320, "most": 2, "axis": 46},
        "resolve": {"scale": {"color": "independent"}, "legend": {"color": "independent"}},
        "concat": [
            {
                "title": "KL in each run (nats)", "height": height,
                "transform": [{"filter": "datum.kl_nats != null"}],
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.85},
                "encoding": {
                    "y": y, "color": which, "shape": {"field": "which", "legend": None},
                    "x": {"field": "kl_nats", "type": "quantitative", "title": None,
                          "axis": {"tickCount": 5}, "scale": {"zero": True}},
                    "tooltip": tooltip("kl_nats"),
                },
            },
            {
                "title": "Difference (95% interval)", "height": height,
                "transform": [{"filter": "datum.difference != null"}],
                "layer": [
                    {"mark": {"type": "rule", "color": "var(--ink-2)", "strokeDash": [3, 3]},
                     "encoding": {"x": {"datum": 0, "type": "quantitative"}}},
                    {"mark": {"type": "rule", "strokeWidth": 2},
                     "encoding": {
                         "y": y, "color": which, "yOffset": {"field": "which"},
                         "x": {"field": "low", "type": "quantitative", "title": None,
                               "axis": {"tickCount": 5}},
                         "x2": {"field": "high"}}},
                    {"mark": {"type": "circle", "size": 60, "opacity": 1},
                     "encoding": {
                         "y": y, "color": which, "yOffset": {"field": "which"},
                         "x": {"field": "difference", "type": "quantitative"},
                         "tooltip": tooltip("difference", "low", "high")}},
                ],
            },
        ],
    }  # fmt: skip
