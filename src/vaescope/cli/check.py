"""`vaescope check`: whether files are what they were when they were written."""

from pathlib import Path
from typing import Annotated

import typer

from vaescope.cli.output import JsonOption, result

__all__ = ["check"]


def check(
    path: Annotated[
        Path, typer.Argument(help="A run, an export, or a folder of a sweep, study or tune-beta.")
    ],
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild what can be rebuilt; delete scratch files.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check for damage the files that other commands rely on. Exit code 1 if a file is damaged.

    Example: vaescope check runs/beta-vae-s0-1a2b3c4d --repair
    """
    from vaescope.checking import check as verify

    found = verify(path, repair=repair)
    result(found.to_dict(), found.summary(), as_json=as_json)
    if found.damaged:
        raise typer.Exit(1)
