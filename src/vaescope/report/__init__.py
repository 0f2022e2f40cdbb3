"""Pages from results: one HTML file that needs nothing else."""

from vaescope.report.page import (
    Column,
    Dial,
    Fact,
    Figure,
    Listing,
    Page,
    Picture,
    Pictures,
    Prose,
    Section,
    Sliders,
    Statement,
    Table,
)
from vaescope.report.render import render
from vaescope.report.sections import page_of, save

__all__ = [
    "Column",
    "Dial",
    "Fact",
    "Figure",
    "Listing",
    "Page",
    "Picture",
    "Pictures",
    "Prose",
    "Section",
    "Sliders",
    "Statement",
    "Table",
    "page_of",
    "render",
    "save",
]
