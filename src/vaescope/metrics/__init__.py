"""Disentanglement metrics: functions of codes and factors."""

from vaescope.metrics.mig import mig
from vaescope.metrics.score import Protocol, Score

__all__ = ["Protocol", "Score", "mig"]
