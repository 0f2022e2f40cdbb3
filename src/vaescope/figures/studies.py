"""A study's figure: its panels drawn from its table, every run to be seen."""

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from vaescope.figures.palette import INK, MUTED, SERIES
from vaescope.statistics import mean_of
from vaescope.studies.effects import Where
from vaescope.studies.panels import Curves, Dots, HistogramPanel, Images, Panel, Scatter
from vaescope.studies.running import Pictures
from vaescope.tables import Table, Value
from vaescope.types import Floats

__all__ = ["draw_study"]

#: Letters of a title that fit above a panel.
TITLE = 44


def draw_study(panels: Sequence[Panel], table: Table, pictures: Sequence[Pictures] = ()) -> Figure:
    """One figure of all panels; those of pictures and histograms need what lies beside the rows,
    and are left out where there is none."""
    shown = [panel for panel in panels if _can_be_drawn(panel, pictures)]
    figure, places = _grid_of_axes(max(len(shown), 1), most=3, width=3.1, height=2.5)
    for panel, axes in zip(shown, places, strict=False):
        if isinstance(panel, Dots):
            _dots(axes, panel, table)
        elif isinstance(panel, Curves):
            _curves(axes, panel, table)
        elif isinstance(panel, Scatter):
            _scatter(axes, panel, table)
        elif isinstance(panel, HistogramPanel):
            _histograms(axes, panel, pictures)
        else:
            _images(axes, panel, table, pictures)
        _quiet(axes, textwrap.fill(panel.title, TITLE))
        if isinstance(panel, Images):
            axes.set_axis_off()
    return figure


def _can_be_drawn(panel: Panel, pictures: Sequence[Pictures]) -> bool:
    if isinstance(panel, Images):
        return any(panel.name in one for one in pictures)
    return not isinstance(panel, HistogramPanel) or _first(panel, pictures) is not None


def _first(panel: HistogramPanel, pictures: Sequence[Pictures]) -> Pictures | None:
    """What lies beside the first row that has all that the panel shows."""
    names = panel.names.values()
    return next((one for one in pictures if all(len(one.get(n, ())) for n in names)), None)


def _chosen(table: Table, where: Where) -> Table:
    columns = table.columns
    return table.select(
        i for i in range(len(table)) if all(columns[k][i] == v for k, v in where.items())
    )


def _groups(table: Table, by: str) -> dict[Value, Table]:
    """Parts of the table by a column, in the order in which its values come; all of it without."""
    if not by:
        return {None: table}
    column = table.columns[by]
    return {
        value: table.select(i for i in range(len(table)) if column[i] == value)
        for value in dict.fromkeys(column)
    }


def _name(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _known(*columns: Floats) -> list[Floats]:
    finite = np.all([np.isfinite(column) for column in columns], axis=0)
    return [column[finite] for column in columns]


def _dots(axes: Axes, panel: Dots, table: Table) -> None:
    groups = _groups(_chosen(table, panel.where), panel.by)
    for place, (value, part) in enumerate(groups.items()):
        (values,) = _known(part.numbers(panel.measure))
        # Fixed offsets: dots beside each other, the same in every drawing.
        offsets = 0.5 * (np.linspace(0.0, 1.0, len(values) + 2)[1:-1] - 0.5)
        axes.plot(place + offsets, values, "o", ms=2.5, color=SERIES[0], alpha=0.5, mew=0)
        estimate = mean_of(panel.measure, values)
        if estimate.n:
            axes.plot([place - 0.3, place + 0.3], [estimate.value] * 2, color=INK, lw=1.2)
        if estimate.interval is not None:
            axes.plot([place, place], estimate.interval, color=INK, lw=0.8)
        if value in panel.paper:
            axes.plot(place, panel.paper[value], "D", ms=5, mfc="none", mec=SERIES[1], mew=1.2)
    if panel.threshold is not None:
        axes.axhline(panel.threshold, color=MUTED, lw=0.9, ls="--")
    # Without a power of ten above the axis, where the title is.
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    names = [_name(value) for value in groups]
    turned = max(map(len, names), default=0) * len(names) > 30
    axes.set_xticks(
        range(len(groups)), names, rotation=30 if turned else 0, ha="right" if turned else "center"
    )
    axes.set_xlabel(panel.by, fontsize=7, color=INK)


def _curves(axes: Axes, panel: Curves, table: Table) -> None:
    for colour, (value, part) in zip(
        _colours(), _groups(_chosen(table, panel.where), panel.by).items(), strict=False
    ):
        x, y = _known(part.numbers(panel.along), part.numbers(panel.measure))
        places = np.unique(x)
        if not len(places):
            continue
        estimates = [mean_of(panel.measure, y[x == place]) for place in places]
        means = [one.value for one in estimates]
        bands = [one.interval or (one.value, one.value) for one in estimates]
        axes.plot(places, means, "o-", ms=2.5, lw=1.2, color=colour, label=_name(value))
        low, high = np.array(bands).T
        axes.fill_between(places, low, high, color=colour, alpha=0.18, lw=0)
    for mark in panel.marks:
        axes.axvline(mark, color=MUTED, lw=0.8, ls=":")
    if panel.log:
        axes.set_xscale("log")
        _label_decades(axes)
    axes.set_xlabel(panel.along, fontsize=7, color=INK)
    _legend(axes, panel.by)


def _label_decades(axes: Axes) -> None:
    """Plain numbers at powers of ten; within a single decade at 2 and 5 of it as well."""
    low, high = axes.get_xlim()
    few = high / low < 100.0
    axes.xaxis.set_major_locator(LogLocator(10.0, subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _scatter(axes: Axes, panel: Scatter, table: Table) -> None:
    for colour, (value, part) in zip(
        _colours(), _groups(_chosen(table, panel.where), panel.by).items(), strict=False
    ):
        x, y = _known(part.numbers(panel.against), part.numbers(panel.measure))
        axes.plot(x, y, "o", ms=3, mew=0, alpha=0.7, color=colour, label=_name(value))
    axes.set_xlabel(panel.against, fontsize=7, color=INK)
    axes.set_ylabel(panel.measure, fontsize=7, color=INK)
    _legend(axes, panel.by)


def _colours() -> list[str]:
    return list(SERIES) * 4


def _legend(axes: Axes, by: str) -> None:
    if by:
        axes.legend(fontsize=6, frameon=False, title=by, title_fontsize=6)


def _histograms(axes: Axes, panel: HistogramPanel, pictures: Sequence[Pictures]) -> None:
    """All outlines over the same bins; height is the share of the fullest bin of each."""
    own = _first(panel, pictures)
    assert own is not None  # panels without are not drawn
    drawn = {label: np.asarray(own[name], np.float64) for label, name in panel.names.items()}
    everything = np.concatenate(list(drawn.values()))
    edges = np.linspace(everything.min(), everything.max(), 61)
    for colour, (label, values) in zip(_colours(), drawn.items(), strict=False):
        counts, _ = np.histogram(values, edges)
        axes.stairs(counts / max(counts.max(), 1), edges, color=colour, lw=1.2, label=label)
    axes.set_yticks([])
    axes.legend(fontsize=6, frameon=False)


def _images(
    axes: Axes, panel: Images, table: Table, pictures: Sequence[Mapping[str, Floats]]
) -> None:
    """The first picture for each value of the column, in rows of at most three, each with its value
    above."""
    columns = table.columns
    first: dict[Value, Floats] = {}
    for place, own in enumerate(pictures):
        if panel.name in own and all(columns[k][place] == v for k, v in panel.where.items()):
            first.setdefault(columns[panel.by][place], own[panel.name])
    across = min(len(first), 3)
    width, height = 1.0 / max(across, 1), 1.0 / max(-(-len(first) // 3), 1)
    for place, (value, picture) in enumerate(first.items()):
        row, column = divmod(place, across)
        corner = (column * width, 1.0 - (row + 1) * height)
        inner = axes.inset_axes((*corner, 0.96 * width, 0.82 * height))
        inner.imshow(picture, cmap="gray" if picture.ndim == 2 else None, interpolation="nearest")
        inner.set_axis_off()
        inner.set_title(_name(value), fontsize=6, color=INK)


def _quiet(axes: Axes, title: str) -> None:
    """No box, small ticks, and the quantity on top rather than along the side."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.tick_params(labelsize=7, colors=INK, color=MUTED, length=2)
    axes.set_title(title, fontsize=8, loc="left", color=INK)


def _grid_of_axes(
    panels: int, *, most: int, width: float, height: float
) -> tuple[Figure, list[Axes]]:
    """A figure of `panels` axes, at most `most` in a row, each of that size in inches."""
    columns = min(panels, most)
    rows = math.ceil(panels / columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, axes[:panels]
