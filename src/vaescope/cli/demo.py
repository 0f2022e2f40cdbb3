"""`vaescope demo`: from nothing to a dissected VAE in a minute."""

from pathlib import Path
from typing import Annotated

import typer

from vaescope.cli.output import DeviceOption, JsonOption, QuietOption, messages, result
from vaescope.cli.train import train_one

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the run.")] = Path("demo"),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all randomness.")] = 0,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a beta-VAE on embedded data and say what its latents do. No download.

    Example: vaescope demo --out demo
    """
    from vaescope.settings import from_command_line

    console = messages(quiet=quiet)
    experiment = from_command_line("demo", [f"seed={seed}"])
    run, _ = train_one(experiment, "demo", out, device, console)

    from vaescope.encoding import encode
    from vaescope.latents import types

    kinds = types(encode(run))
    content = {"report": None, "run": str(run.path), "types": list(kinds.names)}
    result(content, f"{run.path}\n{kinds.summary()}", as_json=as_json)
