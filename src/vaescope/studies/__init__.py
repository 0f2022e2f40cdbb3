"""Studies: tables and figures of the papers as experiments, their sentences as claims."""

from vaescope.studies.blocks import Blocked, Pooled, Share, Spread
from vaescope.studies.claim_verdict import Case, ClaimVerdict, decide
from vaescope.studies.claims import Claim, Condition, Control, Test
from vaescope.studies.effects import AtEqual, Effect, Gap, Level, Position, Ratio, Trend
from vaescope.studies.panels import Curves, Dots, Images, Panel, Scatter
from vaescope.studies.study import SCALES, Cell, Computed, Measured, Scale, Study, Trained, cells

__all__ = [
    "SCALES",
    "AtEqual",
    "Blocked",
    "Case",
    "Cell",
    "Claim",
    "ClaimVerdict",
    "Computed",
    "Condition",
    "Control",
    "Curves",
    "Dots",
    "Effect",
    "Gap",
    "Images",
    "Level",
    "Measured",
    "Panel",
    "Pooled",
    "Position",
    "Ratio",
    "Scale",
    "Scatter",
    "Share",
    "Spread",
    "Study",
    "Test",
    "Trained",
    "Trend",
    "cells",
    "decide",
]
