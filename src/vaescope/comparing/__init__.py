"""Comparing: runs side by side on the same images, with their latents matched."""

from vaescope.comparing.compare import compare
from vaescope.comparing.result import Comparison

__all__ = ["Comparison", "compare"]
