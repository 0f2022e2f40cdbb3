"""Figures from results: static ones for papers (matplotlib), and charts for the report (Vega-Lite).

Each `draw_*` takes a result and returns a matplotlib `Figure`; none touches pyplot or rcParams.
They resolve when first used: the report needs only the charts, and matplotlib takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaescope.figures.curves import draw_curves
    from vaescope.figures.histograms import draw_histograms
    from vaescope.figures.latents import draw_latents
    from vaescope.figures.traversals import draw_traversals

__all__ = ["draw_curves", "draw_histograms", "draw_latents", "draw_traversals"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"vaescope.figures.{name.removeprefix('draw_')}"), name)
    raise AttributeError(f"module 'vaescope.figures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
