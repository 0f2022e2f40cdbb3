"""Runs studies at laptop scale and makes docs/results/: tables, pages, figures and the scoreboard.

`--register ID ...` writes what these will be judged by into the registry, to be committed before
they run; `--run ID ...` runs 16 units of each, or adds `--add N`; `--draw ID ...` draws figures
anew, with pictures where the runs are in `--out`; `--spot ID ...` runs `--units N` at the paper's
own scale, which never vote; `--price ID ...` estimates what a unit costs there; `--again ID ...`
runs the first `--units N` of committed tables anew, into `--out`, and says how many values are the
same, what the verdicts of these units are and what it took; without any, only pages and the
scoreboard are made from the tables that are there.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vaescope.report.run_times import RunTime, add_time, read_times, save_times, times_section
from vaescope.report.scoreboard import Judged, scoreboard, study_text
from vaescope.report.scoreboard_figure import scoreboard_figure
from vaescope.report.spot_lines import Spot
from vaescope.report.study_page import figure_svg
from vaescope.studies.catalogue import STUDIES, cases, find
from vaescope.studies.claim_verdict import Case, decide
from vaescope.studies.cost import study_cost
from vaescope.studies.effects import distinct
from vaescope.studies.registry import read_registry, register, status, voting_units, withdrawn
from vaescope.studies.running import Outcome, load_outcome, run_study, save_outcome
from vaescope.studies.sampling import FIRST_BATCH, add_units, last_unit
from vaescope.studies.study import Study
from vaescope.tables import Table, Value

RESULTS = Path("docs/results")
#: Core hours of one unit at the paper's own scale, by study, beside the digest of that scale.
PRICES = RESULTS / "paper-costs.json"
#: What the runs of each study took, at laptop scale.
TIMES = "run-times.json"


def place(study: Study, ending: str) -> Path:
    return RESULTS / "studies" / f"{study.id.replace('/', '-')}{ending}"


def kept(study: Study) -> Outcome | None:
    path = place(study, ".json")
    return load_outcome(path) if path.exists() else None


def units_of(study: Study) -> int:
    """How many units the table has."""
    own = kept(study)
    if own is None or own.digest != study.digest("laptop"):
        return 0
    return len(voting_units(study, own.table))


@contextmanager
def timed(study: Study) -> Iterator[None]:
    """Adds what is done inside to the study's time, also where it is interrupted."""
    began, spent, had = time.monotonic(), processor_seconds(), units_of(study)
    try:
        yield
    finally:
        own = kept(study)
        took = round(processor_seconds() - spent, 1)
        if (new := units_of(study) - had) > 0 or took > 10.0:  # else the table was there
            times = read_times(RESULTS / TIMES)
            machine = "unknown" if own is None else own.machine
            date = datetime.now(UTC).strftime("%Y-%m-%d")
            line = RunTime(
                study.digest("laptop")[:16], max(new, 0), took,
                round(time.monotonic() - began, 1), round(os.getloadavg()[0], 1), date, machine,
            )  # fmt: skip
            times[study.id] = add_time(times.get(study.id), line)
            save_times(times, RESULTS / TIMES)


def run(study: Study, out: Path, more: int | None, workers: int | None) -> None:
    """The first 16 units, or so many more than the table has. Formulas are checked, not registered:
    of these the units that the study has."""
    old = kept(study)
    if old is not None and old.digest != study.digest("laptop"):
        old = None
    if old is not None and more is None:
        return
    if study.formulas_only:
        save(study, formulas(study, out, old, more, workers))
        return
    line = next((one for one in reversed(read_registry()) if one.study == study.id), None)
    if line is None or line.work != study.digest("laptop"):
        raise SystemExit(f"{study.id} is not registered as it stands: --register, commit, then run")
    first = line.first if old is None else last_unit(study, old) + 1
    units = range(first, min(first + (more or FIRST_BATCH), line.first + line.cap))
    save(study, add_units(study, "laptop", out, units, old, workers=workers))


def formulas(
    study: Study, out: Path, old: Outcome | None, more: int | None, workers: int | None
) -> Outcome:
    if old is None:
        old = run_study(study, "laptop", out, workers=workers)
    first = last_unit(study, old) + 1
    return add_units(study, "laptop", out, range(first, first + (more or 0)), old, workers=workers)


def save(study: Study, outcome: Outcome) -> None:
    save_outcome(outcome, place(study, ".json"))
    place(study, ".svg").write_text(figure_svg(study, outcome))


def spot_place(study: Study) -> Path:
    return RESULTS / "spot-checks" / f"{study.id.replace('/', '-')}.json"


def spot_check(study: Study, out: Path, units: int, workers: int | None) -> None:
    """The first units at the paper's own scale; they vote for nothing."""
    found = run_study(study, "paper", out, units=range(units), workers=workers)
    save_outcome(found, spot_place(study))


def again(study: Study, out: Path, units: int, workers: int | None) -> bool:
    """Runs the first units of a committed table anew; whether every number is the same."""
    old = kept(study)
    if old is None or old.digest != study.digest("laptop"):
        raise SystemExit(f"{study.id} has no table of the study as it stands: --run it first")
    known = sorted(unit for unit in voting_units(study, old.table) if isinstance(unit, int))
    began, spent = time.monotonic(), processor_seconds()
    new = run_study(study, "laptop", out, units=known[:units] or None, workers=workers)
    took = f"wall {time.monotonic() - began:.0f} s, processor {processor_seconds() - spent:.0f} s"
    path = out / place(study, ".json").name
    save_outcome(new, path)  # with as many digits as the other
    new = load_outcome(path)
    old = replace(old, table=rows_as_in(old.table, new.table))
    every = [
        (difference(one, other), f"{name} of {run}, {one} and now {other}")
        for name in sorted(old.table.results.keys() | new.table.results.keys())
        for run, one, other in zip(
            new.table.settings["run"], values(old, name), values(new, name), strict=True
        )
    ]
    others = [pair for pair in every if pair[0]]
    words = [f"{study.id}: {len(new.table)} rows, {took}"]
    words.append(f"  {len(every) - len(others)} of {len(every)} values are the same")
    if others:
        words[-1] += "; most by {:.2g} of it: {}".format(*max(others))
    words += [
        f"  {one.verdict}, {one.votes()}; now {other.verdict}, {other.votes()}: {one.claim.says}"
        for one, other in zip(old.verdicts(), new.verdicts(), strict=True)
    ]
    sys.stdout.write("\n".join(words) + "\n")
    sys.stdout.flush()
    return not others


def rows_as_in(old: Table, new: Table) -> Table:
    """The rows of `old` of the cells that `new` has, in its order."""
    settings = (old.settings.keys() | new.settings.keys()) - {"run", "done"}

    def cell(row: dict[str, Value]) -> frozenset[tuple[str, Value]]:
        return frozenset((key, v) for key in settings if (v := row.get(key)) is not None)

    places = {cell(row): place for place, row in enumerate(old.rows())}
    chosen = [places[cell(row)] for row in new.rows()]
    parts = (old.settings, old.results)
    return Table(*({key: [v[i] for i in chosen] for key, v in part.items()} for part in parts))


def values(outcome: Outcome, name: str) -> Sequence[Value]:
    return outcome.table.results.get(name) or [None] * len(outcome.table)


def difference(one: Value, other: Value) -> float:
    """By what share of the larger two numbers differ; without limit if they are not numbers."""
    if one == other:
        return 0.0
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return float("inf")
    return abs(one - other) / max(abs(one), abs(other))


def processor_seconds() -> float:
    """Of this process and of those that it waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def price(study: Study, prices: dict[str, dict[str, Any]]) -> None:
    """What one unit would cost at the paper's own scale."""
    hours = study_cost(study, "paper", 1).core_hours
    short = None if hours is None else float(f"{hours:.2g}")
    prices[study.id] = {"digest": study.digest("paper"), "core_hours": short}


def read_prices() -> dict[str, dict[str, Any]]:
    return dict(json.loads(PRICES.read_text())) if PRICES.exists() else {}


def checked(study: Study, prices: dict[str, dict[str, Any]]) -> Spot:
    """The spot check that is kept, and its price, if they are of the study as it stands."""
    path, digest = spot_place(study), study.digest("paper")
    found = load_outcome(path) if path.exists() else None
    known = prices.get(study.id, {})
    return Spot(
        found if found is not None and found.digest == digest else None,
        known["core_hours"] if known.get("digest") == digest else None,
    )


def draw(study: Study, out: Path, workers: int | None) -> None:
    """The figure of the table that is kept: with pictures if its runs are in `out`."""
    old = kept(study)
    if old is None:
        return
    if out.exists() and old.digest == study.digest("laptop"):
        units = sorted(unit for unit in voting_units(study, old.table) if isinstance(unit, int))
        new = run_study(study, "laptop", out, units=units, workers=workers)
        # Numbers are the table's, whatever runs of now have.
        old = replace(old, table=rows_as_in(old.table, new.table), pictures=new.pictures)
    place(study, ".svg").write_text(figure_svg(study, old))


def write() -> None:
    """Pages and scoreboard from all tables. What counts and what does not are judged apart."""
    lines, prices = read_registry(), read_prices()
    tables = {study.id: outcome for study in STUDIES if (outcome := kept(study)) is not None}
    states = {
        study.id: status(study, tables[study.id].digest, tables[study.id].table, lines)
        for study in STUDIES
        if study.id in tables
    }
    found = {}
    gone: list[Case] = withdrawn(lines, STUDIES)
    for older in (False, True):
        own = {
            name: (distinct(one.table, "seed"), states[name])
            for name, one in tables.items()
            if (states[name] == "re-analysed") == older
        }
        pairs = [(study, claim) for study in STUDIES for claim in study.claims]
        judged = decide([*cases(own), *gone])
        for (study, _), verdict in zip(pairs, judged, strict=False):
            if study.id in own or (not older and study.id not in tables):
                found.setdefault(study.id, []).append(verdict)
        if not older:
            missing = judged[len(pairs) :]
    everything = [
        Judged(
            study,
            tables.get(study.id),
            states.get(study.id, "not run"),
            found[study.id],
            listed=any(line.study == study.id for line in lines),
            spot=checked(study, prices),
        )
        for study in STUDIES
    ]
    for one in everything:
        if one.outcome is not None:
            place(one.study, ".md").write_text(study_text(one))
    times = read_times(RESULTS / TIMES)
    text = scoreboard(everything, lines, missing)
    took = [(s.id, len(voting_units(s, t.table)), times.get(s.id))
            for s in STUDIES if (t := tables.get(s.id)) is not None]  # fmt: skip
    text += "\n".join(["", *times_section(took)])
    (RESULTS / "index.md").write_text(text)
    (RESULTS / "index.svg").write_text(scoreboard_figure(everything))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--register", nargs="*", default=[], metavar="ID")
    parser.add_argument("--first", type=int, default=0, help="no unit before this one")
    parser.add_argument("--run", nargs="*", default=[], metavar="ID")
    parser.add_argument("--draw", nargs="*", default=[], metavar="ID")
    parser.add_argument("--spot", nargs="*", default=[], metavar="ID")
    parser.add_argument("--price", nargs="*", default=[], metavar="ID")
    parser.add_argument("--again", nargs="*", default=[], metavar="ID")
    parser.add_argument("--units", type=int, help="of a spot check (2), or --again (16)")
    parser.add_argument("--add", type=int, metavar="N")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, default=Path("studies"))
    arguments = parser.parse_args()
    if arguments.again:
        chosen = [study for name in arguments.again for study in find(name)]
        units = arguments.units or FIRST_BATCH
        same = [again(study, arguments.out, units, arguments.workers) for study in chosen]
        raise SystemExit(not all(same))
    today = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    for name in arguments.register:
        for study in find(name):
            line = register(study, today, first=arguments.first)
            sys.stdout.write(f"{study.id}: units from {line.first}, registered {line.date}\n")
    for name in arguments.run:
        for study in find(name):
            with timed(study):
                run(study, arguments.out, arguments.add, arguments.workers)
    for name in arguments.spot:
        for study in find(name):
            spot_check(study, arguments.out, arguments.units or 2, arguments.workers)
    if arguments.price:
        prices = read_prices()
        for study in (one for name in arguments.price for one in find(name)):
            price(study, prices)
        PRICES.write_text(json.dumps(dict(sorted(prices.items())), indent=1) + "\n")
    for name in arguments.draw:
        for study in find(name):
            draw(study, arguments.out, arguments.workers)
    write()


if __name__ == "__main__":
    main()
