"""What the committed tables of studies took to make: processor time, and the sum on two cores."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import final

from vaescope.paths import replace_file
from vaescope.reading import parse_json

__all__ = ["RunTime", "add_time", "read_times", "save_times", "times_section"]


@final
@dataclass(frozen=True)
class RunTime:
    """Some units of a study, run from nothing but for what it shares with studies before it."""

    work: str  # digest of a unit, so that times of another design are not taken for it
    units: int
    processor: float  # seconds, of all processes
    wall: float
    load: float  # of the machine at the end: processes that wait for a core
    date: str
    machine: str
    #: How it is known, where it is not the run that made the table.
    note: str = ""

    @property
    def sample(self) -> bool:
        """Whether only a few units were timed, none of which is in the table."""
        return bool(self.note)


def read_times(path: Path) -> dict[str, RunTime]:
    if not path.exists():
        return {}
    content = parse_json(path.read_text("utf-8"))
    return {study: RunTime(**own) for study, own in content.items()}


def save_times(times: Mapping[str, RunTime], path: Path) -> None:
    content = {study: asdict(own) for study, own in sorted(times.items())}
    replace_file(path, (json.dumps(content, indent=1) + "\n").encode())


def add_time(old: RunTime | None, new: RunTime) -> RunTime:
    """Runs of one design add up; a sample, or a time of another design, is replaced."""
    if old is None or old.sample or old.work != new.work:
        return new
    return replace(
        new, units=old.units + new.units, processor=round(old.processor + new.processor, 1),
        wall=round(old.wall + new.wall, 1),
    )  # fmt: skip


def times_section(rows: Sequence[tuple[str, int, RunTime | None]]) -> list[str]:
    """For the scoreboard: studies with a table, the units in it, and the time that is known."""
    lines, untimed = [], []
    measured = scaled = 0.0
    first = {time.work: study for study, _, time in reversed(rows) if time and time.units}
    for study, units, time in rows:
        if time is None or (not time.units and time.work not in first):
            untimed.append(study)
            continue
        if not time.units:
            lines.append(f"| {study} | {units} | | 0 | 0 | the work of {first[time.work]} |")
            continue
        each = time.processor / time.units
        ran = 0.0 if time.sample else min(time.units, units) * each
        measured, scaled = measured + ran, scaled + each * units - ran
        how = time.note or f"its run, {time.date}, load {time.load:.0f}"
        minutes = f"{each * units / 60:.2g}"
        lines.append(f"| {study} | {units} | {time.units} | {each:.3g} | {minutes} | {how} |")
    both = (measured + scaled) / 3600.0
    left = f" Of {len(untimed)} others no time is known: {', '.join(untimed)}." if untimed else ""
    return [
        "## What the tables took",
        "",
        f"{len(lines)} tables from nothing: {both:.1f} processor hours, {both / 2:.1f} hours on "
        f"two cores that do nothing else. {measured / 3600:.1f} of them are measured, "
        f"{scaled / 3600:.1f} scaled to the units of the tables from units that were timed.{left}",
        "",
        "Processor seconds of all processes, at laptop scale, on a machine with other work. Models "
        "that studies share count where they were trained first, or more than once where they "
        "were timed apart. A few units take longer each than many that train together, so what "
        "is scaled from a sample is rather too much.",
        "",
        "| study | units in the table | timed | seconds a unit | minutes in all | how |",
        "|---|---|---|---|---|---|",
        *lines,
        "",
    ]
