"""Pages from results: one HTML file that needs nothing else."""

from vaescope.report.page import (
    Column,
    Fact,
    Figure,
    Listing,
    Page,
    Picture,
    Pictures,
    Prose,
    Section,
    Statement,
    Table,
)
from vaescope.report.render import render
from vaescope.report.sections import page_of, save

__all__ = [
    "Column",
    "Fact",
    "Figure",
    "Listing",
    "Page",
    "Picture",
    "Pictures",
    "Prose",
    "Section",
    "Statement",
    "Table",
    "page_of",
    "render",
    "save",
]
