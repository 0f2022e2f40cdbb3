"""The trial: each metric on each cell of generators and encoders, over many draws; resumable."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from vaescope.court.encoders import ENCODERS, codes_of
from vaescope.court.generators import GENERATORS
from vaescope.errors import UsageError, VaescopeError
from vaescope.metrics.protocols import PROTOCOLS, Preset
from vaescope.metrics.suite import METRICS, Work
from vaescope.paths import disk_errors
from vaescope.reading import parse_json
from vaescope.seeds import rng

__all__ = [
    "CELLS",
    "DEAR",
    "DRAWS",
    "RECORD",
    "Court",
    "CourtCell",
    "cell_named",
    "hold_court",
    "read_court",
]

DRAWS = 32
#: Metrics that learn trees, or from many pairs: nine tenths of the time.
DEAR = (
    "dci_disentanglement", "dci_completeness", "dci_informativeness", "dci_explicitness",
    "beta_vae",
)  # fmt: skip
RECORD = "court.jsonl"
#: Fewer votes than the default's 10,000 and 5,000: 400 rows do not tell more.
_PRESET: Preset = replace(PROTOCOLS["default"], votes=1_000, test_votes=500)
#: Other settings on one cell, to see what they move.
VARIANTS: Mapping[str, tuple[Preset, int]] = {
    "": (_PRESET, 0),
    "bins 10": (replace(_PRESET, bins=10), 0),
    "bins 40": (replace(_PRESET, bins=40), 0),
    "seed 1": (_PRESET, 1),
}
_BINNED = ("mig", "mig_sup", "modularity")
_VARIANT_DRAWS = 8
#: Encoders that every generator has; all of them on independent factors.
_EVERYWHERE = ("identity", "rotated 45", "nothing")


@dataclass(frozen=True)
class CourtCell:
    """A generator, an encoder, and the settings of the metrics."""

    generator: str
    encoder: str
    variant: str = ""

    @property
    def reference(self) -> "CourtCell":
        """The perfect code it is compared with: of the same draw, or of independent factors."""
        return CourtCell(
            "independent" if self.encoder == "identity" else self.generator, "identity"
        )


CELLS: tuple[CourtCell, ...] = tuple(
    CourtCell(generator, encoder)
    for generator in GENERATORS
    for encoder in (ENCODERS if generator == "independent" else _EVERYWHERE)
) + tuple(CourtCell("independent", "rotated 10", variant) for variant in VARIANTS if variant)


@dataclass(frozen=True, eq=False)
class Court:
    """Values by metric and cell: one per draw, NaN where a metric refused."""

    values: Mapping[tuple[str, CourtCell], np.ndarray]
    chance: Mapping[tuple[str, CourtCell], float]  # mean over draws, where the metric has one

    def of(self, metric: str, cell: CourtCell) -> np.ndarray:
        return self.values.get((metric, cell), np.empty(0))


def cell_named(name: str) -> CourtCell:
    """The cell of a name such as `correlated .9/rotated 45`."""
    known = {f"{cell.generator}/{cell.encoder}": cell for cell in CELLS if not cell.variant}
    if name not in known:
        near = get_close_matches(name, known, n=1)
        raise UsageError(
            f"There is no cell {name!r}; there are {', '.join(known)}.",
            f"Did you mean {near[0]!r}?" if near else "Use one of those.",
        )
    return known[name]


def _wanted(cell: CourtCell, draw: int, draws: int, dear_draws: int) -> tuple[str, ...]:
    if cell.variant:
        if draw >= _VARIANT_DRAWS:
            return ()
        return _BINNED if "bins" in cell.variant else tuple(m for m in METRICS if m not in DEAR)
    return tuple(m for m in METRICS if draw < (dear_draws if m in DEAR else draws))


def measure_cell(
    cell: CourtCell, draw: int, metrics: Sequence[str]
) -> dict[str, list[float | None]]:
    """Value and chance of each metric on one draw of a cell; None where there is none.

    The draw of a generator, and the noise, are the same for all encoders.
    """
    drawn = GENERATORS[cell.generator].draw(rng(draw, f"court-{cell.generator}"))
    codes = codes_of(ENCODERS[cell.encoder], drawn, rng(draw, f"court-noise-{cell.generator}"))
    preset, seed = VARIANTS[cell.variant]
    work = Work(codes, "mean", preset, None, None, seed, intervals=False)
    found: dict[str, list[float | None]] = {}
    for name in metrics:
        try:
            score = METRICS[name].compute(work)
        except VaescopeError:
            found[name] = [None, None]
        else:
            found[name] = [score.value, score.chance]
    return found


def _lines(path: Path) -> Iterator[dict[str, object]]:
    if not path.is_file():
        return
    for line in path.read_text().splitlines():
        try:
            yield parse_json(line)
        except ValueError:
            continue  # the last line of a run that was killed


Key = tuple[CourtCell, int]


def _recorded(path: Path) -> dict[Key, dict[str, list[float | None]]]:
    found: dict[Key, dict[str, list[float | None]]] = {}
    for line in _lines(path):
        cell = CourtCell(str(line["generator"]), str(line["encoder"]), str(line["variant"]))
        draw, own = line["draw"], line["values"]
        assert isinstance(draw, int)
        assert isinstance(own, dict)
        found.setdefault((cell, draw), {}).update(own)
    return found


def hold_court(
    out: Path,
    *,
    draws: int = DRAWS,
    dear_draws: int = DRAWS,
    cells: Sequence[CourtCell] | None = None,
    on_cell: Callable[[int, int], None] | None = None,
) -> Court:
    """Measures what `out` lacks, one line per cell and draw, and returns all of it.

    Args:
        out: folder of the record; the same call again continues it.
        draws: of each cell; `dear_draws` of the metrics in `DEAR`.
        cells: those to try, with the perfect codes that they are compared with; None: all.
        on_cell: told after each cell how many are done, and of how many.
    """
    if draws < 1 or dear_draws < 0:
        raise UsageError(f"{draws} and {dear_draws} draws were asked for.", "Ask for 32.")
    chosen = (
        None
        if cells is None
        else dict.fromkeys(own for cell in cells for own in (cell.reference, cell))
    )
    path = out / RECORD
    with disk_errors(path):
        out.mkdir(parents=True, exist_ok=True)
    recorded = _recorded(path)
    todo = []
    for draw in range(max(draws, dear_draws)):  # all cells of a draw, so that a part is a court
        for cell in CELLS if chosen is None else chosen:
            have = recorded.get((cell, draw), {})
            missing = [m for m in _wanted(cell, draw, draws, dear_draws) if m not in have]
            if missing:
                todo.append((cell, draw, missing))
    with disk_errors(path), path.open("a") as file:
        for place, (cell, draw, missing) in enumerate(todo, 1):
            found = measure_cell(cell, draw, missing)
            line = {"generator": cell.generator, "encoder": cell.encoder, "variant": cell.variant,
                    "draw": draw, "values": found}  # fmt: skip
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
            if on_cell is not None:
                on_cell(place, len(todo))
    return read_court(out)


def read_court(out: Path) -> Court:
    """What a folder holds so far."""
    recorded = _recorded(out / RECORD)
    values: dict[tuple[str, CourtCell], dict[int, float]] = {}
    chance: dict[tuple[str, CourtCell], list[float]] = {}
    for (cell, draw), found in recorded.items():
        for metric, (value, own) in found.items():
            values.setdefault((metric, cell), {})[draw] = math.nan if value is None else value
            if own is not None:
                chance.setdefault((metric, cell), []).append(own)
    return Court(
        {key: np.array([own[d] for d in sorted(own)]) for key, own in values.items()},
        {key: float(np.mean(own)) for key, own in chance.items()},
    )
