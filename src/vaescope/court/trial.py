"""The trial: each metric on each cell of generators and encoders, over many draws; resumable."""

import json
import math
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
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
from vaescope.process_pool import process_pool
from vaescope.reading import parse_json
from vaescope.seeds import rng
from vaescope.wording import commas

__all__ = [
    "CELLS",
    "CORE",
    "DRAWS",
    "IMPOSSIBLE",
    "RECORD",
    "SLOW",
    "Court",
    "CourtCell",
    "cell_named",
    "hold_court",
    "read_court",
]

DRAWS = 32
#: The first of them. Draws 0 to 31 were looked at while the rules of judging were made; these were
#: not drawn before the rules, the answers and the cells were committed as they are.
FIRST = 100
#: Metrics that learn trees: two thirds of the time. `--slow-draws` gives them fewer draws.
SLOW = (
    "dci_disentanglement", "dci_completeness", "dci_informativeness", "dci_explicitness",
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
#: Encoders of the picture, with every generator.
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


#: Pairs that mean nothing, and why.
IMPOSSIBLE: Mapping[tuple[str, str], str] = {
    ("few values", "split"): "two values have no halves",
    ("few values", "warped"): "any map of two values is linear and even",
    ("function", "merged"): "the second is a function of the first, so that one latent is enough",
}


def _tried(generator: str, encoder: str) -> bool:
    return (generator, encoder) not in IMPOSSIBLE


#: Cells of the picture; they come first.
CORE: tuple[CourtCell, ...] = tuple(
    CourtCell(generator, encoder)
    for generator in GENERATORS
    for encoder in (ENCODERS if generator == "independent" else _EVERYWHERE)
) + tuple(CourtCell("independent", "rotated 10", variant) for variant in VARIANTS if variant)
CELLS: tuple[CourtCell, ...] = CORE + tuple(
    cell
    for cell in (CourtCell(g, e) for g in GENERATORS for e in ENCODERS if _tried(g, e))
    if cell not in CORE
)


@dataclass(frozen=True, eq=False)
class Court:
    """Values by metric and cell: one per draw, NaN where a metric refused."""

    values: Mapping[tuple[str, CourtCell], np.ndarray]
    chance: Mapping[tuple[str, CourtCell], float]  # mean over draws, where the metric has one
    seconds: float = 0.0  # of a processor, for all that is recorded

    def of(self, metric: str, cell: CourtCell) -> np.ndarray:
        return self.values.get((metric, cell), np.empty(0))


def cell_named(name: str) -> CourtCell:
    """The cell of a name such as `correlated .9/rotated 45`."""
    known = {f"{cell.generator}/{cell.encoder}": cell for cell in CELLS if not cell.variant}
    if name not in known:
        near = get_close_matches(name, known, n=1)
        raise UsageError(
            f"There is no cell {name!r}.",
            f"Did you mean {near[0]!r}?" if near else f"Cells are e.g. {commas(known)}.",
        )
    return known[name]


def _wanted(cell: CourtCell, draw: int, draws: int, slow_draws: int) -> tuple[str, ...]:
    """Of draw number `draw`, from 0."""
    if cell.variant:
        if draw >= _VARIANT_DRAWS:
            return ()
        if "bins" in cell.variant:
            return _BINNED
    return tuple(m for m in METRICS if draw < (slow_draws if m in SLOW else draws))


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
    slow_draws: int = DRAWS,
    cells: Sequence[CourtCell] | None = None,
    workers: int = 1,
    on_cell: Callable[[int, int], None] | None = None,
) -> Court:
    """Measures what `out` lacks, one line per cell and draw, and returns all of it.

    Args:
        out: folder of the record; the same call again continues it.
        draws: of each cell; `slow_draws` of the metrics in `SLOW`.
        cells: those to try, with the perfect codes that they are compared with; None: all.
        workers: processes that measure side by side.
        on_cell: told after each cell how many are done, and of how many.
    """
    if draws < 1 or slow_draws < 0 or workers < 1:
        raise UsageError(
            f"{draws} and {slow_draws} draws by {workers} workers are not possible.",
            "Use 32 draws, by one worker or more.",
        )
    chosen = (
        None
        if cells is None
        else dict.fromkeys(own for cell in cells for own in (cell.reference, cell))
    )
    path = out / RECORD
    with disk_errors(path):
        out.mkdir(parents=True, exist_ok=True)
    recorded = _recorded(path)
    todo: list[tuple[CourtCell, int, list[str]]] = []
    asked = list(CELLS if chosen is None else chosen)
    # All cells of a draw, so that a part is a court; those of all metrics first.
    for cells_of_draw in (
        [cell for cell in asked if cell in CORE],
        [cell for cell in asked if cell not in CORE],
    ):
        for place in range(max(draws, slow_draws)):
            for cell in cells_of_draw:
                have = recorded.get((cell, FIRST + place), {})
                missing = [m for m in _wanted(cell, place, draws, slow_draws) if m not in have]
                if missing:
                    todo.append((cell, FIRST + place, missing))
    # Closed even if a key was pressed between two cells: else all that is queued is measured first.
    with disk_errors(path), path.open("a") as file, closing(_measured(todo, workers)) as lines:
        for done, line in enumerate(lines, 1):
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
            if on_cell is not None:
                on_cell(done, len(todo))
    return read_court(out)


Task = tuple[CourtCell, int, list[str]]


def _measured(todo: Sequence[Task], workers: int) -> Generator[dict[str, object], None, None]:
    """A line of the record for each task, as they end."""
    if workers == 1 or len(todo) < 2:
        yield from map(_line, todo)
        return
    with process_pool(workers) as pool:
        yield from pool.map(_line, todo)


def _line(task: Task) -> dict[str, object]:
    cell, draw, metrics = task
    start = time.process_time()
    found = measure_cell(cell, draw, metrics)
    return {"generator": cell.generator, "encoder": cell.encoder, "variant": cell.variant,
            "draw": draw, "values": found, "seconds": time.process_time() - start}  # fmt: skip


def read_court(out: Path) -> Court:
    """What a folder holds so far."""
    recorded = _recorded(out / RECORD)
    seconds = sum(float(str(line.get("seconds", 0.0))) for line in _lines(out / RECORD))
    values: dict[tuple[str, CourtCell], dict[int, float]] = {}
    chance: dict[tuple[str, CourtCell], list[float]] = {}
    for (cell, draw), found in recorded.items():
        if draw < FIRST:
            continue  # those that the rules were made with
        for metric, (value, own) in found.items():
            values.setdefault((metric, cell), {})[draw] = math.nan if value is None else value
            if own is not None:
                chance.setdefault((metric, cell), []).append(own)
    return Court(
        {key: np.array([own[d] for d in sorted(own)]) for key, own in values.items()},
        {key: float(np.mean(own)) for key, own in chance.items()},
        seconds,
    )
