"""`vaescope sweep`: many models from one file."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from typer.exceptions import Exit

from vaescope.cli.output import DeviceOption, JsonOption, QuietOption, messages, result
from vaescope.cli.signals import stop_on_signals
from vaescope.wording import duration

if TYPE_CHECKING:
    from vaescope.sweeps.driver import Status
    from vaescope.sweeps.engine import WorkOutcome

__all__ = ["sweep"]

#: Runs that ended last, in the live table; seconds between two plain lines.
SHOWN, PAUSE = 8, 5.0
_STYLES = {"trained": "green", "done": "dim", "failed": "bold red"}


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else duration(seconds)


def _line(status: "Status") -> str:
    return (
        f"{status.done}/{status.total} done, {status.failed} failed, {status.skipped} skipped, "
        f"{status.running} running, {_time(status.seconds)} so far, "
        f"{_time(status.eta_seconds)} to go"
    )


def _drawn(status: "Status", last: "deque[WorkOutcome]") -> Group:
    counts = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("done", "failed", "skipped", "running", "total", "time", "to go"):
        counts.add_column(name, justify="right")
    numbers = (status.done, status.failed, status.skipped, status.running, status.total)
    times = (_time(status.seconds), _time(status.eta_seconds))
    counts.add_row(*(str(number) for number in numbers), *times)
    runs = Table.grid(padding=(0, 2, 0, 0))
    for outcome in last:
        style = _STYLES.get(outcome.state, "")
        runs.add_row(Text(outcome.state, style=style), outcome.run, Text(outcome.message))
    bar = Table.grid()  # a bar alone does not end its line
    bar.add_row(ProgressBar(total=status.total, completed=status.done + status.failed, width=60))
    return Group(counts, bar, runs)


def _show(statuses: "Iterator[Status]", console: Console) -> "tuple[Status, list[WorkOutcome]]":
    """Draws a sweep to its end: a live table on a terminal, else a plain line every few seconds.
    Gives where it ended, and what failed."""
    first = status = next(statuses)
    failures: list[WorkOutcome] = []
    last: deque[WorkOutcome] = deque(maxlen=SHOWN)
    spoken = 0.0
    live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
    if live is None:
        console.print(_line(first), soft_wrap=True)
    with live if live is not None else nullcontext():
        for status in statuses:
            last.extend(status.ended)
            failed = [outcome for outcome in status.ended if outcome.state == "failed"]
            failures += failed
            if live is not None:
                live.update(_drawn(status, last))
                continue
            for outcome in failed:
                console.print(f"{outcome.run} failed: {outcome.message}", soft_wrap=True)
            if time.monotonic() - spoken > PAUSE and status.ended:
                spoken = time.monotonic()
                console.print(_line(status), soft_wrap=True)
    return status, failures


def sweep(
    file: Annotated[Path, typer.Argument(help="A YAML file: preset, fixed, grid, zip, chain.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs.")],
    on: Annotated[str, typer.Option(help="local, ray or slurm.")] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at once. [default: one per core]")
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="Retries of a run whose worker died.")] = 2,
    lease: Annotated[
        bool | None,
        typer.Option(
            "--lease/--no-lease",
            help="Claim runs by lease. [default: where machines share the folder]",
        ),
    ] = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train all runs of a sweep file. The same command resumes a sweep that was stopped.

    Example: vaescope sweep betas.yaml --out sweeps/betas --workers 2
    """
    from vaescope.sweeps.driver import sweep as run_sweep
    from vaescope.sweeps.engine import make_engine
    from vaescope.sweeps.grid import read_plan

    console = messages(quiet=quiet)
    plan = read_plan(file)
    engine = make_engine(on, out, workers)
    with stop_on_signals() as signalled:
        statuses = run_sweep(
            plan, out, engine, retries=retries, device=device, lease=lease, stop=signalled
        )
        status, failures = _show(statuses, console)
    page = _page(out, console)
    content: dict[str, Any] = {
        "total": status.total,
        "done": status.done,
        "failed": status.failed,
        "skipped": status.skipped,
        "failures": [{"run": one.run, "message": one.message} for one in failures],
        "page": None if page is None else str(page),
    }
    plain = f"{out}: {status.done} of {status.total} runs are done, {status.skipped} were before."
    result(content, plain, as_json=as_json)
    if status.failed:
        console.print(
            f"{status.failed} runs failed: see failed.json in {out / failures[0].run}. "
            "Run the same command again to retry them.",
            style="bold red", soft_wrap=True,
        )  # fmt: skip
        raise Exit(1)


def _page(out: Path, console: Console) -> Path | None:
    """Writes the sweep's page; a sweep of which nothing could be read has none."""
    from vaescope.errors import VaescopeError
    from vaescope.report.sweep_page import save_sweep
    from vaescope.tables import read_table

    path = out / "sweep.html"
    try:
        save_sweep(read_table(out), path, folder=out)
    except VaescopeError as problem:
        console.print(f"No page was written: {problem}", soft_wrap=True)
        return None
    return path
