"""One smoke cell of each study at two commits: which numbers moved, and whether that is said.

    python scripts/smoke_cells.py 942264a HEAD

A study whose number moves must have a raised version, or stand in `catalogue.OUTDATED`; else the
script names it and ends with 1. Both sides use this machine and this Python, one thread each.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

#: Numbers that differ by less are the same: sums in another order.
TOLERANCE = 1e-6


def measured(folder: Path) -> dict[str, Any]:
    """What each study of the imported vaescope gives for its first smoke cell."""
    import torch

    from vaescope.runs import Run
    from vaescope.studies import catalogue, running
    from vaescope.studies.study import Trained
    from vaescope.sweeps.worker import InlineEngine

    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for study in catalogue.STUDIES:
        work = study.work("smoke")
        one = replace(work, cells=work.cells[:1])
        entry: dict[str, Any] = {
            "version": one.version,
            "settings": json.dumps(dict(one.cells[0].columns), sort_keys=True, default=str),
            "outdated": study.id in getattr(catalogue, "OUTDATED", {}),
        }
        try:
            if isinstance(one, Trained):
                (run,) = running._train(
                    one, folder, InlineEngine(lambda: 0), lambda: 0, lambda *_: None
                )
                values = one.measure(Run(run))
            else:
                values = one.compute(one.cells[0].columns)
            entry["values"] = {
                key: float(np.mean(value)) for key, value in values.items() if _number(value)
            }
        except Exception as error:  # one study of an old commit must not hide the others
            entry["failed"] = f"{type(error).__name__}: {error}"[:300]
        found[study.id] = entry
    return found


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _number(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biuf" and np.size(value) > 0


def at(commit: str, scratch: Path) -> dict[str, Any]:
    """The same by the source of a commit."""
    tree, place = scratch / commit, scratch / f"{commit}.json"
    subprocess.run(["git", "worktree", "add", "--detach", "-q", tree, commit], check=True)
    try:
        command = [
            sys.executable,
            __file__,
            "--measure",
            place,
            "--runs",
            scratch / f"{commit}-runs",
        ]
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, env=environment)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], check=True)
    content: dict[str, Any] = json.loads(place.read_text())
    return content


def moved(old: dict[str, float], new: dict[str, float]) -> list[str]:
    """Numbers that differ, and those that are on one side only."""
    return [
        f"{key} {old.get(key)} -> {new.get(key)}"
        for key in sorted(old.keys() | new.keys())
        if key not in old or key not in new or not _same(old[key], new[key])
    ]


def _same(one: float, other: float) -> bool:
    both_missing = math.isnan(one) and math.isnan(other)
    return both_missing or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-9)


def compare(old: dict[str, Any], new: dict[str, Any]) -> int:
    """Prints a line for each study; the number of those that moved without a word."""
    from vaescope.paper_aliases import paper_key

    before = {paper_key(name): entry for name, entry in old.items()}
    silent = 0
    for name, entry in new.items():
        first = before.get(name)
        if first is None:
            say(f"{name}: new")
            continue
        if "failed" in first or "failed" in entry:
            say(f"{name}: not compared: {first.get('failed') or entry.get('failed')}")
            continue
        differences = moved(first["values"], entry["values"])
        said = entry["version"] > first["version"] or entry["outdated"]
        if not differences:
            say(f"{name}: the same, {len(entry['values'])} numbers")
            continue
        changed = "its settings changed; " if first["settings"] != entry["settings"] else ""
        why = "raised or to be run again" if said else "WITHOUT A RAISED VERSION"
        say(f"{name}: moved, {why}; {changed}{'; '.join(differences[:3])}")
        silent += not said
    return silent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", metavar="OLD NEW")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        arguments.measure.write_text(json.dumps(measured(arguments.runs)))
        return 0
    if len(arguments.commits) != 2:
        parser.error("give two commits, the old one first")
    with tempfile.TemporaryDirectory() as scratch:
        old, new = (at(commit, Path(scratch)) for commit in arguments.commits)
    return min(compare(old, new), 1)


if __name__ == "__main__":
    sys.exit(main())
