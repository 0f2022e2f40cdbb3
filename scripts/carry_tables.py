"""Proves that tables of before registration differ from those of a commit in their names only.

    python scripts/carry_tables.py 7ff58ec      # the last commit with papers by number

Papers by number became papers by key without a new run: study, digest and seal changed, all else
is the same byte for byte. Tables of studies that have been registered and run since are left out.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from vaescope.paper_aliases import PAPERS
from vaescope.studies.catalogue import find
from vaescope.studies.registry import read_registry, status
from vaescope.studies.running import load_outcome

TABLES = Path("docs/results/studies")
NAMES = {"study", "digest", "sealed", "seal"}


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def without_names(table: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in table.items() if key not in NAMES})


def main() -> None:
    since = sys.argv[1]
    same, newer = 0, []
    for name in git("ls-tree", "--name-only", since, f"{TABLES}/").split():
        if not name.endswith(".json"):
            continue
        number, _, rest = Path(name).name.partition("-")
        path = TABLES / f"{PAPERS.get(number, number)}-{rest}"
        outcome = load_outcome(path)
        (study,) = find(outcome.study)
        if status(study, outcome.digest, outcome.table, read_registry()) != "re-analysed":
            newer.append(study.id)
            continue
        old = json.loads(git("show", f"{since}:{name}"))
        if without_names(old) != without_names(json.loads(path.read_text("utf-8"))):
            raise SystemExit(f"{study.id}: more than its names changed")
        same += 1
    sys.stdout.write(f"{same} tables have other names only. Run since: {newer or 'none'}.\n")


if __name__ == "__main__":
    main()
