"""`vaescope perturb`: data with the same factors and another local structure."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from vaescope.cli import completion
from vaescope.cli.output import JsonOption, QuietOption, SeedOption, messages, result
from vaescope.cli.signals import stop_on_signals

if TYPE_CHECKING:
    from vaescope.perturbing.settings import Kind

__all__ = ["perturb"]

#: What a bare name means here: few enough images for a laptop, and factors that a beta-VAE finds.
LAPTOP: dict[str, dict[str, Any]] = {
    "shapes3d-rendered": {
        "size": 16, "grid": {"scale": [4], "shape": [0], "orientation": [7]},
        "arcs": {"floor_hue": [0, 4, 10], "wall_hue": [0, 4, 10], "object_hue": [0, 4, 10]},
    },
    "dsprites": {
        "size": 16, "grid": {"shape": [1], "orientation": [0], "x": list(range(0, 32, 2)),
                             "y": list(range(11, 22))},
    },
}  # fmt: skip


def perturb(
    data: Annotated[
        str, typer.Argument(help="A dataset with factors.", autocompletion=completion.datasets)
    ],
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="data.key=value ...; others, e.g. steps=9000, apply to the pool."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pool, the dataset and its page.")] = ...,  # type: ignore[assignment]
    epsilon: Annotated[
        float | None,
        typer.Option(help="Largest change of a pixel. [default: 0.1; 0.175 for Shapes3D]"),
    ] = None,
    kind: Annotated[
        str, typer.Option(help="perturbed, or a control: reversed, one-factor, relabelled, "
                               "untrained.")
    ] = "perturbed",
    pool: Annotated[int, typer.Option(help="Models to train and choose from.")] = 16,
    ensemble: Annotated[
        int, typer.Option(help="How many entangled and how many disentangled models.")
    ] = 1,
    least_contrast: Annotated[
        float, typer.Option(help="Smallest accepted difference in MIG between the two.")
    ] = 0.2,
    steps: Annotated[int, typer.Option(help="Steps of the perturbation network.")] = 1500,
    lr: Annotated[float, typer.Option(help="Learning rate, also of the decoders.")] = 1e-3,
    hidden: Annotated[
        int, typer.Option(help="Width of a hidden layer of the perturbation network; 0: none.")
    ] = 0,
    factor: Annotated[str | None, typer.Option(help="The factor for --kind one-factor.")] = None,
    rms: Annotated[float | None, typer.Option(help="The RMS change for --kind untrained.")] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:  # fmt: skip
    """Change images slightly, so that methods that rely on local structure fail. Factors do not
    change.

    The same command resumes if it was stopped. A name without settings means a subset that trains
    in minutes on a laptop.

    Example: vaescope perturb shapes3d-rendered --out perturbed
    """
    from vaescope.errors import UsageError
    from vaescope.perturbing.perturb import default_epsilon, perturb_dataset
    from vaescope.perturbing.settings import PerturbSettings
    from vaescope.settings import read_scalar
    from vaescope.user_data import load_dataset

    of_data: dict[str, Any] = {}
    of_pool: dict[str, Any] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting!r} is not a setting.", "Write key=value.")
        if key.startswith("data."):
            of_data[key.removeprefix("data.")] = read_scalar(value)
        else:
            of_pool[key] = read_scalar(value)
    console = messages(quiet=quiet)
    if not of_data and data in LAPTOP:
        of_data = LAPTOP[data]
        console.print(f"{data} at laptop scale: {of_data}", soft_wrap=True)
    given = load_dataset(data, **of_data)
    chosen = PerturbSettings(
        default_epsilon(given) if epsilon is None else epsilon, cast("Kind", kind), pool, ensemble,
        least_contrast, steps=steps, lr=lr, hidden=hidden, factor=factor, rms=rms, seed=seed or 0,
    )  # fmt: skip
    with stop_on_signals() as signalled, console.status("perturb") as status:
        found = perturb_dataset(given, chosen, out, of_pool, stop=signalled, tell=status.update)
    result(found.to_dict(), found.summary(), as_json=as_json)
