"""`vaescope court`: metrics on codes with a known right answer."""

from pathlib import Path
from typing import Annotated

import typer

from vaescope.cli.output import JsonOption, QuietOption, messages, result

__all__ = ["court"]


def court(
    out: Annotated[Path, typer.Option(help="Folder of the record; it is continued.")] = Path(
        "court"
    ),
    draws: Annotated[int, typer.Option(help="Draws of each cell.", min=1)] = 32,
    dear_draws: Annotated[
        int | None,
        typer.Option(help="Draws of the metrics that take nine tenths of the time.", min=0),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Try every metric on codes whose right answer is known, and say where it is wrong.

    Codes only: nothing is trained. Writes court.jsonl, court.md and court.svg.

    Example: vaescope court --out court
    """
    from vaescope.court import hold_court
    from vaescope.court.judging import judge
    from vaescope.court.page import page, plain
    from vaescope.figures.court import court_picture
    from vaescope.paths import replace_file

    with messages(quiet=quiet).status("Holding court") as status:
        held = hold_court(
            out,
            draws=draws,
            dear_draws=draws if dear_draws is None else dear_draws,
            on_cell=lambda done, total: status.update(f"Holding court: cell {done} of {total}"),
        )
        found = judge(held)
        replace_file(out / "court.svg", court_picture(found).encode())
        replace_file(out / "court.md", page(held, found).encode())
    result(plain(found, out), summary_of(found, out), as_json=as_json)


def summary_of(found: object, out: Path) -> str:
    from vaescope.court.judging import Judgement

    assert isinstance(found, tuple)
    judged: tuple[Judgement, ...] = found
    count = {name: sum(j.verdict == name for j in judged)
             for name in ("right", "false positive", "false negative", "undecided")}  # fmt: skip
    numbers = ", ".join(f"{n} {name}" for name, n in count.items())
    return f"{numbers}\n{out / 'court.md'}"
