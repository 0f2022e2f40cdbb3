"""Pages from results: one HTML file that needs nothing else."""

from vaescope.report.page import (
    Column,
    Dial,
    Fact,
    Figure,
    Listing,
    Page,
    PageStatement,
    PageTable,
    Picture,
    Pictures,
    Prose,
    Section,
    Sliders,
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
    "PageStatement",
    "PageTable",
    "Picture",
    "Pictures",
    "Prose",
    "Section",
    "Sliders",
    "page_of",
    "render",
    "save",
]
