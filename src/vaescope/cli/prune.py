"""`vaescope prune`: a smaller run, without the latents that it does not use."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from vaescope.cli.output import JsonOption, QuietOption, messages, result

__all__ = ["prune"]


def prune(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    data: Annotated[
        str | None, typer.Option(help="Your data file, if the run was trained on one.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a run without its passive latents, and say how much that changes.

    Nothing is written if no latent can be dropped.

    Example: vaescope prune runs/beta-vae-s0-1a2b3c4d --out runs/pruned
    """
    from vaescope.pruning import prune as drop
    from vaescope.runs import Run

    console = messages(quiet=quiet)
    with console.status(Text(f"Pruning {run.name}")):
        found = drop(Run(run), data, out=out)
    written = str(out) if found.dropped else None
    plain = found.summary() if written is None else f"{found.summary()}\n{written}"
    result({**found.to_dict(), "run": written}, plain, as_json=as_json)
