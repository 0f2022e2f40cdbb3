"""Pages from results: one HTML file that needs nothing else.

The page of an inspection is imported when it is asked for: it brings torch, and a server that only
renders tables starts without.
"""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name in ("page_of", "save"):
        from vaescope.report import sections

        return getattr(sections, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
