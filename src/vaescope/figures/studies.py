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
from vaescope.studies.claims import Claim
from vaescope.studies.effects import Level, Where
from vaescope.studies.panels import (
    Curves,
    Dots,
    HistogramPanel,
    Images,
    Panel,
    Scatter,
    Together,
)
from vaescope.studies.running import Pictures
from vaescope.tables import Table, Value
from vaescope.types import Floats

__all__ = ["axis_words", "draw_study"]

#: Letters of a title that fit above a panel.
TITLE = 34
#: Points of words: two panels beside each other are 420 points wide, so that at 400 pixels the
#: smallest words have seven.
SMALL, LARGE = 8, 9
#: Columns of tables in words, with units.
_WORDS = {
    "objective.beta": "beta", "objective.alpha": "alpha", "data.ratio": "ratio of the scales",
    "df": "degrees of freedom", "dto": "distance to orthogonality", "ds": "disentanglement score",
    "od": "OD-Score", "od_released": "released score", "mig": "MIG",
    "distortion": "distortion, nats", "used": "latents in use", "steps": "steps of training",
    "latent": "latents", "size": "rows of data", "batch": "rows of a batch",
    "precision": "precision of the decoder", "score": "FactorVAE score",
    "strength": "strength of the regulariser",
}  # fmt: skip


def axis_words(column: str) -> str:
    """A column as an axis names it.

    >>> axis_words("objective.beta"), axis_words("method")
    ('beta', 'method')
    """
    return _WORDS.get(column, column.rpartition(".")[2].replace("_", " "))


def draw_study(
    panels: Sequence[Panel],
    table: Table,
    pictures: Sequence[Pictures] = (),
    claims: Sequence[Claim] = (),
) -> Figure:
    """One figure of all panels, with the thresholds of claims about what they show; those of
    pictures and histograms need what lies beside the rows, and are left out where there is none, as
    are those of columns that an older table lacks."""
    shown = [panel for panel in panels if _can_be_drawn(panel, table, pictures)]
    figure, places = _grid_of_axes(max(len(shown), 1), most=2, width=2.9, height=2.4)
    for panel, axes in zip(shown, places, strict=False):
        if isinstance(panel, Dots):
            _dots(axes, panel, table)
        elif isinstance(panel, Curves):
            _curves(axes, panel, table)
        elif isinstance(panel, Together):
            _together(axes, panel, table)
        elif isinstance(panel, Scatter):
            _scatter(axes, panel, table)
        elif isinstance(panel, HistogramPanel):
            _histograms(axes, panel, pictures)
        else:
            _images(axes, panel, table, pictures)
        for threshold in _thresholds(panel, claims, table):
            axes.axhline(threshold, color=MUTED, lw=0.9, ls="--")
        _quiet(axes, textwrap.fill(panel.title, TITLE))
        if isinstance(panel, Images):
            axes.set_axis_off()
    return figure


def _can_be_drawn(panel: Panel, table: Table, pictures: Sequence[Pictures]) -> bool:
    if not _columns(panel) <= set(table.columns):
        return False
    if isinstance(panel, Images):
        return any(panel.name in one for one in pictures)
    return not isinstance(panel, HistogramPanel) or _first(panel, pictures) is not None


def _columns(panel: Panel) -> set[str]:
    """The columns of a table that a panel shows."""
    if isinstance(panel, HistogramPanel):
        return set()
    if isinstance(panel, Dots):
        named = {panel.measure, panel.by}
    elif isinstance(panel, Curves):
        named = {panel.measure, panel.along, panel.by}
    elif isinstance(panel, Together):
        named = {*panel.measures.values(), panel.along}
    elif isinstance(panel, Scatter):
        named = {panel.measure, panel.against, panel.by}
    else:
        named = {panel.by}
    return (named | set(panel.where)) - {""}


def _thresholds(panel: Panel, claims: Sequence[Claim], table: Table) -> list[float]:
    """Where claims about the level of rows that a panel shows put their thresholds."""
    if not isinstance(panel, Dots | Curves):
        return []
    found = [] if not isinstance(panel, Dots) or panel.threshold is None else [panel.threshold]
    for test in (test for claim in claims for test in claim.tests):
        effect = test.effect
        if not isinstance(effect, Level) or effect.measure != panel.measure:
            continue
        if not set(effect.where) <= set(table.columns):
            continue
        own = _chosen(_chosen(table, panel.where), effect.where)
        shown = own.numbers(panel.along if isinstance(panel, Curves) else panel.measure)
        if not np.isfinite(shown).any():
            continue
        found += [test.threshold - test.margin, test.threshold + test.margin]
    return sorted(set(found))


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
        axes.plot(place + offsets, values, "o", ms=2.5, color=SERIES[0], alpha=0.7, mew=0)
        estimate = mean_of(panel.measure, values)
        if estimate.n:
            axes.plot([place - 0.3, place + 0.3], [estimate.value] * 2, color=INK, lw=1.2)
        if estimate.interval is not None:
            axes.plot([place, place], estimate.interval, color=INK, lw=0.8)
        if value in panel.paper:
            axes.plot(place, panel.paper[value], "D", ms=5, mfc="none", mec=SERIES[1], mew=1.2)
    # Without a power of ten above the axis, where the title is.
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    names = [_name(value) for value in groups]
    turned = max(map(len, names), default=0) * len(names) > 30
    axes.set_xticks(
        range(len(groups)), names, rotation=30 if turned else 0, ha="right" if turned else "center"
    )
    axes.set_xlabel(axis_words(panel.by), fontsize=SMALL, color=INK)


def _curves(axes: Axes, panel: Curves, table: Table) -> None:
    for colour, (value, part) in zip(
        _colours(), _groups(_chosen(table, panel.where), panel.by).items(), strict=False
    ):
        _line(axes, part, panel.along, panel.measure, colour, _name(value))
    for mark in panel.marks:
        axes.axvline(mark, color=MUTED, lw=0.8, ls=":")
    if panel.log:
        axes.set_xscale("log")
        _label_decades(axes)
    axes.set_xlabel(axis_words(panel.along), fontsize=SMALL, color=INK)
    _legend(axes, panel.by)


def _together(axes: Axes, panel: Together, table: Table) -> None:
    part = _chosen(table, panel.where)
    for colour, (label, measure) in zip(_colours(), panel.measures.items(), strict=False):
        _line(axes, part, panel.along, measure, colour, label)
    if panel.log:
        axes.set_xscale("log")
        _label_decades(axes)
    axes.set_xlabel(axis_words(panel.along), fontsize=SMALL, color=INK)
    axes.legend(fontsize=SMALL, frameon=False, labelcolor=INK)


def _line(axes: Axes, part: Table, along: str, measure: str, colour: str, label: str) -> None:
    """Means over seeds along a column, with their intervals."""
    x, y = _known(part.numbers(along), part.numbers(measure))
    places = np.unique(x)
    if not len(places):
        return
    estimates = [mean_of(measure, y[x == place]) for place in places]
    means = [one.value for one in estimates]
    bands = [one.interval or (one.value, one.value) for one in estimates]
    axes.plot(places, means, "o-", ms=2.5, lw=1.2, color=colour, label=label)
    low, high = np.array(bands).T
    axes.fill_between(places, low, high, color=colour, alpha=0.18, lw=0)


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
    axes.set_xlabel(axis_words(panel.against), fontsize=SMALL, color=INK)
    axes.set_ylabel(axis_words(panel.measure), fontsize=SMALL, color=INK)
    _legend(axes, panel.by)


def _colours() -> list[str]:
    return list(SERIES) * 4


def _legend(axes: Axes, by: str) -> None:
    if by:
        legend = axes.legend(
            fontsize=SMALL, frameon=False, title=axis_words(by), title_fontsize=SMALL,
            labelcolor=INK,
        )  # fmt: skip
        legend.get_title().set_color(INK)


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
    axes.legend(fontsize=SMALL, frameon=False, labelcolor=INK)


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
    across = 2 if len(first) == 4 else min(len(first), 3)
    width, height = 1.0 / max(across, 1), 1.0 / max(-(-len(first) // max(across, 1)), 1)
    for place, (value, picture) in enumerate(first.items()):
        row, column = divmod(place, across)
        corner = (column * width, 1.0 - (row + 1) * height)
        inner = axes.inset_axes((*corner, 0.96 * width, 0.76 * height))
        if panel.contours:
            _contours(inner, picture)
        else:
            grey = "gray" if picture.ndim == 2 else None
            inner.imshow(picture, cmap=grey, interpolation="nearest")
        inner.set_axis_off()
        inner.set_title(_name(value), fontsize=SMALL, color=INK)


def _contours(axes: Axes, density: Floats) -> None:
    """Lines of equal log-density, each a nat and a half below the next, from the highest point."""
    height = np.log(np.maximum(np.asarray(density, np.float64) / density.max(), 1e-12))
    axes.contour(
        height, np.arange(-9.0, 0.0, 1.5), origin="upper", colors=SERIES[0], linewidths=0.8
    )
    axes.set_aspect("equal")


def _quiet(axes: Axes, title: str) -> None:
    """No box, small ticks, and the quantity on top rather than along the side."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.tick_params(labelsize=SMALL, colors=INK, color=MUTED, length=2)
    axes.set_title(title, fontsize=LARGE, loc="left", color=INK)


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
