"""Carries tables of studies over from papers by number to papers by key, and proves what changed.

    python scripts/carry_tables.py           # once, on tables that still have the old names
    python scripts/carry_tables.py --since REV   # any time: against the tables of that commit

A table of the study as it stands must have the digest that its work had under the path of its
function; one that the catalogue names as older keeps its digest. All else stays byte for byte.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaescope.paper_aliases import FUNCTIONS, PAPERS, paper_key
from vaescope.sealing import is_sealed, seal_document
from vaescope.studies.catalogue import OUTDATED, find
from vaescope.studies.study import Work

TABLES = Path("docs/results/studies")
NAMES = {"study", "digest", "sealed", "seal"}


def old_digest(work: Work) -> str:
    """The digest when the path of the function named it."""
    content = {
        "cells": [[dict(cell.settings), dict(cell.labels)] for cell in work.cells],
        "function": FUNCTIONS[work.key],
        "version": work.version,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def carried(old: dict[str, Any]) -> dict[str, Any]:
    """The same table under its new names."""
    is_sealed(old)
    (study,) = find(paper_key(old["study"]))
    rest = {key: value for key, value in old.items() if key not in ("seal", "sealed")}
    if study.id not in OUTDATED:
        if old["digest"] != old_digest(study.work("laptop")):
            raise SystemExit(f"{study.id}: its table was not made by this work")
        rest["digest"] = study.digest("laptop")
    return seal_document({**rest, "study": study.id})


def text_of(table: dict[str, Any]) -> str:
    return json.dumps(table, separators=(",", ":"), sort_keys=False) + "\n"


def pairs(since: str) -> Iterator[tuple[str, str]]:
    """Each table of that commit, and the one of today."""
    run = ["git", "ls-tree", "--name-only", since, f"{TABLES}/"]
    listed = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    for name in [one for one in listed if one.endswith(".json")]:
        run = ["git", "show", f"{since}:{name}"]
        old = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        number, _, rest = Path(name).name.partition("-")
        yield old, (TABLES / f"{PAPERS.get(number, number)}-{rest}").read_text("utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", metavar="REV")
    since = parser.parse_args().since
    if since is None:
        for path in sorted(TABLES.glob("*.json")):
            path.write_text(text_of(carried(json.loads(path.read_text("utf-8")))), "utf-8")
        return
    same = 0
    for before, after in pairs(since):
        old, new = json.loads(before), json.loads(after)
        parts = [text_of({k: v for k, v in one.items() if k not in NAMES}) for one in (old, new)]
        if parts[0] != parts[1] or text_of(carried(old)) != after:
            raise SystemExit(f"{new['study']}: more than its names changed")
        same += 1
    sys.stdout.write(f"{same} tables: nothing but study, digest and seal changed.\n")


if __name__ == "__main__":
    main()
