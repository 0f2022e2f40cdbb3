"""`vaescope compare`: runs side by side on the same images and the same latents."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from vaescope.cli.data_options import FactorsOption, SizeOption, data_from_options
from vaescope.cli.inspect import ends, opened_path
from vaescope.cli.output import (
    JsonOption,
    LikelihoodOption,
    OutputOption,
    PosteriorOption,
    PriorOption,
    QuietOption,
    RangeOption,
    messages,
    result,
)

__all__ = ["compare"]


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders, and checkpoints with --model.", metavar="RUN"),
    ],
    model: Annotated[
        str | None, typer.Option(help="module:factory that builds the checkpoints' module.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The page to write, e.g. betas.html.")] = None,
    data: Annotated[
        str | None, typer.Option(help="A dataset's name or a file, instead of the first run's.")
    ] = None,
    size: SizeOption = None,
    factors: FactorsOption = None,
    posterior: PosteriorOption = None,
    output: OutputOption = None,
    value_range: RangeOption = None,
    likelihood: LikelihoodOption = None,
    prior: PriorOption = None,
    metrics: Annotated[
        str,
        typer.Option(
            help="quick (those that fit no predictor), all, or names separated by commas."
        ),
    ] = "quick",
    no_images: Annotated[
        bool, typer.Option("--no-images", help="Leave pictures out of the page.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare models: match their latents and show what differs, with intervals.

    Runs that differ only in their seed are one setting; intervals are over seeds where there are
    enough of them, else over images. Options such as --posterior apply to all checkpoints.

    Example: vaescope compare runs/demo-s0-1a2b3c4d runs/demo-s1-5e6f7a8b
    """
    from vaescope.comparing import compare as compare_models
    from vaescope.metrics import METRICS

    console = messages(quiet=quiet)
    named = {"quick": None, "all": list(METRICS)}
    models = [opened_path(path, model) for path in runs]
    with console.status("Opening the models") as status:
        found = compare_models(
            *models,
            names=[None if path.is_dir() else path.stem for path in runs],
            data=data_from_options(data, size, factors),
            metrics=named[metrics] if metrics in named else metrics.split(","),
            images=out is not None and not no_images,
            posterior=posterior,
            output=output,
            value_range=ends(value_range),
            likelihood=likelihood,
            prior=prior,
            progress=lambda part: status.update(Text(part)),
        )
        if out is not None:
            found.save(out, images=not no_images)
    written = None if out is None else str(out)
    plain = found.summary() if written is None else f"{found.summary()}\nOpen {written}"
    result({**found.to_dict(), "page": written}, plain, as_json=as_json)
