"""Studies: tables and figures of the papers as experiments, their sentences as claims."""

from vaescope.studies.effects import (
    AtEqual,
    Effect,
    Gap,
    Level,
    Position,
    Ratio,
    Share,
    Spread,
    Trend,
)
from vaescope.studies.panels import Curves, Dots, Images, Panel, Scatter
from vaescope.studies.study import SCALES, Cell, Computed, Measured, Scale, Study, Trained, cells
from vaescope.studies.verdict import Claim, Verdict, decide

__all__ = [
    "SCALES",
    "AtEqual",
    "Cell",
    "Claim",
    "Computed",
    "Curves",
    "Dots",
    "Effect",
    "Gap",
    "Images",
    "Level",
    "Measured",
    "Panel",
    "Position",
    "Ratio",
    "Scale",
    "Scatter",
    "Share",
    "Spread",
    "Study",
    "Trained",
    "Trend",
    "Verdict",
    "cells",
    "decide",
]
