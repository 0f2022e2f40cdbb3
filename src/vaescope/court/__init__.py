"""A court for metrics: codes with a known right answer, and what each metric says of them."""

from vaescope.court.trial import CELLS, Court, CourtCell, hold_court

__all__ = ["CELLS", "Court", "CourtCell", "hold_court"]
