"""`vaescope study`: a paper's table or figure run anew, and what becomes of its claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vaescope.cli.output import JsonOption, QuietOption, messages, result
from vaescope.cli.signals import stop_on_signals
from vaescope.errors import UsageError

if TYPE_CHECKING:
    from vaescope.studies.study import Scale, Study
    from vaescope.studies.verdict import Verdict

__all__ = ["study"]


def study(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="E.g. zietlow2022/table-3.4. [default: list all]"),
    ] = None,
    scale: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "laptop",
    out: Annotated[Path, typer.Option(help="Folder for runs, tables and pages.")] = Path("studies"),
    on: Annotated[str, typer.Option(help="local, ray or slurm.")] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes at once. [default: one per core]")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a study and print each claim's verdict. Without an ID: the catalogue.

    The same command again resumes. Example: vaescope study zietlow2022/table-3.4
    """
    from vaescope.studies.catalogue import STUDIES, find
    from vaescope.studies.study import SCALES

    if name is None:
        result({"studies": [s.to_dict() for s in STUDIES]}, _catalogue(STUDIES), as_json=as_json)
        return
    chosen = find(name)
    size = next((one for one in SCALES if one == scale), None)
    if size is None:
        raise UsageError(f"There is no scale {scale}.", f"Scales are {', '.join(SCALES)}.")
    console = messages(quiet=quiet)
    verdicts: list[Verdict] = []
    pages = []
    with stop_on_signals() as signalled:
        for one in chosen:
            found, page = _run(one, size, out, on, workers, signalled, console)
            verdicts += found
            pages.append(str(page))
    content: dict[str, Any] = {
        "studies": [one.to_dict() for one in chosen],
        "scale": size,
        "verdicts": [verdict.to_dict() for verdict in verdicts],
        "pages": pages,
    }
    lines = [verdict.summary() for verdict in verdicts]
    result(content, "\n".join([*lines, *(f"Page: {page}" for page in pages)]), as_json=as_json)


def _catalogue(studies: "tuple[Study, ...]") -> str:
    lines = []
    for one in studies:
        lines.append(f"{one.id}: {one.title}")
        lines += [f"    {claim.says} [{claim.where}]" for claim in one.claims]
    claims = sum(len(one.claims) for one in studies)
    return "\n".join([*lines, f"{len(studies)} studies, {claims} claims."])


def _run(
    study: "Study",
    scale: "Scale",
    out: Path,
    on: str,
    workers: int | None,
    signalled: Any,
    console: Console,
) -> "tuple[list[Verdict], Path]":
    from vaescope.report.study_page import save_study
    from vaescope.studies.running import run_study, save_outcome
    from vaescope.tables import save_table

    spoken: list[tuple[str, int]] = []

    def progress(what: str, done: int, total: int) -> None:
        step = (what, 20 * done // max(total, 1))
        if step not in spoken:  # at most twenty lines for each kind of work
            spoken.append(step)
            console.print(f"{study.id}: {what} {done}/{total}", soft_wrap=True)

    outcome = run_study(
        study, scale, out, on=on, workers=workers, stop=signalled, progress=progress
    )
    verdicts = outcome.verdicts()
    stem = f"{study.id.replace('/', '-')}-{scale}"
    save_outcome(outcome, out / f"{stem}.json")
    save_table(outcome.table, out / f"{stem}.csv")
    save_study(study, outcome, verdicts, out / f"{stem}.html")
    return verdicts, out / f"{stem}.html"
