"""Does `vaescope how-many` find the number of factors of data of which it is known? Writes
docs/results/how_many.md.

The cases and these rules were fixed before the first of them was run:

- Settings are those that a user gets: preset `vae`, its networks, 2,000 steps a training, 10
  minutes. Only the data are named; MNIST has the small network, as it is no size of the
  convolutional one.
- The right answer is the number of factors that vary. None of them closes on itself or jumps, as
  such factors take more than one latent: the heart turns by less than a third of a circle.
- Wanted: the recommended number within one of it, in at most 10 minutes. MNIST has no known
  number; its answer is only shown.

A line per case is kept in a file as it ends; the same command again goes on from there. Fewer
minutes (`--minutes`, shown) cut FONDUE's searches short; the number does not depend on them.

    python scripts/how_many.py [--kept runs/how_many.jsonl] [--only NAME] [--page-only]
"""

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vaescope as vs
from vaescope.settings import from_command_line
from vaescope.tuning.latent_count import STEPS, count_latents

_LINEAR = ["data.name=linear-gaussian", "data.dimension=20", "data.noise=0.1"]
CASES: dict[str, tuple[int | None, list[str]]] = {
    "2 linear factors": (2, [*_LINEAR, "data.eigenvalues=[4, 2]"]),
    "5 linear factors": (5, [*_LINEAR, "data.eigenvalues=[5, 4, 3, 2, 1]"]),
    "10 linear factors": (10, [*_LINEAR, "data.eigenvalues=[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]"]),
    "sprites: x, y, scale": (3, [
        "data.name=dsprites", "data.size=32", 'data.grid={"shape": [2], "orientation": [0]}',
    ]),
    "sprites: x, y, scale, turn": (4, [
        "data.name=dsprites", "data.size=32",
        'data.grid={"shape": [2], "orientation": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}',
    ]),
    "MNIST": (None, ["data.name=mnist", "net.name=mlp"]),
}  # fmt: skip
MINUTES = 10.0


def counted(name: str, minutes: float) -> dict[str, Any]:
    known, settings = CASES[name]
    began, worked = time.monotonic(), time.process_time()
    found = count_latents(from_command_line("vae", [f"steps={STEPS}", *settings]), minutes=minutes)
    return {
        "case": name, "known": known, "found": found.to_dict(), "summary": found.summary(),
        "seconds": time.monotonic() - began, "processor": time.process_time() - worked,
        "minutes": minutes,
    }  # fmt: skip


def page(cases: list[dict[str, Any]]) -> list[str]:
    judged = [case for case in cases if case["known"] is not None]
    within = [abs(case["found"]["recommended"] - case["known"]) <= 1 for case in judged]
    lines = [
        "# How many latents: data whose factors are known",
        "",
        "Made by `python scripts/how_many.py`; cases and rules are at its head and were committed "
        f"before the first run. {len(cases)} of {len(CASES)} cases; torch {version('torch')}, "
        f"vaescope {vs.__version__}. Clock, and processor time of two cores.",
        "",
        f"- Within one of the known number: {sum(within)} of {len(judged)}.",
        f"- At most 10 minutes: {sum(case['processor'] <= 600 for case in cases)} of {len(cases)} "
        f"by processor time, {sum(case['seconds'] <= 600 for case in cases)} by the clock.",
        "",
        "| data | known | recommended | dimension of means | in use, of | FONDUE | by types "
        "| data's own, likelihood / two neighbours | minutes: clock, processor, allowed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in cases:
        found = case["found"]
        own = " / ".join(
            "-" if one is None else f"{one['value']:.1f}" for one in found["data"].values()
        )
        lines.append(
            f"| {case['case']} | {case['known'] or '-'} | **{found['recommended']}** "
            f"| {found['dimension']} | {found['used']} of {found['wide']['latents']} "
            f"| {_or_open(found['fondue'])} | {_or_open(found['by_types'])} | {own} "
            f"| {case['seconds'] / 60:.1f}, {case['processor'] / 60:.1f}, "
            f"{case['minutes']:g} |"
        )
    lines.append("")
    for case in cases:
        lines += [f"## {case['case']}", "", "```", case["summary"], "```", ""]
    return lines[:-1]


def _or_open(number: int | None) -> str:
    return "open" if number is None else str(number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", type=Path, default=Path("runs/how_many.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/how_many.md"))
    parser.add_argument("--only", choices=list(CASES), action="append")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--page-only", action="store_true", help="Of the cases that are kept.")
    arguments = parser.parse_args()
    arguments.kept.parent.mkdir(parents=True, exist_ok=True)
    done = _kept(arguments.kept)
    for name in [] if arguments.page_only else arguments.only or list(CASES):
        if name not in {case["case"] for case in done}:
            with arguments.kept.open("a") as file:
                file.write(json.dumps(counted(name, arguments.minutes)) + "\n")
    cases = sorted(_kept(arguments.kept), key=lambda case: list(CASES).index(case["case"]))
    arguments.out.write_text("\n".join(page(cases)) + "\n")


def _kept(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
