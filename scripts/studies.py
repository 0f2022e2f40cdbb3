"""Runs studies at laptop scale and makes docs/results/: tables, pages, figures and the scoreboard.

A study whose committed table has the digest of its work is not run again. `--run ID ...` runs
these; without it, only pages and the scoreboard are made from the tables that are there.
"""

import argparse
import sys
from pathlib import Path

from vaescope.report.scoreboard import scoreboard, study_text
from vaescope.report.study_page import figure_png
from vaescope.studies.catalogue import OUTDATED, STUDIES, TOTAL, find
from vaescope.studies.running import Outcome, load_outcome, run_study, save_outcome
from vaescope.studies.study import Study
from vaescope.studies.verdict import decide

RESULTS = Path("docs/results")


def place(study: Study, ending: str) -> Path:
    return RESULTS / "studies" / f"{study.id.replace('/', '-')}{ending}"


def kept(study: Study) -> Outcome | None:
    """The table at hand: of the study as it stands, or one that the catalogue names as older."""
    path = place(study, ".json")
    if not path.exists():
        return None
    outcome = load_outcome(path)
    current = outcome.digest == study.digest("laptop")
    return outcome if current or study.id in OUTDATED else None


def run(study: Study, out: Path) -> None:
    known = kept(study)
    if known is not None and known.digest == study.digest("laptop"):
        return
    outcome = run_study(study, "laptop", out)
    save_outcome(outcome, place(study, ".json"))
    place(study, ".png").write_bytes(figure_png(study, outcome, dpi=110))
    for verdict in outcome.verdicts():
        sys.stdout.write(f"{verdict.summary()}\n")


def write() -> None:
    """Pages and scoreboard from all tables, verdicts by Holm's levels over all of them."""
    found = [(study, outcome) for study in STUDIES if (outcome := kept(study)) is not None]
    pairs = [(claim, outcome.table) for study, outcome in found for claim in study.claims]
    verdicts = iter(decide(pairs, total=TOTAL))
    judged = []
    for study, outcome in found:
        own = [next(verdicts) for _ in study.claims]
        judged.append((study, outcome, own))
        place(study, ".md").write_text(study_text(study, outcome, own))
    missing = [study for study in STUDIES if study not in [one for one, _ in found]]
    (RESULTS / "index.md").write_text(scoreboard(judged, missing))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", nargs="*", default=[], metavar="ID")
    parser.add_argument("--out", type=Path, default=Path("studies"))
    arguments = parser.parse_args()
    for name in arguments.run:
        for study in find(name):
            run(study, arguments.out)
    write()


if __name__ == "__main__":
    main()
