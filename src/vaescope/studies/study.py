"""A study: what is run, at three scales; what is claimed of it; and the figure that shows it."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from vaescope.runs import Run
from vaescope.specs import Experiment
from vaescope.studies.claims import CAP, Claim
from vaescope.studies.panels import Panel
from vaescope.tables import Value

__all__ = [
    "SCALES",
    "Cell",
    "Computed",
    "Measured",
    "Scale",
    "Study",
    "Trained",
    "Work",
    "by_seed",
    "cells",
]

#: Seconds; two cores for at most twenty minutes; the paper's own setting.
Scale = Literal["smoke", "laptop", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")

#: What is found of one cell: numbers and words go into the table; beside it pictures (uint8, or
#: floats from 0 to 1; grey or with three channels last) and lists of numbers for histograms.
Measured = Mapping[str, Value | NDArray[Any]]


@final
@dataclass(frozen=True)
class Cell:
    """One row to be: settings of an experiment by dotted key, and labels that tell rows apart."""

    settings: Mapping[str, Any]
    labels: Mapping[str, Value]

    @property
    def columns(self) -> dict[str, Value]:
        """How the row is set; lists as text, as in every table."""
        flat = {
            key: json.dumps(value) if isinstance(value, list | tuple | dict) else value
            for key, value in self.settings.items()
        }
        return {**flat, **self.labels}


def cells(settings: Iterable[Mapping[str, Any]], **labels: Value) -> tuple[Cell, ...]:
    """Cells with the same labels.

    >>> cells([{"seed": 0}, {"seed": 1}], method="ae")[1].columns
    {'seed': 1, 'method': 'ae'}
    """
    return tuple(Cell(dict(one), dict(labels)) for one in settings)


@final
@dataclass(frozen=True)
class Trained:
    """Experiments (each cell names a `preset`), and what is measured of each finished run.

    `key` names the function in digests and file names, whatever module it is in. `version` is
    raised when what is measured changes, so that older numbers are not taken for it.
    """

    key: str
    cells: tuple[Cell, ...]
    measure: Callable[[Run], Measured]
    version: int = 1


@final
@dataclass(frozen=True)
class Computed:
    """Rows that need no run folder: a function of the cell's columns."""

    key: str
    cells: tuple[Cell, ...]
    compute: Callable[[Mapping[str, Any]], Measured]
    version: int = 1
    #: What a cell trains inside of its computation, for an estimate of the cost.
    trains: Callable[[Mapping[str, Any]], Sequence[Experiment]] | None = None


Work = Trained | Computed


def by_seed(work: Work, seeds: Sequence[int]) -> Work:
    """The same work with other seeds: every cell of one seed, for each of these, seed by seed."""
    first = work.cells[0].columns["seed"]
    one = [cell for cell in work.cells if cell.columns["seed"] == first]
    if len(one) * len({cell.columns["seed"] for cell in work.cells}) != len(work.cells):
        raise ValueError(f"{work.key}: seeds have different cells, so that it needs `extend`")
    return replace(work, cells=tuple(_seeded(cell, seed) for seed in seeds for cell in one))


def _seeded(cell: Cell, seed: int) -> Cell:
    if "seed" in cell.labels:
        return replace(cell, labels={**cell.labels, "seed": seed})
    return replace(cell, settings={**cell.settings, "seed": seed})


@final
@dataclass(frozen=True)
class Study:
    """A table or figure of a paper as an experiment that anyone can run."""

    id: str  # "zietlow2022/table-3.3-synth"
    title: str
    work: Callable[[Scale], Work]
    claims: tuple[Claim, ...]
    panels: tuple[Panel, ...]
    covers: tuple[str, ...]  # rows of the papers' catalogue: "zietlow2022 Tab 3.3"
    about: str  # what is run and how it differs from the paper; which confounds are kept apart
    found: str = ""  # written after the run: why a claim did not hold, with evidence
    extend: Callable[[Scale, Sequence[int]], Work] | None = None  # where units are not plain seeds
    cap: int = CAP  # units that an undecided primary claim is run to
    at_optimum: bool = False  # of an objective or a linear model: no network is trained

    @property
    def paper(self) -> str:
        return self.id.partition("/")[0]

    @property
    def formulas_only(self) -> bool:
        """Whether all its claims are equations, which are never registered or counted."""
        return all(claim.kind == "identity" for claim in self.claims)

    def of_units(self, scale: Scale, units: Sequence[int]) -> Work:
        """The work of these units, usually seeds."""
        if self.extend is not None:
            return self.extend(scale, units)
        return by_seed(self.work(scale), units)

    def digest(self, scale: Scale) -> str:
        """Names what is run at a scale for each unit, however many there are."""
        return digest(self.of_units(scale, (0,)))

    def family(self, claim: Claim) -> str:
        """Whose error rate a claim shares: the paper's, or that of claims of our own."""
        return "our own" if claim.own else self.paper

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "paper": self.paper,
            "title": self.title,
            "scales": list(SCALES),
            "cap": self.cap,
            "claims": [claim.to_dict() for claim in self.claims],
        }


def digest(work: Work) -> str:
    """sha256 of the canonical JSON of a work: its cells, key and version."""
    content = {
        "cells": [[dict(cell.settings), dict(cell.labels)] for cell in work.cells],
        "key": work.key,
        "version": work.version,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"settings hold a {type(value).__name__}: {value!r}")
