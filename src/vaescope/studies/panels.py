"""What a study's figure shows, as plain values: `figures/studies.py` draws them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from vaescope.studies.effects import Where
from vaescope.tables import Value

__all__ = ["Curves", "Dots", "HistogramPanel", "Images", "Panel", "Scatter", "Together"]


@final
@dataclass(frozen=True)
class Dots:
    """Every run as a dot, with the mean over seeds, for each value of a column; a claim's threshold
    as a dashed line, and the paper's own numbers as diamonds."""

    title: str
    measure: str
    by: str
    where: Where = field(default_factory=dict)
    threshold: float | None = None
    paper: Mapping[Value, float] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Curves:
    """A measure along a column: the mean over seeds and its spread, one line for each value of
    `by`. `marks` are places along the column that a theory names."""

    title: str
    measure: str
    along: str
    by: str = ""
    where: Where = field(default_factory=dict)
    log: bool = False
    marks: tuple[float, ...] = ()


@final
@dataclass(frozen=True)
class Together:
    """Several measures along a column on one axis, where the eye must compare them: a line for each
    of `measures`, labelled."""

    title: str
    measures: Mapping[str, str]
    along: str
    where: Where = field(default_factory=dict)
    log: bool = False


@final
@dataclass(frozen=True)
class Scatter:
    """Two measures of every run against each other."""

    title: str
    measure: str
    against: str
    by: str = ""
    where: Where = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Images:
    """Pictures that the study made of its first seed, one for each value of a column; of a density
    as contours of its logarithm, where that is how the paper draws it."""

    title: str
    name: str
    by: str
    where: Where = field(default_factory=dict)
    contours: bool = False


@final
@dataclass(frozen=True)
class HistogramPanel:
    """Distributions of numbers that the study kept of its first run: an outline for each of
    `names`, labelled."""

    title: str
    names: Mapping[str, str]


Panel = Dots | Curves | Together | Scatter | Images | HistogramPanel
