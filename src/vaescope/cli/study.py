"""`vaescope study`: a paper's table or figure run anew, and what becomes of its claims."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vaescope.cli import completion
from vaescope.cli.output import JsonOption, QuietOption, messages, result
from vaescope.cli.signals import stop_on_signals
from vaescope.errors import UsageError

if TYPE_CHECKING:
    from vaescope.studies.claim_verdict import ClaimVerdict
    from vaescope.studies.running import Outcome
    from vaescope.studies.study import Scale, Study

__all__ = ["study"]


def study(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="E.g. zietlow2022/table-3.4. [default: list all]",
            autocompletion=completion.studies,
        ),
    ] = None,
    scale: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "laptop",
    out: Annotated[Path, typer.Option(help="Folder for runs, tables and pages.")] = Path("studies"),
    on: Annotated[str, typer.Option(help="local, ray or slurm.")] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes at once. [default: one per core]")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="+N", help="Add N new seeds to the table."),
    ] = None,
    until_decided: Annotated[
        bool,
        typer.Option("--until-decided", help="16 seeds, then 8 at a time up to the study's cap."),
    ] = False,
    register: Annotated[
        bool,
        typer.Option("--register", help="Register claims and thresholds; run nothing."),
    ] = False,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Estimate the cost from a few timed steps; run nothing."),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a study and print each claim's verdict. Without an ID, list all studies.

    The same command resumes a study that was stopped. Example: vaescope study
    zietlow2022/table-3.4 --seeds +8
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
    more = _more(seeds)
    if register:
        said = [_registered(one) for one in chosen]
        text = "\n".join(" ".join(f"{k} {v}" for k, v in one.items()) for one in said)
        result({"studies": said}, text, as_json=as_json)
        return
    if estimate:
        from vaescope.studies.cost import study_cost

        costs = [study_cost(one, size, more) for one in chosen]
        text = "\n".join(cost.summary() for cost in costs)
        priced = [
            {**cost.to_dict(), "cap": one.cap} for one, cost in zip(chosen, costs, strict=True)
        ]
        result({"studies": priced}, text, as_json=as_json)
        return
    console = messages(quiet=quiet)
    verdicts: list[ClaimVerdict] = []
    pages = []
    with stop_on_signals() as signalled:
        for one in chosen:
            plan = _Plan(one, size, out, more, until_decided)
            found, page = plan.run(on, workers, signalled, console)
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


def _more(seeds: str | None) -> int | None:
    """How many seeds to add: `+8`."""
    if seeds is None:
        return None
    number = seeds.removeprefix("+")
    if not seeds.startswith("+") or not number.isdecimal() or int(number) < 1:
        raise UsageError(
            f"--seeds {seeds} is not a number of seeds to add.", "Write it as --seeds +8."
        )
    return int(number)


def _catalogue(studies: "tuple[Study, ...]") -> str:
    lines = []
    for one in studies:
        lines.append(f"{one.id}: {one.title}")
        lines += [
            f"    {claim.says} [{claim.where}; {'primary' if claim.primary else claim.kind}]"
            for claim in one.claims
        ]
    claims = sum(len(one.claims) for one in studies)
    return "\n".join([*lines, f"{len(studies)} studies, {claims} claims."])


def _registered(study: "Study") -> dict[str, Any]:
    from vaescope.studies.registry import REGISTRY, register

    line = register(study, datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    return {"study": study.id, "registry": str(REGISTRY), "first": line.first, "cap": line.cap,
            "work": line.work, "claims": line.claims, "date": line.date}  # fmt: skip


class _Plan:
    """Which units of a study are run, and where its table is."""

    def __init__(
        self, study: "Study", scale: "Scale", out: Path, more: int | None, until_decided: bool
    ) -> None:
        self.study, self.scale, self.out = study, scale, out
        self.more, self.until_decided = more, until_decided
        self.stem = study.id.replace("/", "-")

    def known(self) -> "Outcome | None":
        """The table that seeds are added to: the one in `out`, else the repository's."""
        from vaescope.studies.running import load_outcome

        places = [self.out / f"{self.stem}-{self.scale}.json"]
        if self.scale == "laptop":
            places.append(Path("docs/results/studies") / f"{self.stem}.json")
        tables = (load_outcome(path) for path in places if path.exists())
        wanted = self.study.digest(self.scale)
        return next((table for table in tables if table.digest == wanted), None)

    def run(
        self, on: str, workers: int | None, signalled: Any, console: Console
    ) -> "tuple[list[ClaimVerdict], Path]":
        from vaescope.report.study_page import save_study
        from vaescope.studies.registry import read_registry, status
        from vaescope.studies.running import run_study, save_outcome
        from vaescope.studies.sampling import next_units, sample
        from vaescope.tables import save_table

        spoken: list[tuple[str, int]] = []

        def progress(what: str, done: int, total: int) -> None:
            step = (what, 20 * done // max(total, 1))
            if step not in spoken:  # at most twenty lines for each kind of work
                spoken.append(step)
                console.print(f"{self.study.id}: {what} {done}/{total}", soft_wrap=True)

        options: dict[str, Any] = {
            "on": on, "workers": workers, "stop": signalled, "progress": progress,
        }  # fmt: skip
        registered = read_registry()
        line = next((one for one in reversed(registered) if one.study == self.study.id), None)
        if self.more is not None or self.until_decided:
            outcome = sample(
                self.study, self.scale, self.out, self.known(), line, self.more,
                until_decided=self.until_decided, **options,
            )  # fmt: skip
        else:
            first = line is not None and self.scale == "laptop"
            units = next_units(self.study, None, line, None) if first else None
            outcome = run_study(self.study, self.scale, self.out, units=units, **options)
        state = "not registered"
        if line is not None and self.scale == "laptop":
            state = status(self.study, outcome.digest, outcome.table, registered)
        verdicts = outcome.verdicts(state)
        stem = f"{self.stem}-{self.scale}"
        save_outcome(outcome, self.out / f"{stem}.json")
        save_table(outcome.table, self.out / f"{stem}.csv")
        save_study(self.study, outcome, verdicts, self.out / f"{stem}.html")
        return verdicts, self.out / f"{stem}.html"
