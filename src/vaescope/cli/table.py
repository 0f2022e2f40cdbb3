"""`vaescope table`: runs and scores as tidy rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Drawing
from rich.text import Text

from vaescope.cli.output import JsonOption, QuietOption, messages, result

if TYPE_CHECKING:
    from vaescope.estimates import Estimate
    from vaescope.tables import Table, Value

__all__ = ["table"]

#: Rows that a terminal shows; a file or a pipe gets all.
SHOWN = 100


def _cell(value: "Value") -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _drawn(table: "Table") -> Drawing:
    """What differs between runs, in as many rows as one can read."""
    names = ["run", *table.varying(), *table.measures()]
    if not all(table.settings["done"]):
        names.append("done")
    drawing = Drawing(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        drawing.add_column(name, justify="left" if name == "run" else "right", overflow="fold")
    columns = table.columns
    for place in range(min(len(table), SHOWN)):
        drawing.add_row(*(Text(_cell(columns[name][place])) for name in names))
    if len(table) > SHOWN:
        drawing.caption = f"The first {SHOWN} of {len(table)}; --out writes all."
    return drawing


def _spread(estimate: "Estimate") -> dict[str, Any]:
    interval = None if estimate.interval is None else list(estimate.interval)
    return {"mean": estimate.value, "interval": interval, "n": estimate.n}


def _summary(table: "Table", measure: str) -> dict[str, Any]:
    from vaescope.statistics import mean_by_bootstrap, mean_over_seeds, variance_shares

    shares = variance_shares(table, measure)
    return {
        "measure": measure,
        "means": [
            {
                "settings": dict(t.settings),
                "t": _spread(t.estimate),
                "bootstrap": _spread(bootstrap.estimate),
            }
            for t, bootstrap in zip(
                mean_over_seeds(table, measure),
                mean_over_seeds(table, measure, mean=mean_by_bootstrap),
                strict=True,
            )
        ],
        "variance": None
        if shares is None
        else {"share": dict(shares.share), "chance": dict(shares.chance), "n": shares.n},
    }


def _summary_drawn(summary: dict[str, Any]) -> Drawing:
    settings = list(summary["means"][0]["settings"])
    drawing = Drawing(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in [*settings, summary["measure"], "t interval", "bootstrap interval", "n"]:
        drawing.add_column(name, justify="right")
    for one in summary["means"]:
        intervals = (
            "one seed" if part["interval"] is None else "{:.5g} to {:.5g}".format(*part["interval"])
            for part in (one["t"], one["bootstrap"])
        )
        drawing.add_row(
            *(_cell(one["settings"][name]) for name in settings),
            _cell(one["t"]["mean"]), *intervals, str(one["t"]["n"]),
        )  # fmt: skip
    if summary["variance"] is not None:
        shares = summary["variance"]["share"].items()
        parts = ", ".join(f"{name} {share:.0%}" for name, share in shares)
        drawing.caption = f"Share of variance: {parts}."
    return drawing


def table(
    folder: Annotated[Path, typer.Argument(help="The --out of a sweep, or a folder of runs.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write: .csv, .parquet, or .html for a page.")
    ] = None,
    timing: Annotated[
        bool, typer.Option("--timing", help="Add how many seconds each run took.")
    ] = False,
    measure: Annotated[
        str | None, typer.Option(help="Also show the mean of a measure over seeds, e.g. rate.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show runs and scores as a table: one row per run, one column per setting or result.

    Example: vaescope table sweeps/betas --out betas.csv
    """
    from vaescope.specs import FORMAT
    from vaescope.tables import csv_text, read_table, save_table

    console = messages(quiet=quiet)
    found = read_table(folder, timing=timing)
    summary = None if measure is None else _summary(found, measure)
    if out is not None:
        if out.suffix == ".html":
            from vaescope.report.sweep_page import save_sweep

            save_sweep(found, out, folder=folder)
        else:
            save_table(found, out)
        console.print(f"{out}: {len(found)} runs, {len(found.columns)} columns", soft_wrap=True)
    if as_json:
        content: dict[str, Any] = {"format": FORMAT, "rows": list(found.rows())}
        result(content if summary is None else {**content, "summary": summary}, "", as_json=True)
        return
    screen = Console(highlight=False, markup=False, emoji=False)
    if summary is not None:
        screen.print(_summary_drawn(summary))
    elif screen.is_terminal:
        screen.print(_drawn(found))
    elif out is None:
        print(csv_text(found), end="")
