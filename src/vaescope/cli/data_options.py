"""What `--data` names, with `--size` and `--factors`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vaescope.errors import UsageError

__all__ = ["FactorsOption", "SizeOption", "data_from_options"]

SizeOption = Annotated[
    int | None,
    typer.Option(
        "--size", min=1, help="With --data: images of a folder are cropped and resized to N by N."
    ),
]
FactorsOption = Annotated[
    Path | None,
    typer.Option(
        "--factors", help="With --data: a csv file of the factors, with a column of file names."
    ),
]


def data_from_options(data: str | None, size: int | None, factors: Path | None = None) -> Any:
    """The data as they were named, or loaded where the options say how."""
    settings: dict[str, Any] = {} if size is None else {"size": size}
    if factors is not None:
        settings["factors"] = factors
    if not settings:
        return data
    if data is None:
        raise UsageError(
            f"--{' and --'.join(settings)} without --data: there is nothing to apply it to.",
            "Give --data, a folder of images.",
        )
    from vaescope.user_data import load_dataset

    return load_dataset(data, **settings)
