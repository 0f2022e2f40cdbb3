"""Colours that colour-blind readers can tell apart. Okabe and Ito 2008,
https://jfly.uni-koeln.de/color/.

The report has its own, for light and dark, in `report/templates/style.css`.
"""

from collections.abc import Mapping

from vaescope.regime import LatentType

__all__ = ["ACCENT", "INK", "MUTED", "TYPES"]

ACCENT = "#0072B2"
INK = "#1B1F24"
MUTED = "#767D86"

TYPES: Mapping[LatentType, str] = {"active": "#0072B2", "mixed": "#E69F00", "passive": "#999999"}
