"""A chart as a part of a page, with the numbers behind it."""

from vaescope.figures.charts import Chart
from vaescope.report.page import Column, Figure, PageTable

__all__ = ["figure"]


def figure(name: str, chart: Chart, caption: str, alt: str) -> Figure:
    """The chart's columns become the table that can be downloaded."""
    columns = tuple(
        Column(label, "text" if isinstance(values[0], str) else "number", digits=4)
        for label, values in chart.columns.items()
    )
    rows = tuple(zip(*chart.columns.values(), strict=True))
    return Figure(caption, alt, chart.spec, PageTable(name, caption, columns, rows))
