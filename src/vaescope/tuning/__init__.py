"""Tuning: the range of useful strengths, from short runs over beta."""

from vaescope.tuning.curve import CurvePoint
from vaescope.tuning.front import tune_beta
from vaescope.tuning.result import Tuning

__all__ = ["CurvePoint", "Tuning", "tune_beta"]
