"""`vaescope exchange`: whether two models have the same latent space, and up to which map."""

from pathlib import Path
from typing import Annotated

import typer

from vaescope.cli.data_options import SizeOption, data_from_options
from vaescope.cli.inspect import opened_path
from vaescope.cli.output import JsonOption, QuietOption, messages, result

__all__ = ["exchange"]


def exchange(
    a: Annotated[Path, typer.Argument(help="The run folder or checkpoint that encodes.")],
    b: Annotated[Path, typer.Argument(help="The run folder or checkpoint that decodes.")],
    model_a: Annotated[
        str | None, typer.Option(help="module:factory that builds A's module, for a checkpoint.")
    ] = None,
    model_b: Annotated[
        str | None, typer.Option(help="module:factory that builds B's module, for a checkpoint.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="A dataset's name or a file, instead of A's own.")
    ] = None,
    size: SizeOption = None,
    rows: Annotated[
        int, typer.Option(help="Images: half to fit the maps, half to measure them.", min=4)
    ] = 2_000,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Encode with A, map, decode with B: test whether A and B share a latent space, and up to
    which map.

    Maps are the identity, signed permutations, rotations and affine maps. The cost of each is given
    in nats per image, beside that of B's own reconstruction and of the mean image.

    Example: vaescope exchange runs/demo-s0-1a2b3c4d runs/demo-s1-5e6f7a8b
    """
    from vaescope.latent_exchange import exchange as exchanged
    from vaescope.user_data import as_dataset

    first, second = opened_path(a, model_a), opened_path(b, model_b)
    with messages(quiet=quiet).status("Exchanging latents"):
        images = None if data is None else as_dataset(data_from_options(data, size), most=rows)
        found = exchanged(first, second, images, rows=rows)
    result(found.to_dict(), found.summary(), as_json=as_json)
