"""Units of a study: which come first, how more are added, and when there are enough."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vaescope.errors import UsageError
from vaescope.studies.catalogue import STUDIES
from vaescope.studies.claim_verdict import needed_alone
from vaescope.studies.registry import Registration, read_registry, voting_units, withdrawn
from vaescope.studies.running import Outcome, Progress, joined, run_study
from vaescope.studies.study import Scale, Study

__all__ = ["BATCH", "FIRST_BATCH", "add_units", "last_unit", "next_units", "sample", "settled"]

#: Units at first, and how many are added at a time until a study is decided.
FIRST_BATCH, BATCH = 16, 8


def last_unit(study: Study, outcome: Outcome) -> int:
    """The highest unit of a table."""
    known = [unit for unit in voting_units(study, outcome.table) if isinstance(unit, int)]
    if not known:
        raise UsageError(
            f"The table of {study.id} has no numbered units.", "Run it without --seeds."
        )
    return max(known)


def next_units(
    study: Study, old: Outcome | None, line: Registration | None, more: int | None
) -> range:
    """The units that come next: the first ones of the registration, or so many after the last."""
    first = 0 if line is None else line.first
    cap = study.cap if line is None else line.cap
    start = first if old is None else last_unit(study, old) + 1
    count = FIRST_BATCH if more is None else more
    return range(start, max(start, min(start + count, first + cap)))


def add_units(
    study: Study,
    scale: Scale,
    out: Path,
    units: Sequence[int],
    old: Outcome | None,
    *,
    on: str = "local",
    workers: int | None = None,
    stop: Callable[[], int] = lambda: 0,
    progress: Progress = lambda what, done, total: None,
) -> Outcome:
    """Runs these units and adds them to what is known; no unit is run twice."""
    if not units:
        if old is None:
            raise UsageError(f"There are no units of {study.id} to run.", "Choose at least one.")
        return old
    new = run_study(
        study, scale, out, units=units, on=on, workers=workers, stop=stop, progress=progress
    )
    return new if old is None else joined(old, new)


def sample(
    study: Study,
    scale: Scale,
    out: Path,
    known: Outcome | None,
    line: Registration | None,
    more: int | None,
    *,
    until_decided: bool = False,
    **options: Any,
) -> Outcome:
    """What is known with `more` units added to it, or with as many as decide its primary claims."""
    if known is None or more is not None:
        units = next_units(study, known, line, more)
        known = add_units(study, scale, out, units, known, **options)
    while until_decided and not settled(study, known):
        units = next_units(study, known, line, BATCH)
        if not units:
            break
        known = add_units(study, scale, out, units, known, **options)
    return known


def settled(study: Study, outcome: Outcome) -> bool:
    """Whether every primary claim of a study is decided by its own votes alone."""
    families = [s.family(c) for s in STUDIES for c in s.claims if c.primary]
    families += [case.family for case in withdrawn(read_registry(), STUDIES)]
    for verdict in outcome.verdicts():
        if not verdict.claim.primary:
            continue
        needed = needed_alone(families.count(verdict.family))
        if verdict.e < needed and verdict.verdict != "not specific":
            return False
    return True
