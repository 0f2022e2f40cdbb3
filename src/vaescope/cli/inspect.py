"""`vaescope inspect`: the whole dissection of a model, one offline HTML file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vaescope.cli.data_options import FactorsOption, SizeOption, data_from_options
from vaescope.cli.output import (
    ConditionOption,
    DataOption,
    JsonOption,
    ModelOption,
    OutputOption,
    PathArgument,
    PosteriorOption,
    QuietOption,
    RangeOption,
    messages,
    result,
)
from vaescope.cli.summary import show_summary
from vaescope.errors import UsageError

__all__ = ["condition_of", "ends", "inspect", "labels_of", "opened_path"]


def inspect(
    path: PathArgument,
    model: ModelOption = None,
    data: DataOption = None,
    size: SizeOption = None,
    factors: FactorsOption = None,
    posterior: PosteriorOption = None,
    output: OutputOption = None,
    value_range: RangeOption = None,
    likelihood: Annotated[
        str | None,
        typer.Option(help="Likelihood of the output: bernoulli, gaussian:0.01, squared-error ..."),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(help="The model's prior: normal, student-t:5, sparse:0.8, laplace."),
    ] = None,
    condition: ConditionOption = None,
    lengths: Annotated[
        Path | None, typer.Option(help="An npy or npz file: the length of each padded sequence.")
    ] = None,
    scored: Annotated[
        Path | None, typer.Option(help="An npy or npz file: 1 where a value of the data is scored.")
    ] = None,
    batch_axis: Annotated[
        int | None, typer.Option(help="1 if the model takes time first, (t, n, c).")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="What the data are: images, signals or tokens.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Names of columns, channels or tokens: a,b,c or a file, one per line."),
    ] = None,
    mean: Annotated[
        str | None,
        typer.Option(help="With --std: the mean used to standardise the data, e.g. 0.5,0.4."),
    ] = None,
    std: Annotated[
        str | None,
        typer.Option(help="With --mean: the standard deviation, numbers or an npy file."),
    ] = None,
    nominal: Annotated[
        float | None,
        typer.Option(help="The beta in the training code, to compare with the effective one."),
    ] = None,
    effort: Annotated[
        str | None, typer.Option(help="latents (types and rates only), fast, default or thorough.")
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Same as --effort fast.")] = False,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Same as --effort thorough.")
    ] = False,
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
    asked = [*(["fast"] if fast else []), *(["thorough"] if thorough else []),
             *([effort] if effort else [])]  # fmt: skip
    if len(asked) > 1:
        raise UsageError(f"The effort was set {len(asked)} times.", "Give one of them.")
    console = messages(quiet=quiet)

    from vaescope.inspection import PARTS
    from vaescope.inspection import inspect as dissect

    subject = opened_path(path, model)
    with console.status("Interpreting the model") as status:
        found = dissect(
            subject,
            data_from_options(data, size, factors),
            posterior=posterior,
            output=output,
            value_range=ends(value_range),
            likelihood=likelihood,
            prior=prior,
            condition=condition_of(condition),
            lengths=None if lengths is None else labels_of(lengths),
            scored=None if scored is None else labels_of(scored),
            batch_axis=batch_axis,
            kind=kind,  # type: ignore[arg-type] # its words are checked where they are used
            columns=names_of(columns),
            mean=numbers_of("--mean", mean),
            std=numbers_of("--std", std),
            nominal=nominal,
            effort=asked[0] if asked else "default",
            images=not no_images,
            name=None if path.is_dir() else path.stem,
            progress=lambda part: status.update(f"{PARTS.index(part) + 1} of {len(PARTS)}: {part}"),
        )
    found.save(out, images=not no_images)
    show_summary(found, console)
    if nominal is not None and found.effective_beta is not None:
        console.print(found.effective_beta.summary(), soft_wrap=True)
    result({"report": str(out), **found.to_dict()}, f"Open {out}", as_json=as_json)


def condition_of(path: Path | None) -> Any:
    """What --condition says: nothing, `none` for a model that was trained without, or a file."""
    if path is None or str(path) == "none":
        return None if path is None else False
    return labels_of(path)


def labels_of(path: Path) -> Any:
    """The array of --condition, --lengths or --scored: an npy file, or the only array of an npz."""
    from vaescope.paths import reading
    from vaescope.reading import npz_names, read_array, read_arrays

    remedy = "Save one row for each example with np.save(path, labels)."
    with reading(path, remedy):
        if path.suffix == ".npy":
            return read_array(path)
        names = npz_names(path)
        if len(names) != 1:
            raise UsageError(f"{path} has the arrays {', '.join(names)}; wanted one.", remedy)
        return read_arrays(path)[names[0]]


def names_of(text: str | None) -> list[str] | None:
    """The names of --columns: separated by commas, or the lines of a text file."""
    if text is None or not (path := Path(text)).is_file():
        return None if text is None else text.split(",")
    from vaescope.paths import reading

    with reading(path, "Give a text file with one name per line."):
        return path.read_text("utf-8").splitlines()


def numbers_of(option: str, text: str | None) -> Any:
    """The numbers of --mean and --std: separated by commas, or the array of an npy or npz file."""
    if text is None:
        return None
    if Path(text).suffix in (".npy", ".npz"):
        return labels_of(Path(text))
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(
            f"{option} is {text!r}.", "Give numbers, e.g. 0.5,0.4,0.3, or an npy file."
        ) from None


def opened_path(path: Path, factory: str | None) -> Any:
    """A run folder as it is, a checkpoint as the module that `factory` builds for it."""
    if path.is_dir():
        return path
    if factory is None:
        raise UsageError(
            f"{path} {'is not a run folder' if path.exists() else 'does not exist'}.",
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
