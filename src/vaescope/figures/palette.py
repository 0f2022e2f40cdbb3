"""Colours that colour-blind readers can tell apart. Okabe and Ito 2008,
https://jfly.uni-koeln.de/color/.

The report has its own, for light and dark, in `report/templates/style.css`.
"""

__all__ = ["ACCENT", "INK", "MUTED", "SERIES", "SERIES_DARK"]

ACCENT = "#0072B2"
INK = "#1B1F24"
MUTED = "#767D86"
#: Lines and dots that must be told apart.
SERIES = (ACCENT, "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: The same in order, on dark paper: the first three are too dim there.
SERIES_DARK = ("#4FB3F2", "#FF8A3D", "#2FCB9C", "#E79CC6", "#F2B632", "#B5E0FF")
