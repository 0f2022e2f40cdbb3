"""`vaescope export`: a model for other people's tools."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from vaescope.cli.data_options import SizeOption, data_from_options
from vaescope.cli.inspect import condition_of, ends, opened_path
from vaescope.cli.output import (
    ConditionOption,
    JsonOption,
    LikelihoodOption,
    PriorOption,
    QuietOption,
    messages,
    result,
)
from vaescope.errors import UsageError

__all__ = ["export"]


class Target(StrEnum):
    """Where the model goes."""

    hf = "hf"
    onnx = "onnx"


def export(
    path: Annotated[Path, typer.Argument(help="A run folder, or a checkpoint with --model.")],
    to: Annotated[
        Target,
        typer.Option(help="hf: the Hugging Face layout with a model card. onnx: two ONNX files."),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    data: Annotated[
        str | None,
        typer.Option(help="Data of the run or checkpoint: a dataset's name or a file."),
    ] = None,
    size: SizeOption = None,
    licence: Annotated[
        str, typer.Option(help="hf: the model's licence by the hub's identifier, e.g. apache-2.0.")
    ] = "unknown",
    model: Annotated[
        str | None, typer.Option(help="onnx: module:factory that builds the checkpoint's module.")
    ] = None,
    posterior: Annotated[
        str | None, typer.Option(help="onnx: what its encoder returns, e.g. interleaved,logvar.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(help="onnx: what its decoder returns: probabilities, logits, pixels."),
    ] = None,
    value_range: Annotated[
        str | None, typer.Option(help="onnx: range of the images that it takes, e.g. -1,1.")
    ] = None,
    likelihood: LikelihoodOption = None,
    prior: PriorOption = None,
    condition: ConditionOption = None,
    tolerance: Annotated[
        float,
        typer.Option(min=0.0, help="onnx: the largest difference from torch that is accepted."),
    ] = 1e-5,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a model for other people's tools: the Hugging Face layout, or ONNX.

    ONNX files are compared with torch before they are written; the largest difference is shown.

    Example: vaescope export runs/demo-s0-1a2b3c4d --to onnx --out exported
    """
    console = messages(quiet=quiet)
    told = (model, posterior, output, value_range, likelihood, prior, condition)
    if to is Target.hf and any(told):
        raise UsageError(
            "--to hf takes runs only: other models are saved by their own library.",
            "Use --to onnx, or leave out --model and the options that describe it.",
        )

    from vaescope.exporting import export_onnx, save_pretrained

    with console.status(Text(f"Exporting {path.name}")):
        found: Any
        images = data_from_options(data, size)
        if to is Target.hf:
            found = save_pretrained(path, out, images, licence=licence)
        else:
            found = export_onnx(
                opened_path(path, model), out, images, posterior=posterior, output=output,
                value_range=ends(value_range), likelihood=likelihood, prior=prior,
                condition=condition_of(condition),
                tolerance=tolerance,
            )  # fmt: skip
    result({"to": to.value, **found.to_dict()}, found.summary(), as_json=as_json)
