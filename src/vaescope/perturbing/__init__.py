"""Perturbed data: the same factors, and another local structure. zietlow2022, chapter 4."""

from vaescope.perturbing.perturb import perturb
from vaescope.perturbing.settings import CONTROLS, PerturbSettings

__all__ = ["CONTROLS", "PerturbSettings", "perturb"]
