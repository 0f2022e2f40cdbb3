"""Pruning: a model without the latents that it does not use."""

from vaescope.pruned import Pruned
from vaescope.pruning.prune import prune
from vaescope.pruning.result import Pruning

__all__ = ["Pruned", "Pruning", "prune"]
