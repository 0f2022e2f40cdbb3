"""`vaescope prune`: a model without the latents that it does not use, and what that changes."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from vaescope.cli.data_options import FactorsOption, SizeOption, data_from_options
from vaescope.cli.inspect import condition_of, ends, opened_path
from vaescope.cli.output import (
    ConditionOption,
    DataOption,
    JsonOption,
    LikelihoodOption,
    ModelOption,
    OutputOption,
    PathArgument,
    PosteriorOption,
    PriorOption,
    QuietOption,
    RangeOption,
    messages,
    result,
)
from vaescope.errors import UsageError

__all__ = ["prune"]


def prune(
    path: PathArgument,
    out: Annotated[
        Path | None, typer.Option(help="The folder of the pruned run, if PATH is a run.")
    ] = None,
    model: ModelOption = None,
    data: DataOption = None,
    size: SizeOption = None,
    factors: FactorsOption = None,
    posterior: PosteriorOption = None,
    output: OutputOption = None,
    value_range: RangeOption = None,
    likelihood: LikelihoodOption = None,
    prior: PriorOption = None,
    condition: ConditionOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a run without its passive latents, and say how much that changes.

    Nothing is written if no latent can be dropped. For a checkpoint it reports which latents could
    be dropped and what that changes; in Python, vs.prune gives the smaller module.

    Example: vaescope prune runs/beta-vae-s0-1a2b3c4d --out runs/pruned
    """
    from vaescope.pruning import prune as drop
    from vaescope.runs import Run

    console = messages(quiet=quiet)
    subject = opened_path(path, model)
    if path.is_dir():
        Run(path).open()  # says so if the folder holds no run
    if path.is_dir() == (out is None):
        raise UsageError(
            f"{path} is a {'run' if out is None else 'checkpoint'}, and "
            f"{'--out was not given' if out is None else 'only a run is written to a folder'}.",
            "Give --out, a folder for the smaller run."
            if out is None
            else "Leave out --out to see which latents would be dropped; in Python, "
            "vs.prune(module, images).model is the smaller module.",
        )
    with console.status(Text(f"Pruning {path.name}")):
        found = drop(
            subject, data_from_options(data, size, factors), out=out, posterior=posterior,
            output=output, value_range=ends(value_range), likelihood=likelihood, prior=prior,
            condition=condition_of(condition),
        )  # fmt: skip
    written = str(out) if out is not None and found.dropped else None
    plain = found.summary() if written is None else f"{found.summary()}\n{written}"
    result({**found.to_dict(), "run": written}, plain, as_json=as_json)
