"""A court for metrics: codes with a known right answer, and what each metric says of them."""

from vaescope.court.trial import CELLS, Cell, Court, hold_court

__all__ = ["CELLS", "Cell", "Court", "hold_court"]
