"""The dissection of a model as numbers: what each latent does, and what follows from it.

`vaescope.figures` draws these results and `vaescope.report` writes them.
"""

from vaescope.inspection.codes import inspect_codes
from vaescope.inspection.dissect import PARTS
from vaescope.inspection.effort import EFFORTS
from vaescope.inspection.inspect import inspect
from vaescope.inspection.results import (
    FactorSummary,
    Fit,
    Histograms,
    Inspection,
    Latent,
    MomentSummary,
    Settings,
    Subject,
    Training,
)

__all__ = [
    "EFFORTS",
    "PARTS",
    "FactorSummary",
    "Fit",
    "Histograms",
    "Inspection",
    "Latent",
    "MomentSummary",
    "Settings",
    "Subject",
    "Training",
    "inspect",
    "inspect_codes",
]
