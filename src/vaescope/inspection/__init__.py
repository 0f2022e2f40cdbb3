"""The dissection of a model as numbers: what each latent does, and what follows from it.

`vaescope.figures` draws these results and `vaescope.report` writes them.
"""

from vaescope.inspection.codes import inspect_codes
from vaescope.inspection.results import (
    Factors,
    Fit,
    Histograms,
    Inspection,
    Latent,
    Moments,
    Settings,
    Subject,
    Training,
)
from vaescope.inspection.run import inspect_run
from vaescope.inspection.run import inspect_run as inspect

__all__ = [
    "Factors",
    "Fit",
    "Histograms",
    "Inspection",
    "Latent",
    "Moments",
    "Settings",
    "Subject",
    "Training",
    "inspect",
    "inspect_codes",
    "inspect_run",
]
