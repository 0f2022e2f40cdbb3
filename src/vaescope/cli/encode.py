"""`vaescope encode`: the codes of a run."""

from pathlib import Path
from typing import Annotated

import typer

from vaescope.cli.output import JsonOption, QuietOption, messages, result

__all__ = ["encode"]


def encode(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path, typer.Option(help="The npz file to write.")],
    n: Annotated[
        int | None,
        typer.Option(min=1, help="Number of rows, drawn without replacement. [default: all]"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of rows and samples.")] = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the codes of a run: mean, variance, sample, factors.

    Example: vaescope encode runs/demo-s0-1a2b3c4d --out codes.npz
    """
    from vaescope.build import build_data
    from vaescope.opening import encode as encode_rows
    from vaescope.runs import Run

    console = messages(quiet=quiet)
    found = Run(run)
    data = build_data(found.open().data)
    index = None if n is None else data.sample(n, seed)
    console.print(f"Encoding {len(data) if index is None else len(index)} rows of {data.name}.")
    codes = encode_rows(found, data, index=index, seed=seed)
    codes.save(out)
    content = {"codes": str(out), "n": codes.n, "d": codes.d}
    result(content, f"{out}: {codes.n} rows, {codes.d} latents", as_json=as_json)
