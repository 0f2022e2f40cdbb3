"""`vaescope court`: metrics on codes with a known right answer."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vaescope.cli.output import JsonOption, QuietOption, messages, result

if TYPE_CHECKING:
    from vaescope.court.judging import Judgement

__all__ = ["court"]


def court(
    out: Annotated[Path, typer.Option(help="Folder for results; existing ones are kept.")] = Path(
        "court"
    ),
    draws: Annotated[int, typer.Option(help="Draws per cell.", min=1)] = 32,
    slow_draws: Annotated[
        int | None,
        typer.Option(help="Draws for the slow metrics. [default: --draws]", min=0),
    ] = None,
    cell: Annotated[
        str | None, typer.Option(help="One cell, e.g. 'correlated .9/rotated 45'. [default: all]")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes at once. [default: one per core]", min=1)
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Test every metric on codes whose correct score is known, and say where it is wrong.

    Codes only: nothing is trained. Writes court.jsonl, court.md and court.svg.

    Example: vaescope court --out court
    """
    from vaescope.court import hold_court
    from vaescope.court.judging import judge
    from vaescope.court.page import page, plain
    from vaescope.court.trial import cell_named
    from vaescope.figures.court import court_picture
    from vaescope.paths import replace_file

    with messages(quiet=quiet).status("Holding court") as status:
        held = hold_court(
            out,
            draws=draws,
            slow_draws=draws if slow_draws is None else slow_draws,
            cells=None if cell is None else [cell_named(cell)],
            workers=workers or os.cpu_count() or 1,
            on_cell=lambda done, total: status.update(f"cell {done} of {total}"),
        )
        found = judge(held)
        if cell is not None:
            found = tuple(own for own in found if own.cell == cell_named(cell))
        else:
            replace_file(out / "court.svg", court_picture(found).encode())
            replace_file(out / "court.md", page(held, found).encode())
    text = _summary(found, out) if cell is None else "\n".join(own.summary() for own in found)
    result(plain(found, out), text, as_json=as_json)


def _summary(judged: "tuple[Judgement, ...]", out: Path) -> str:
    count = {name: sum(j.verdict == name for j in judged)
             for name in ("right", "false positive", "false negative", "undecided")}  # fmt: skip
    numbers = ", ".join(f"{n} {name}" for name, n in count.items())
    return f"{numbers}\n{out / 'court.md'}"
