"""Holds the court and keeps what it found: docs/results/court.md, its picture, and the counts that
`Score.validity` quotes.

    python scripts/court.py --out court [--draws 32] [--slow-draws 32] [--workers 2] [--read]
"""

import argparse
import json
from pathlib import Path

from vaescope.court.judging import Judgement, judge, ranking
from vaescope.court.page import page
from vaescope.court.trial import DRAWS, Court, CourtCell, hold_court, read_court
from vaescope.figures.court import court_picture
from vaescope.metrics.validity import FINDINGS

ROOT = Path(__file__).parents[1]


def counts(court: Court, found: tuple[Judgement, ...]) -> dict[str, dict[str, list[object]]]:
    """By metric and cell: right verdicts, or which of two codes of a generator it ranked first."""
    kept: dict[str, dict[str, list[object]]] = {}
    for own in found:
        cell = own.cell
        if cell.generator == "independent" and own.promise != "open" and own.draws:
            kept.setdefault(own.metric, {})[f"independent/{cell.encoder}"] = [
                "right", own.right, own.draws,
            ]  # fmt: skip
        if cell.generator != "independent" and cell.encoder == "rotated 45":
            won = ranking(court, own.metric, CourtCell(cell.generator, "identity"), cell)
            if own.promise == "lower" and won is not None:
                kept.setdefault(own.metric, {})[f"{cell.generator}/identity"] = ["rank", *won]
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("court"))
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--slow-draws", type=int, default=DRAWS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--read", action="store_true", help="what the record has, without more")
    given = parser.parse_args()
    if given.read:
        court = read_court(given.out)
    else:
        court = hold_court(
            given.out, draws=given.draws, slow_draws=given.slow_draws, workers=given.workers
        )
    found = judge(court)
    results = ROOT / "docs" / "results"
    (results / "court.md").write_text(page(court, found))
    (results / "court.svg").write_text(court_picture(found))
    lines = [f"{json.dumps(name)}: {json.dumps(own)}" for name, own in counts(court, found).items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (ROOT / "src" / "vaescope" / "metrics" / FINDINGS).write_text(text)


if __name__ == "__main__":
    main()
