"""`vaescope inspect`: the whole dissection of a model, one offline HTML file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vaescope.cli.output import JsonOption, QuietOption, messages, result
from vaescope.cli.summary import show_summary
from vaescope.errors import UsageError

__all__ = ["ends", "inspect", "opened_path"]


def inspect(
    path: Annotated[Path, typer.Argument(help="A run folder, or a checkpoint with --model.")],
    model: Annotated[
        str | None, typer.Option(help="module:factory that builds the checkpoint's module.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="A dataset's name, or a file or folder of images.")
    ] = None,
    posterior: Annotated[
        str | None, typer.Option(help="What the encoder gives, e.g. interleaved,logvar.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(help="What the decoder gives: probabilities, logits, pixels.")
    ] = None,
    value_range: Annotated[
        str | None, typer.Option(help="Range of the images that the model takes, e.g. -1,1.")
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Fewer examples and points.")] = False,
    thorough: Annotated[bool, typer.Option("--thorough", help="More points and fits.")] = False,
    out: Annotated[Path, typer.Option(help="The report.")] = Path("report.html"),
    no_images: Annotated[
        bool, typer.Option("--no-images", help="Leave pictures out of the report.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Dissect a model: what its latents do, with numbers, and what to do about it.

    Example: vaescope inspect runs/beta-vae-s0-1a2b3c4d --out report.html
    """
    if fast and thorough:
        raise UsageError("--fast and --thorough exclude each other.", "Give one of them.")
    console = messages(quiet=quiet)

    from vaescope.inspection import PARTS
    from vaescope.inspection import inspect as dissect

    subject = opened_path(path, model)
    with console.status("Reading the model") as status:
        found = dissect(
            subject,
            data,
            posterior=posterior,
            output=output,
            value_range=ends(value_range),
            effort="fast" if fast else "thorough" if thorough else "default",
            images=not no_images,
            name=None if path.is_dir() else path.stem,
            progress=lambda part: status.update(f"{PARTS.index(part) + 1} of {len(PARTS)}: {part}"),
        )
    found.save(out, images=not no_images)
    show_summary(found, console)
    result({"report": str(out), **found.to_dict()}, f"Open {out}", as_json=as_json)


def opened_path(path: Path, factory: str | None) -> Any:
    """A run folder as it is, a checkpoint as the module that `factory` builds for it."""
    if path.is_dir():
        return path
    if factory is None:
        raise UsageError(
            f"{path} is not a run folder.",
            "Give a folder that `vaescope train` made, or a checkpoint with --model "
            "module:factory.",
        )
    from vaescope.adapters.checkpoints import load_checkpoint

    return load_checkpoint(path, factory)


def ends(text: str | None) -> tuple[float, float] | None:
    """The two numbers of --value-range."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"--value-range is {text!r}.", "Give two numbers, e.g. -1,1.") from None
    return low, high
