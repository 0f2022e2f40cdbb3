"""Tuning: the range of useful strengths, from short runs over beta."""

from vaescope.tuning.curve import CurvePoint
from vaescope.tuning.result import Tuning
from vaescope.tuning.tune import tune_beta

__all__ = ["CurvePoint", "Tuning", "tune_beta"]
