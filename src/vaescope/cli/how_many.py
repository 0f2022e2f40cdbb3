"""`vaescope how-many`: how many latents a dataset needs."""

from pathlib import Path
from typing import Annotated

import typer

from vaescope.cli import completion
from vaescope.cli.output import (
    DeviceOption,
    JsonOption,
    QuietOption,
    SeedOption,
    messages,
    result,
)
from vaescope.cli.train import refuse_repeated, settings_with_seed

__all__ = ["how_many"]


def how_many(
    data: Annotated[
        str,
        typer.Argument(
            help="A dataset's name, a folder of images, or an npz, npy or csv file.",
            autocompletion=completion.datasets,
        ),
    ],
    settings: Annotated[
        list[str] | None, typer.Argument(help="key=value ...; steps= applies to each training.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Preset for objective and networks.")] = "vae",
    most: Annotated[int, typer.Option(help="Largest number of latents to try.")] = 64,
    minutes: Annotated[
        float, typer.Option(help="Start no training that would end after this many minutes.")
    ] = 10.0,
    seed: SeedOption = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Estimate how many latents a dataset needs, by several methods, and recommend a number.

    Example: vaescope how-many mnist net.name=mlp --minutes 5
    """
    from vaescope.data import DATASETS
    from vaescope.settings import from_command_line
    from vaescope.tuning.latent_count import STEPS, count_latents
    from vaescope.user_data import refuse_unknown

    named = [f"data.name={data}"]
    if Path(data).exists():
        named = ["data.name=files", f"data.path={data}"]
    elif data not in DATASETS:
        refuse_unknown(data)
    refuse_repeated(settings or [])
    given = settings_with_seed([*named, f"steps={STEPS}", *(settings or [])], seed)
    spec = from_command_line(preset, given)
    with messages(quiet=quiet).status("how many latents") as status:
        found = count_latents(
            spec, most=most, minutes=minutes, device=device, progress=status.update
        )
    result(found.to_dict(), found.summary(), as_json=as_json)
